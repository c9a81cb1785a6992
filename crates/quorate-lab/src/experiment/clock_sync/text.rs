//! The tables for human readers.

use super::{DRIFT_TIME, ErrorSource, Row, SERIES};
use crate::experiment::Block;

pub(super) fn blocks(rows: &[Row]) -> Vec<Block> {
    let asymmetry = |row: &&Row| matches!(row.source, ErrorSource::Asymmetry(_));
    let (asymmetric, drifting): (Vec<&Row>, Vec<&Row>) = rows.iter().partition(asymmetry);
    vec![
        block(
            "Error when a clock is set, against the asymmetry of the round trip (us)",
            " asymmetry",
            &asymmetric,
        ),
        block(
            &format!("Error {DRIFT_TIME} after a clock was set, against drift (us)"),
            " drift",
            &drifting,
        ),
    ]
}

fn block(title: &str, source: &'static str, rows: &[&Row]) -> Block {
    let row = |row: &&Row| {
        vec![
            match row.source {
                ErrorSource::Asymmetry(hundredths) => format!("{hundredths}%"),
                ErrorSource::Drift(ppm) => format!("{ppm}ppm"),
            },
            SERIES[row.series].name.to_owned(),
            format!("{:.1}", row.error.mean),
            format!("{:.1}", row.error_most),
            format!("{:.1}", row.bound.mean),
            match row.exceeded {
                0 => "kept".to_owned(),
                some => format!("exceeded {some}/{}", row.runs),
            },
        ]
    };
    Block {
        title: title.to_owned(),
        head: vec![source, "algorithm", " mean", " most", " mean bound", ""],
        rows: rows.iter().map(row).collect(),
    }
}

pub(super) fn notes(rows: &[Row]) -> Vec<String> {
    let runs = rows.iter().map(|row| row.runs).max().unwrap_or(0);
    vec![
        format!(
            "{runs} seeds a row. Clocks are up to 100 ms off at the start. A round trip takes 2 ms, and each way up \
             to 0.2 ms more: with an asymmetry of 100% the request takes all of it. Cristian's error is the offset \
             of a client from the true time; Berkeley's is the largest difference between two of five clocks, one of \
             which is the master's."
        ),
        "The bound is the mean of the bounds that the algorithm claims in the same runs: half of the round trip less \
         the least delay, plus the possible drift since then; for Berkeley, the sum for both clocks. kept: in every \
         run the error was within the bound of that run."
            .to_owned(),
        "More probes find a quicker round trip, which leaves less uncertainty due to jitter. They do not help if the \
         two directions always differ: neither end can observe that the request takes longer."
            .to_owned(),
    ]
}
