//! Printed results. Data goes to stdout, everything else to stderr.

mod agreement;
pub(crate) mod campaign;
pub(crate) mod check;
mod clock;
pub(crate) mod clocks;
mod detection;
mod election;
pub(crate) mod quorum;
mod replication;
mod style;
mod timeline;
mod verdict;

use std::io::{self, Write};

use quorate_lab::logical_time::Computation;
use quorate_sim::report::Report;
use quorate_sim::{Outcome, Scenario};
use serde::Serialize;

pub(crate) use verdict::title;

/// A report with the stamps of all events.
#[derive(Serialize)]
struct StampedReport<'a> {
    #[serde(flatten)]
    report: &'a Report,
    stamps: serde_json::Value,
}

/// Prints the outcome of a run and the stamps of its events, if there are any, as text or JSON.
pub(crate) fn outcome(
    scenario: &Scenario,
    outcome: &Outcome,
    stamps: Option<&Computation>,
    json: bool,
    command: &str,
) -> io::Result<()> {
    let mut out = crate::output::stdout();
    if json {
        let report = &outcome.report;
        match stamps.map(|stamps| clocks::json(stamps, None, None)) {
            Some(stamps) => serde_json::to_writer(&mut out, &StampedReport { report, stamps })?,
            None => serde_json::to_writer(&mut out, report)?,
        }
        return writeln!(out);
    }
    verdict::write(&mut out, scenario, outcome, command)?;
    if let Some(stamps) = stamps {
        writeln!(out)?;
        clocks::print(&mut out, stamps, None, None)?;
    }
    out.flush()
}

/// Prints to stderr how a run compares with its expectations.
pub(crate) fn expectations(differences: &[String]) -> io::Result<()> {
    let mut out = anstream::stderr().lock();
    match differences {
        [] => writeln!(out, "expectations: met"),
        differences => {
            writeln!(out, "expectations: not met")?;
            differences.iter().try_for_each(|difference| writeln!(out, "  {difference}"))
        }
    }
}
