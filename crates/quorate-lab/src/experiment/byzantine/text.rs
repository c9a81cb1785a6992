//! Tables and notes for human readers.

use super::super::Block;
use super::super::agreements::per_cent;
use super::{ALGORITHMS, MESSAGES_MOST, Row, TRAITORS_MOST};

const HEAD: [&str; 11] = [
    " n", " OM(0)", " OM(1)", " OM(2)", " OM(3)", " OM(4)", " SM(0)", " SM(1)", " SM(2)", " SM(3)",
    " SM(4)",
];

pub(super) fn blocks(rows: &[Row], up_to: usize) -> Vec<Block> {
    let kept = |row: &Row| match row.kept {
        None => "skipped".to_owned(),
        Some(share) if row.field.is_inside() => per_cent(share),
        Some(share) => format!("({})", per_cent(share)),
    };
    let messages = |row: &Row| match row.healthy {
        Some(found) if found == row.field.formula => found.to_string(),
        Some(found) => format!("{found}!"),
        None => format!("({})", row.field.formula),
    };
    vec![
        grid(
            "Runs in which the loyal agree and obey a loyal commander, in %; (n <= 3m)",
            rows,
            up_to,
            kept,
        ),
        grid(
            "Messages if no process lies; ! if not as the formula says, (skipped)",
            rows,
            up_to,
            messages,
        ),
    ]
}

/// A row for each number of generals, and a column for each algorithm and number of traitors.
fn grid(title: &str, rows: &[Row], up_to: usize, cell: impl Fn(&Row) -> String) -> Block {
    let line = |n: usize| {
        let cells = ALGORITHMS.into_iter().flat_map(|(algorithm, _)| {
            (0..=TRAITORS_MOST).map(move |m| {
                move |row: &&Row| {
                    row.field.algorithm == algorithm && row.field.n == n && row.field.m == m
                }
            })
        });
        let cells = cells.map(|such| rows.iter().find(such).map_or("-".to_owned(), &cell));
        std::iter::once(n.to_string()).chain(cells).collect()
    };
    Block { title: title.to_owned(), head: HEAD.to_vec(), rows: (3..=up_to).map(line).collect() }
}

pub(super) fn notes(rows: &[Row], seeds: u64) -> Vec<String> {
    let broken = |algorithm: &str, inside: bool| {
        let of = rows.iter().filter(|row| row.field.algorithm == algorithm);
        let of = of.filter(|row| row.field.is_inside() == inside && row.runs > 0);
        let cells: Vec<&Row> = of.collect();
        let broken = cells.iter().filter(|row| row.replay.is_some()).count();
        (broken, cells.len())
    };
    let (oral_inside, oral_cells) = broken(ALGORITHMS[0].0, true);
    let (oral_outside, outside_cells) = broken(ALGORITHMS[0].0, false);
    let (signed_inside, signed_cells) = broken(ALGORITHMS[1].0, true);
    let (signed_outside, signed_outside_cells) = broken(ALGORITHMS[1].0, false);
    let skipped = rows.iter().filter(|row| row.field.is_skipped()).count();
    vec![
        format!(
            "Oral messages break in {oral_outside} of {outside_cells} cells with n <= 3m and in {oral_inside} of \
             {oral_cells} with n > 3m; signed ones in {signed_outside} of {signed_outside_cells} and in \
             {signed_inside} of {signed_cells}."
        ),
        format!(
            "{seeds} runs for each cell, with m traitors in each: the commander is one of them in half of the runs. \
             Their strategies take turns: all two-faced, all liars, all equivocators, all random, or a strategy \
             drawn for each traitor. With n = 3m a commander that lies cannot break OM(m), because the lieutenants \
             are then enough for one traitor less. What breaks is obedience to a loyal commander."
        ),
        format!(
            "OM(m) takes (n - 1) + (n - 1)(n - 2) + .. + (n - 1)(n - 2)..(n - m - 1) messages, SM(m) n - 1 and \
             (n - 1)(n - 2) more if m > 0; both take m + 1 rounds. Cells of more than {MESSAGES_MOST} messages a run \
             are skipped: {skipped} here. A dash: fewer than two loyal generals are left."
        ),
    ]
}
