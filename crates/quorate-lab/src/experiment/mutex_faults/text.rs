//! The table for human readers: a row for each algorithm, a column for each fault.

use super::fault::Fault;
use super::{Outcome, PROCESSES, Row};
use crate::experiment::Block;

pub(super) fn blocks(rows: &[Row]) -> Vec<Block> {
    let crashes = [Fault::Holder, Fault::Waiter, Fault::Idle, Fault::Voter];
    let others = [Fault::Server, Fault::TokenOwner, Fault::Loss, Fault::Suspicion];
    vec![
        block(
            "Crash of a process that is inside, waits, wants nothing, or is asked for its vote",
            ["holder", "waiter", "idle", "voter"],
            crashes,
            rows,
        ),
        block(
            "Crash of the server or of the token's owner; one message lost; the holder falsely suspected",
            ["server", "token's owner", "lost message", "false suspicion"],
            others,
            rows,
        ),
    ]
}

fn block(title: &str, heads: [&'static str; 4], faults: [Fault; 4], rows: &[Row]) -> Block {
    let of_series = rows.chunk_by(|a, b| a.series.label() == b.series.label());
    let line = |rows: &[Row]| {
        let series = &rows[0].series;
        let cell = |fault| rows.iter().find(|row| row.fault == fault).map_or(String::new(), cell);
        let begin = [series.algorithm.to_owned(), series.over.unwrap_or("-").to_owned()];
        begin.into_iter().chain(faults.map(cell)).collect()
    };
    let mut head = vec!["algorithm", "over"];
    head.extend(heads);
    Block { title: title.to_owned(), head, rows: of_series.map(line).collect() }
}

/// `blocks 37/50`; a dash if the algorithm has no such role.
fn cell(row: &Row) -> String {
    match row.worst() {
        _ if !row.applies => "-".to_owned(),
        None => "never placed".to_owned(),
        Some((outcome, count)) => format!("{} {count}/{}", outcome.name(), row.runs()),
    }
}

pub(super) fn notes(rows: &[Row], seeds: u64) -> Vec<String> {
    let mut notes = vec![
        format!(
            "{PROCESSES} processes, {seeds} seeds; each process enters three times. A cell has the worst outcome and \
             the number of runs with it; the outcomes of the other runs are better; --json has all counts, and with \
             each cell a command that runs its worst case. A dash: the algorithm has no such role."
        ),
        "blocks: a live process waits forever; violates: two are inside, or entries are out of a promised order; no \
         quorum: a process reports that none is left; holds: none of these. A crashed process's own requests do not \
         count."
            .to_owned(),
        "Each fault hits a role that is really held: the same run without it shows which process was inside, \
         waiting, asked or on the token's way at each moment, and the seed draws a moment at which every process has \
         yet to ask again."
            .to_owned(),
    ];
    notes.push(healthy(rows));
    let missed: u64 = rows.iter().map(|row| row.unplaced).sum();
    if missed > 0 {
        notes.push(format!(
            "{missed} runs are missing because the role was never held in them; a cell counts the others."
        ));
    }
    notes
}

/// States the outcome of the runs without faults.
fn healthy(rows: &[Row]) -> String {
    let rows = || rows.iter().filter(|row| row.fault == Fault::Nothing);
    let broken: Vec<String> = rows()
        .filter(|row| row.worst().is_some_and(|(outcome, _)| outcome != Outcome::Holds))
        .map(|row| format!("{} {}", row.series.label(), cell(row)))
        .collect();
    let runs: u64 = rows().map(Row::runs).sum();
    match broken.as_slice() {
        [] => format!("Without a fault all {runs} runs hold."),
        broken => format!("Without a fault not all runs hold: {}.", broken.join(", ")),
    }
}
