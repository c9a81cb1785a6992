//! Charts of detection time, mistakes and messages against n.

use quorate_draw::chart::{Axis, Chart, Line};

use super::{Row, SERIES};

pub(super) fn charts(rows: &[Row]) -> Vec<Chart> {
    let names = "for heartbeats to everyone, adaptive timeouts, the VCube diagnosis, heartbeats round a ring and SWIM";
    vec![
        Chart {
            name: "detection".to_owned(),
            title: "Detectors: time until a crash is known everywhere".to_owned(),
            description: format!(
                "Milliseconds from a crash until every survivor knows, mean and most, {names}."
            ),
            x: Axis::log("processes"),
            y: Axis::linear("milliseconds"),
            lines: lines(
                rows,
                &[("mean", |row| row.detection.mean), ("most", |row| row.detection_most)],
            ),
        },
        Chart {
            name: "mistakes".to_owned(),
            title: "Detectors: mistakes an hour where delays have no bound".to_owned(),
            description: format!(
                "Thousands of wrong suspicions per hour of virtual time under exponential delays, {names}."
            ),
            x: Axis::log("processes"),
            y: Axis::log("thousands of mistakes an hour"),
            lines: lines(rows, &[("", |row| row.mistakes.mean / 1e3)]),
        },
        Chart {
            name: "messages".to_owned(),
            title: "Detectors: messages a second".to_owned(),
            description: format!(
                "Messages per second of virtual time while nothing happens, {names}."
            ),
            x: Axis::log("processes"),
            y: Axis::log("messages a second"),
            lines: lines(rows, &[("", |row| row.messages_second)]),
        },
    ]
}

type Figure = (&'static str, fn(&Row) -> f64);

fn lines(rows: &[Row], figures: &[Figure]) -> Vec<Line> {
    let line = |series: usize, variant: usize, (which, value): &Figure| {
        let own = rows.iter().filter(|row| row.series == series);
        let comma = if which.is_empty() { "" } else { ", " };
        Line {
            label: format!("{}{comma}{which}", SERIES[series].1),
            group: series,
            variant,
            points: own.map(|row| (row.n as f64, value(row))).collect(),
        }
    };
    let of = |series| {
        figures.iter().enumerate().map(move |(variant, figure)| line(series, variant, figure))
    };
    (0..SERIES.len()).flat_map(of).collect()
}
