//! The table for human readers.

use super::Row;
use crate::experiment::Block;

pub(super) fn blocks(rows: &[Row]) -> Vec<Block> {
    let row = |row: &Row| {
        vec![
            row.n.to_string(),
            row.crashes.name().to_owned(),
            row.latency_least.to_string(),
            format!("{:.2}", row.latency.mean),
            row.latency_most.to_string(),
            row.latency_bound.to_string(),
            verdict(row),
            format!("{:.1}", row.tests),
            row.tests_most.to_string(),
            row.tests_bound.to_string(),
            if row.tests_kept() { "kept" } else { "exceeded" }.to_owned(),
            format!("{:.1}", row.messages),
        ]
    };
    vec![Block {
        title: "Rounds until a crash is known everywhere (log2 n), tests a round (n log2 n), messages a round"
            .to_owned(),
        head: vec![
            " n",
            " crashes",
            " least",
            " mean",
            " most",
            " log2 n",
            "",
            " tests",
            " most",
            " n log2 n",
            "",
            " messages",
        ],
        rows: rows.iter().map(row).collect(),
    }]
}

/// `kept`, or the number of crashes that took longer: `late 3/20`.
fn verdict(row: &Row) -> String {
    match row.latency_kept() {
        true => "kept".to_owned(),
        false => format!("late {}/{}", row.late, row.latency.count),
    }
}

pub(super) fn notes(rows: &[Row]) -> Vec<String> {
    let runs = rows.iter().map(|row| row.runs).max().unwrap_or(0);
    let mut notes = vec![
        format!(
            "{runs} runs a row. All crashes are at one moment of the second round. The seed draws the moment and the \
             processes. Logarithms are rounded up."
        ),
        "Rounds are counted from the one of the crash to the one in which the last survivor learns of it: least, mean and \
         most are over all crashes of all runs. late 3/20: 3 of 20 crashes took longer than log2 n. Tests and messages \
         (tests and answers) are means over rounds and runs; most is the busiest round of all."
            .to_owned(),
    ];
    if rows.iter().any(|row| !row.latency_kept()) {
        notes.push(LATE.to_owned());
    }
    notes
}

/// Explains why several crashes at a time may take longer than one.
const LATE: &str = "Late: log2 n is promised for one change at a time. One of several crashes may hit the only \
     tester through which the news of another was to come; the process that takes its place first has to find out \
     that it must, a round later, and may crash too. --json has the command that replays the longest run.";
