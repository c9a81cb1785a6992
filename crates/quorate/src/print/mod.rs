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

use quorate_sim::{Outcome, Scenario};

pub(crate) use verdict::title;

/// Prints the outcome of a run, as text or JSON.
pub(crate) fn outcome(
    scenario: &Scenario,
    outcome: &Outcome,
    json: bool,
    command: &str,
) -> io::Result<()> {
    let mut out = crate::output::stdout();
    if json {
        serde_json::to_writer(&mut out, &outcome.report)?;
        return writeln!(out);
    }
    verdict::write(&mut out, scenario, outcome, command)?;
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
