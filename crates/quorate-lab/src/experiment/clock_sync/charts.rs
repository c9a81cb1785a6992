//! Charts of the error and its bound, against asymmetry and against drift.

use quorate_draw::chart::{Axis, Chart, Line};

use super::{ErrorSource, Row, SERIES};

pub(super) fn charts(rows: &[Row]) -> Vec<Chart> {
    let description = |source: &str| {
        format!(
            "The error in microseconds against {source}, for Cristian with one and eight probes and for Berkeley with five \
             clocks: the mean over all seeds, beside the bound that the algorithm claims."
        )
    };
    vec![
        Chart {
            name: "asymmetry".to_owned(),
            title: "Clocks: error when set, against asymmetry".to_owned(),
            description: description("the asymmetry of the round trip"),
            x: Axis::linear("asymmetry of the round trip, percent"),
            y: Axis::linear("microseconds"),
            lines: lines(rows, "asymmetry"),
        },
        Chart {
            name: "drift".to_owned(),
            title: "Clocks: error ten seconds after being set, against drift".to_owned(),
            description: description("the drift of clocks"),
            x: Axis::linear("drift, parts per million"),
            y: Axis::linear("microseconds"),
            lines: lines(rows, "drift"),
        },
    ]
}

fn lines(rows: &[Row], source: &str) -> Vec<Line> {
    let line = |series: usize, variant: usize, what: &str, value: fn(&Row) -> f64| {
        let own = |row: &&Row| row.series == series && row.source.name() == source;
        let point = |row: &Row| (ErrorSource::value(row.source) as f64, value(row));
        Line {
            label: format!("{}{what}", SERIES[series].name),
            group: series,
            variant,
            points: rows.iter().filter(own).map(point).collect(),
        }
    };
    let both = |series| {
        [
            line(series, 0, "", |row| row.error.mean),
            line(series, 1, ": bound", |row| row.bound.mean),
        ]
    };
    (0..SERIES.len()).flat_map(both).collect()
}
