//! A run as a short text.

use std::io::Write as _;

use quorate_lab::run;
use quorate_sim::report::Report;
use quorate_sim::scenario::Verdict;
use quorate_sim::trace::Format;
use quorate_sim::{Conditions, Scenario};

use crate::fnv::Fnv;

/// Maximum number of events of a run. Only runs outside the assumptions of their algorithm reach it.
const EVENTS_MOST: u64 = 20_000;

/// Runs a scenario. Returns its report, and the digest of its trace and its report. A mark follows the digest of a run that does
/// not hold: `!` if it violates a property, `?` if it only breaks an assumption.
pub(crate) fn run_digest(scenario: &Scenario) -> (Option<Report>, String) {
    let mut digest = Fnv::new();
    let conditions = Conditions { events: EVENTS_MOST, ..Conditions::default() };
    let outcome = {
        let mut trace = Format::JsonLines.writer(scenario.processes, &mut digest);
        run(scenario, conditions, Some(&mut *trace))
    };
    match outcome {
        Ok(outcome) => {
            let report = outcome.report;
            write!(digest, "{report:?}").expect("a digest takes everything");
            let mark = match report.verdict {
                Verdict::Holds => "",
                Verdict::Violated => "!",
                Verdict::OutsideAssumptions => "?",
            };
            (Some(report), digest.short() + mark)
        }
        Err(error) => (None, error.to_string()),
    }
}
