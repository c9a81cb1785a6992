//! Charts of messages, bytes and time against n, with a line for each algorithm and case.

use quorate_algorithms::literature::{Order, Starters};
use quorate_draw::chart::{Axis, Chart, Line};

use super::Row;
use super::world::contenders;

pub(super) fn charts(rows: &[Row]) -> Vec<Chart> {
    let chart = |name: &str, title: &str, starters, unit: &str, value: fn(&Row) -> f64| Chart {
        name: name.to_owned(),
        title: title.to_owned(),
        description: format!(
            "{title}, against the number of processes. A line for each algorithm: the worst order that is known, and \
             the best and a random one where they differ."
        ),
        x: Axis::log("processes"),
        y: Axis::log(unit),
        lines: lines(rows, starters, value),
    };
    vec![
        chart(
            "messages-one",
            "Messages of an election with one starter",
            Starters::One,
            "messages",
            |row| row.messages,
        ),
        chart(
            "messages-all",
            "Messages of an election started by all",
            Starters::All,
            "messages",
            |row| row.messages,
        ),
        chart(
            "bytes-one",
            "Bytes of an election with one starter",
            Starters::One,
            "bytes",
            |row| row.bytes,
        ),
        chart(
            "time-one",
            "Time of an election with one starter",
            Starters::One,
            "message delays",
            |row| row.time,
        ),
    ]
}

fn lines(rows: &[Row], starters: Starters, value: fn(&Row) -> f64) -> Vec<Line> {
    let mut lines: Vec<Line> = Vec::new();
    for row in rows.iter().filter(|row| row.starters == starters) {
        let order = if row.order == Order::Any { "" } else { row.order.name() };
        let label = [row.contender.label().as_str(), order].join(" ").trim_end().to_owned();
        let point = (row.n as f64, value(row));
        match lines.iter_mut().find(|line| line.label == label) {
            Some(line) => line.points.push(point),
            None => {
                let place = contenders().iter().position(|any| std::ptr::eq(any, row.contender));
                let variant = match row.order {
                    Order::Any | Order::Worst => 0,
                    Order::Best => 2,
                    Order::Random => 1,
                };
                let group = place.unwrap_or(0);
                lines.push(Line { label, group, variant, points: vec![point] });
            }
        }
    }
    lines
}
