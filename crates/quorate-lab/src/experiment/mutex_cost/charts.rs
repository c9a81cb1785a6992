//! Charts: one for each figure, with a line for each algorithm and variant.

use quorate_draw::chart::{Axis, Chart, Line};

use super::Row;

pub(super) fn charts(rows: &[Row]) -> Vec<Chart> {
    let chart = |name: &str, title: &str, unit: &str, value: fn(&Row) -> f64| Chart {
        name: name.to_owned(),
        title: title.to_owned(),
        description: format!(
            "{title}, for {}. A line for each algorithm; the legend is in the order of the right-hand ends.",
            sizes(rows)
        ),
        x: Axis::log("processes"),
        y: Axis::log(unit),
        lines: lines(rows, value),
    };
    let (messages, delays, ratio) =
        ("messages per entry", "message delays", "load of the busiest / mean load");
    vec![
        chart("messages-light", "Messages per entry, one requester at a time", messages, |row| {
            row.light.messages()
        }),
        chart(
            "messages-saturated",
            "Messages per entry, all processes always requesting",
            messages,
            |row| row.saturated.messages(),
        ),
        chart("client-delay", "Client delay: from request into a free section", delays, |row| {
            row.light.client
        }),
        chart(
            "synchronisation-delay",
            "Synchronisation delay: from exit to the next entry",
            delays,
            |row| row.saturated.synchronisation,
        ),
        chart("busiest", "The busiest process, all processes always requesting", ratio, |row| {
            row.saturated.busiest
        }),
    ]
}

fn sizes(rows: &[Row]) -> String {
    let least = rows.iter().map(|row| row.n).min().unwrap_or(0);
    let most = rows.iter().map(|row| row.n).max().unwrap_or(0);
    format!("{least} to {most} processes")
}

fn lines(rows: &[Row], value: fn(&Row) -> f64) -> Vec<Line> {
    let mut lines: Vec<Line> = Vec::new();
    for row in rows {
        let (label, point) = (row.series.label(), (row.n as f64, value(row)));
        match lines.iter_mut().find(|line| line.label == label) {
            Some(line) => line.points.push(point),
            None => {
                let (group, variant) = (row.series.group, row.series.variant);
                lines.push(Line { label, group, variant, points: vec![point] });
            }
        }
    }
    lines
}
