//! The tables for human readers: one block for each, with the three variants side by side.

use quorate_sim::scenario::Requesters;

use super::super::crashes::{Failures, WINDOW};
use super::super::findings::figure;
use super::{Row, Variant};
use crate::experiment::Block;

/// Title of a table. It names the quorum system if the table has only one.
fn title(row: &Row) -> String {
    let who = match row.printed.requesters {
        Requesters::One => "one requester",
        _ => "everyone requests",
    };
    match (row.printed.failures, row.printed.generator) {
        (Failures::None, _) => format!("Table {}: no failures, {who}", row.printed.table),
        (_, generator) => format!("Table {}: {generator} with failures, {who}", row.printed.table),
    }
}

pub(super) fn blocks(rows: &[Row]) -> Vec<Block> {
    let reasons = reasons(rows);
    rows.chunk_by(|a, b| a.printed.table == b.printed.table)
        .map(|table| {
            let fails = table[0].printed.failures != Failures::None;
            let cells = table.chunk_by(|a, b| a.n == b.n);
            Block {
                title: title(&table[0]),
                head: head(fails),
                rows: cells.map(|cell| line(cell, fails, &reasons)).collect(),
            }
        })
        .collect()
}

fn head(fails: bool) -> Vec<&'static str> {
    let mut head = vec![if fails { "fail" } else { "quorums" }, " n", " printed", " σ"];
    head.push(" published");
    head.extend(fails.then_some(" ±"));
    head.extend([" diff.", "", " σ", " ours"]);
    head.extend(fails.then_some(" ±"));
    head.push(" σ");
    head.extend(fails.then_some([" acks", " to all"]).into_iter().flatten());
    head.push("");
    head
}

/// One cell of the monograph: the row of the published algorithm and, if it reaches this size, the row of ours.
fn line(cell: &[Row], fails: bool, reasons: &[&str]) -> Vec<String> {
    let published = &cell[0];
    let ours = cell.iter().find(|row| row.variant == Variant::Ours);
    let printed = published.printed.at(published.n);
    let mut line = vec![
        if fails { published.printed.failures.name() } else { published.printed.generator }
            .to_owned(),
        published.n.to_string(),
        printed.map_or_else(dash, |(mean, _)| mean.to_string()),
        printed.map_or_else(dash, |(_, sigma)| format!("{sigma:.2}")),
        optional(published.mean()),
    ];
    line.extend(fails.then(|| optional(published.half_width())));
    line.extend([
        published.difference().map_or_else(dash, |difference| format!("{difference:+.2}")),
        sign(published).to_owned(),
        optional(published.sigma),
        optional(ours.and_then(Row::mean)),
    ]);
    line.extend(fails.then(|| optional(ours.and_then(Row::half_width))));
    line.push(optional(ours.and_then(|ours| ours.sigma)));
    if fails {
        line.push(optional(ours.and_then(|ours| ours.acknowledgements)));
        line.push(optional(ours.and_then(|ours| ours.acknowledgements_to_all)));
    }
    line.push(remarks(published, ours, reasons));
    line
}

fn optional(value: Option<f64>) -> String {
    value.map_or_else(dash, figure)
}

fn dash() -> String {
    "-".to_owned()
}

fn sign(row: &Row) -> &'static str {
    match row.within() {
        None => "",
        Some(false) => "≠",
        Some(true) if row.runs == 1 => "=",
        Some(true) => "in",
    }
}

fn remarks(published: &Row, ours: Option<&Row>, reasons: &[&str]) -> String {
    let mut remarks = Vec::new();
    if let Some(misprint) = published.misprint() {
        let place = reasons.iter().position(|letter| *letter == misprint.reason);
        remarks.extend(place.map(|place| letter(place).to_string()));
    }
    let mut count = |of: fn(&Row) -> u64, what: &str| {
        let (runs, as_published, as_ours) = (published.runs, of(published), ours.map(of));
        match as_ours.filter(|as_ours| *as_ours != as_published) {
            Some(as_ours) => {
                remarks.push(format!("{what} {as_published}/{runs}, ours {as_ours}/{runs}"));
            }
            None if as_published > 0 => remarks.push(format!("{what} {as_published}/{runs}")),
            None => {}
        }
    };
    count(|row| row.no_quorum, "none");
    count(|row| row.hung, "hung");
    count(|row| row.two_inside, "two");
    remarks.join(", ")
}

