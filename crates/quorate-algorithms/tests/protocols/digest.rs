//! A run as one line of text.

use std::io::Write;

use quorate_lab::run;
use quorate_sim::report::Report;
use quorate_sim::trace::Format;
use quorate_sim::{Conditions, Scenario};

use crate::fnv::Fnv;

/// Maximum number of events of a run. Only runs outside the assumptions of their algorithm reach it.
const EVENTS_MOST: u64 = 20_000;

/// Runs a scenario. Returns its report, and the line with its verdict, its messages and its digest.
pub(crate) fn line(name: &str, scenario: &Scenario) -> (Option<Report>, String) {
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
            let (verdict, messages) = (report.verdict, report.messages.total);
            let line = format!("{name}: {verdict:?}, {messages} messages, {}", digest.text());
            (Some(report), line)
        }
        Err(error) => (None, format!("{name}: {error}")),
    }
}
