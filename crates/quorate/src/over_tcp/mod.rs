//! `--over tcp`: runs each process of a scenario as an operating system process that communicates over sockets.
//!
//! ```text
//! this process (coordinator.rs)            one process each (child.rs)
//!   starts, kills and instructs them   ->    a world that runs one process over a mesh
//!   merges their event reports in an   <-    reports each event before its messages leave
//!   order consistent with vector clocks, and applies them to its own world with users, monitors and trace
//! ```
//!
//! Processes are deterministic, so a report contains only the input of a process, not its reaction. The coordinator's
//! world repeats the event and compares the messages. A millisecond of the scenario takes `--stretch` milliseconds,
//! because a machine that is also busy with other work cannot keep to milliseconds.

mod causal_merge;
mod child;
mod clock;
mod coordinator;
mod protocol;
mod unsupported;

use quorate_core::Span;
use quorate_lab::{CannotRun, run_driven};
use quorate_sim::report::TransportReport;
use quorate_sim::trace::TraceSink;
use quorate_sim::{Conditions, Delay, Outcome, Scenario, Timing};

pub(crate) use child::run_child;

use crate::command_error::CommandError;
use coordinator::Coordinator;

/// Replaces the delays by the range that algorithms may assume on sockets: from zero up to the bound of the scenario.
fn with_socket_delays(scenario: &Scenario) -> Scenario {
    let rounds = matches!(scenario.timing(), Timing::Rounds(_));
    let bound = scenario.delay_bound().unwrap_or(Span::from_millis(1));
    let delay = Delay::Uniform(Span::ZERO, bound);
    Scenario { delay: if rounds { scenario.delay.clone() } else { delay }, ..scenario.clone() }
}

/// Runs a validated scenario over sockets.
pub(crate) fn run(
    scenario: &Scenario,
    stretch: u32,
    conditions: Conditions,
    trace: Option<&mut (dyn TraceSink + '_)>,
    explain: impl FnOnce(CannotRun) -> CommandError,
) -> Result<Outcome, CommandError> {
    if let Some(problem) = unsupported::reason(scenario) {
        return Err(CommandError::new(format!("--over tcp: {problem}")));
    }
    let scenario = &with_socket_delays(scenario);
    let mut coordinator = Coordinator::new(scenario, stretch)?;
    let mut outcome = run_driven(scenario, conditions, trace, &mut coordinator).map_err(explain)?;
    outcome.report.over = Some(TransportReport { transport: "tcp", stretch });
    match coordinator.error() {
        Some(error) => Err(CommandError::new(format!("--over tcp: {error}"))),
        None => Ok(outcome),
    }
}