/// All reasons without duplicates, in the order of the rows.
fn reasons(rows: &[Row]) -> Vec<&'static str> {
    let mut reasons = Vec::new();
    for misprint in rows.iter().filter_map(Row::misprint) {
        if !reasons.contains(&misprint.reason) {
            reasons.push(misprint.reason);
        }
    }
    reasons
}

fn letter(place: usize) -> char {
    char::from(b'a' + (place % 26) as u8)
}

pub(super) fn notes(rows: &[Row], seeds: u64) -> Vec<String> {
    let mut notes = vec![
        "Messages per entry. Printed: as in the monograph, its means truncated to whole numbers. Published: its \
         algorithm as printed (quorum-published). Ours: quorum, which is safe. All ask at the start, messages and \
         the stay inside take 1 ms each, crashes are noticed after 1 ms; messages to oneself count and take no time."
            .to_owned(),
        "σ is computed as in the monograph: the root of the sum over processes of (messages sent - messages per \
         entry)², over the entries. For one requester that is no deviation in the usual sense; --json has the usual \
         one."
            .to_owned(),
        format!(
            "{WINDOW} With failures each cell is the mean of {seeds} such runs and half of its 95 % interval; a printed \
             value came from one schedule, which is not printed. A process that crashes before it has entered does \
             not count as an entry, its messages do."
        ),
        "= the printed mean, up to its digits; in: between the run with the fewest messages and that with the most; \
         ≠: neither. none: runs in which a process reported that no quorum is left; hung: in which a live process \
         waits forever; two: with two inside at once; counts are for the published algorithm, and the same for ours \
         (if it was run) unless both are given. Runs of the first two kinds are in no mean."
            .to_owned(),
        "acks: messages per entry by which ours acknowledges crashes, gathered along trees and counted apart from the \
         others; to all: the same with quorum-majority, in which every process acknowledges every crash to all others, \
         in some of the runs."
            .to_owned(),
        agreement(rows),
        outcomes(rows),
    ];
    notes.extend(price(rows));
    let reasons = reasons(rows).into_iter().enumerate();
    notes.extend(reasons.map(|(place, why)| format!("{}: {why}.", letter(place))));
    notes
}

/// States how many printed cells are confirmed.
fn agreement(rows: &[Row]) -> String {
    let compared: Vec<&Row> = rows
        .iter()
        .filter(|row| row.variant == Variant::Published)
        .filter(|row| !row.misprint().is_some_and(|misprint| misprint.mean))
        .filter(|row| row.within().is_some())
        .collect();
    let met = |fails: bool| {
        let these = || {
            let fails = move |row: &&&Row| (row.printed.failures != Failures::None) == fails;
            compared.iter().filter(fails)
        };
        let met = these().filter(|row| row.within() == Some(true)).count();
        format!("{met} of {}", these().count())
    };
    let worst = compared.iter().filter_map(|row| {
        let printed = f64::from(row.printed_mean()?);
        let mean = row.mean()?;
        Some((row, (printed / mean).max(mean / printed)))
    });
    let worst =
        worst.max_by(|(_, a), (_, b)| a.total_cmp(b)).map_or_else(String::new, |(row, off)| {
            format!(
                " Farthest off is Table {} with {} failures and n = {}, by a factor of {off:.1}.",
                row.printed.table,
                row.printed.failures.name(),
                row.n
            )
        });
    format!(
        "Of the printed means, misprints aside, {} without failures are reproduced, and {} with failures lie between \
         our runs.{worst}",
        met(false),
        met(true)
    )
}

