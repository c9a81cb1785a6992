//! Charts of the share of correct runs and of the cost, against the number of generals.

use quorate_draw::chart::{Axis, Chart, Line};

use super::{ALGORITHMS, Row, TRAITORS_MOST};

pub(super) fn charts(rows: &[Row]) -> Vec<Chart> {
    vec![
        Chart {
            name: "kept".to_owned(),
            title: "Byzantine generals: runs in which the loyal agree and obey".to_owned(),
            description: "The share of adversarial runs in which nothing is violated, against the number of \
                          generals, for one to four traitors, with oral messages (OM) and signed ones (SM). Oral \
                          messages reach 100 % at 3m + 1 generals, signed ones always do."
                .to_owned(),
            x: Axis::linear("generals"),
            y: Axis::linear("% of runs"),
            lines: lines(rows, 1, |row| row.kept.map(|share| 100.0 * share)),
        },
        Chart {
            name: "messages".to_owned(),
            title: "Byzantine generals: messages".to_owned(),
            description: "The messages of an agreement if no process lies, against the number of generals, for up to \
                          four tolerated traitors, with oral messages (OM) and signed ones (SM)."
                .to_owned(),
            x: Axis::linear("generals"),
            y: Axis::log("messages"),
            lines: lines(rows, 0, |row| Some(row.field.formula as f64)),
        },
    ]
}

/// A line for each algorithm and number of traitors, from `least` on.
fn lines(rows: &[Row], least: usize, value: fn(&Row) -> Option<f64>) -> Vec<Line> {
    let mut lines = Vec::new();
    for (variant, (algorithm, short)) in ALGORITHMS.into_iter().enumerate() {
        for m in least..=TRAITORS_MOST {
            let of = rows.iter().filter(|row| row.field.algorithm == algorithm && row.field.m == m);
            let points = of.filter_map(|row| Some((row.field.n as f64, value(row)?))).collect();
            lines.push(Line { label: format!("{short}({m})"), group: m, variant, points });
        }
    }
    lines
}
