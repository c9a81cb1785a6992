//! The table for human readers.

use super::{Row, SERIES, WATCHED};
use crate::experiment::Block;

pub(super) fn blocks(rows: &[Row]) -> Vec<Block> {
    let row = |row: &Row| {
        vec![
            row.n.to_string(),
            SERIES[row.series].1.to_owned(),
            row.round.to_string(),
            format!("{:.2}", row.detection.mean),
            format!("{:.2}", row.detection_most),
            row.rounds_most.to_string(),
            format!("{:.0}", row.mistakes.mean),
            format!("{:.1}", row.messages_round),
            format!("{:.0}", row.messages_second),
        ]
    };
    vec![Block {
        title: "Time until a crash is known everywhere (ms), mistakes an hour, messages".to_owned(),
        head: vec![
            " n",
            "detector",
            " round",
            " mean",
            " most",
            " rounds",
            " mistakes/h",
            " messages/round",
            " messages/s",
        ],
        rows: rows.iter().map(row).collect(),
    }]
}

pub(super) fn notes(rows: &[Row]) -> Vec<String> {
    let runs = rows.iter().map(|row| row.runs).max().unwrap_or(0);
    vec![
        format!(
            "{runs} seeds a row. Detection: one of n crashes at a moment of the second round, delays are uniform from 0.5 \
             to 1.5 ms, and the clock stops when the last survivor knows; rounds is the longest, counted from the round of \
             the crash. Messages are those of a run in which nothing happens."
        ),
        format!(
            "Mistakes: how often any process suspects a live one, per hour of virtual time, where delays are \
             exponential with a mean of 1 ms, so that any timeout is too short at some time. Each run is watched for \
             {WATCHED}; adaptive timeouts make mistakes at the beginning, and ever fewer as the run continues."
        ),
        "In the ring every process monitors one other, and probes it before it suspects it. In the ring, in \
         the VCube and in SWIM a suspicion spreads to all processes: there a mistake counts once for each process that \
         believes it."
            .to_owned(),
        "In SWIM every process probes one other per round, whatever n is. A crash is known only after a suspicion that a live \
         process would have had time to contradict, and a round is long enough for a probe through other processes."
            .to_owned(),
    ]
}
