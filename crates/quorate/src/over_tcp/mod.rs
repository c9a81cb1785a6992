//! `--over tcp`: a scenario whose processes are processes of the operating system and talk over sockets.
//!
//! ```text
//! this process (coordinator.rs)           one process each (child.rs)
//!   starts and kills them, tells news  ->   a world that runs one process over a mesh
//!   follows: merges what they report   <-   reports each event before anybody else can notice it
//!   in an order that vector clocks allow, and tells its own world, whose users, monitors and trace judge
//! ```
//!
//! Processes are deterministic, so that a report need not say what a process did, only what happened to it: the world
//! here does the same again, and compares the messages. A millisecond of the scenario takes as many milliseconds as
//! `--stretch` says, because a machine that does other things as well cannot keep to milliseconds.

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

/// The same with what algorithms may count on: messages take next to nothing, and hardly ever as long as in a simulation.
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