fn outcomes(rows: &[Row]) -> String {
    let of = |variant: Variant| {
        let sum = |count: fn(&Row) -> u64| -> u64 {
            rows.iter().filter(|row| row.variant == variant).map(count).sum()
        };
        format!(
            "Of {} runs as {}, {} hung, {} had two inside, {} ran out of quorums",
            sum(|row| row.runs),
            if variant == Variant::Published { "published" } else { "we do it" },
            sum(|row| row.hung),
            sum(|row| row.two_inside),
            sum(|row| row.no_quorum)
        )
    };
    let broken = rows.iter().any(|row| row.hung + row.two_inside > 0);
    let hidden = if broken {
        "The commands in --json show the first of them."
    } else {
        "Equal delays and simultaneous requests hide the faults of the published algorithm: `quorate campaign \
         quorum-published` finds them."
    };
    format!("{}. {}. {hidden}", of(Variant::Published), of(Variant::Ours))
}

/// States the cost of correctness, at the largest size that both variants reach, and the greatest ratio of all cells.
fn price(rows: &[Row]) -> Option<String> {
    let n = rows.iter().filter(|row| row.variant == Variant::Ours).map(|row| row.n).max()?;
    let of = |generator: &str, failures: Failures| {
        let row = |variant: Variant| {
            rows.iter().find(|row| {
                row.n == n
                    && row.variant == variant
                    && row.printed.generator == generator
                    && row.printed.failures == failures
                    && row.printed.requesters == Requesters::All
            })
        };
        let (published, ours) = (row(Variant::Published)?, row(Variant::Ours)?);
        let acknowledgements = ours.acknowledgements.filter(|count| *count > 0.0);
        let and =
            acknowledgements.map_or_else(String::new, |count| format!(" and {count:.0} acks"));
        Some(format!("{:.0} to {:.0}{and}", published.mean()?, ours.mean()?))
    };
    let list = |failures| {
        let of = |generator| Some(format!("{generator} {}", of(generator, failures)?));
        let all: Vec<String> = ["grid", "tree", "vcube"].into_iter().filter_map(of).collect();
        all.join(", ")
    };
    Some(format!(
        "The price of correctness, with all processes requesting, n = {n}, from published to ours: {} without \
         failures; {} with n/2 failures. Ours asks the quorum of the crashes that all live processes have acknowledged \
         (acks, over grid and vcube only), and waits for that. {}",
        list(Failures::None),
        list(Failures::Half),
        greatest_ratio(rows)?
    ))
}

/// States by how much ours exceeds the published algorithm, over all cells in which the latter finishes.
fn greatest_ratio(rows: &[Row]) -> Option<String> {
    let ratio = |ours: &Row| {
        let same = |row: &&Row| {
            row.variant == Variant::Published
                && row.n == ours.n
                && std::ptr::eq(row.printed, ours.printed)
        };
        let published = rows.iter().find(same)?;
        Some((ours.mean()? / published.mean()?, published))
    };
    let greatest = |fails: bool| {
        rows.iter()
            .filter(|row| row.variant == Variant::Ours)
            .filter(|row| (row.printed.failures != Failures::None) == fails)
            .filter_map(ratio)
            .max_by(|(a, _), (b, _)| a.total_cmp(b))
    };
    let (without, _) = greatest(false)?;
    let (with, row) = greatest(true)?;
    Some(format!(
        "Without failures ours sends the same messages as published, without FAILED: a candidate returns a vote whenever it \
         is asked for it, where in the published algorithm it waits for a FAILED that may never come. That is at most \
         {without:.2} times as many messages per entry as published. With failures it is at most {with:.2} times as many \
         (Table {}, {}, n = {}, {} failures).",
        row.printed.table,
        row.printed.generator,
        row.n,
        row.printed.failures.name()
    ))
}
