//! Charts of latency and tests against n, each with its bound.

use quorate_draw::chart::{Axis, Chart, Line};

use super::{Crashes, Row};

pub(super) fn charts(rows: &[Row]) -> Vec<Chart> {
    let latency = |crashes| {
        let mean = line(rows, crashes, "mean", 0, |row| row.latency.mean);
        [mean, line(rows, crashes, "most", 1, |row| row.latency_most as f64)]
    };
    let tests = |crashes| {
        let mean = line(rows, crashes, "mean", 0, |row| row.tests);
        [mean, line(rows, crashes, "most", 1, |row| row.tests_most as f64)]
    };
    vec![
        Chart {
            name: "latency".to_owned(),
            title: "VCube diagnosis: rounds until a crash is known everywhere".to_owned(),
            description: describe("Rounds until every survivor knows of a crash", "log2 n"),
            x: Axis::log("processes"),
            y: Axis::linear("rounds"),
            lines: with_bound(rows, "log2 n", |row| row.latency_bound as f64, latency),
        },
        Chart {
            name: "tests".to_owned(),
            title: "VCube diagnosis: tests a round".to_owned(),
            description: describe("Tests a round", "n log2 n"),
            x: Axis::log("processes"),
            y: Axis::log("tests a round"),
            lines: with_bound(rows, "n log2 n", |row| row.tests_bound as f64, tests),
        },
    ]
}

fn describe(what: &str, bound: &str) -> String {
    format!(
        "{what} against the number of processes, for one, two and n/2 crashes at one moment: the mean and the most, \
         beside the bound of {bound}, logarithms rounded up."
    )
}

/// The line of the bound, and the lines for each number of crashes.
fn with_bound(
    rows: &[Row],
    label: &str,
    bound: fn(&Row) -> f64,
    lines: impl Fn(Crashes) -> [Line; 2],
) -> Vec<Line> {
    let points = of(rows, Crashes::One).map(|row| (row.n as f64, bound(row))).collect();
    let bound = Line { label: format!("bound: {label}"), group: 0, variant: 2, points };
    std::iter::once(bound).chain(Crashes::ALL.into_iter().flat_map(lines)).collect()
}

fn line(
    rows: &[Row],
    crashes: Crashes,
    which: &str,
    variant: usize,
    value: fn(&Row) -> f64,
) -> Line {
    let unit = if crashes == Crashes::One { "crash" } else { "crashes" };
    let label = format!("{} {unit}, {which}", crashes.name());
    let points = of(rows, crashes).map(|row| (row.n as f64, value(row))).collect();
    let place = Crashes::ALL.iter().position(|any| *any == crashes).unwrap_or(0);
    Line { label, group: place + 1, variant, points }
}

fn of(rows: &[Row], crashes: Crashes) -> impl Iterator<Item = &Row> {
    rows.iter().filter(move |row| row.crashes == crashes)
}
