//! Families of algorithms: what a run is made of that is not the same for a mutex and a detector.
//!
//! The world, the books, the incidents, the trace and the skeleton of the report are common (`run.rs`). A family
//! adds users, monitors with what they find, and its own part of the report; each has a file here.

pub(crate) mod agreement;
pub(crate) mod clock;
pub(crate) mod detector;
pub(crate) mod election;
pub(crate) mod multicast;
pub(crate) mod mutex;

use std::fmt::Debug;

use quorate_core::{Layer, ProcessId, ProcessSet, Property, Time};

pub use agreement::AgreementMonitors;
pub use clock::ClockMonitors;
pub use detector::DetectorMonitors;
pub use election::ElectionMonitors;
pub use multicast::MulticastMonitors;
pub use mutex::MutexMonitors;

use crate::assumptions::FaultLog;
use crate::history::Mark;
use crate::monitor::{Status, Violation};
use crate::observer::{Departure, Moment};
use crate::plan::Memory;
use crate::report::Report;
use crate::run::AlgorithmInfo;
use crate::scenario::Scenario;
use crate::world::Ending;

/// The monitors of a family, and what they make of a run. They are compiled once for the family, not for each algorithm.
pub trait Monitors {
    /// The family.
    const FAMILY: Layer;
    /// What users may ask.
    type Command: Debug;
    /// What users may hear.
    type Output: Debug;

    /// What users see of a process that has taken this command.
    fn command_mark(&self, command: &Self::Command) -> Option<Mark> {
        let _ = command;
        None
    }

    /// What users see of a process that tells them this.
    fn output_mark(&self, at: Moment, output: &Self::Output) -> Option<Mark>;

    /// What is asked, in a word or two, where the mark does not say it all: a value, a message.
    fn command_text(&self, command: &Self::Command) -> String {
        let _ = command;
        String::new()
    }

    /// What is told, in a word or two, where the mark does not say it all: a leader, a decision.
    fn output_text(&self, output: &Self::Output) -> String {
        let _ = output;
        String::new()
    }

    /// A process has taken a command.
    fn on_command(&mut self, at: Moment, command: &Self::Command);

    /// A process tells its user something.
    fn on_output(&mut self, at: Moment, output: &Self::Output);

    /// A process has crashed.
    fn crashed(&mut self, at: Moment);

    /// A process is back.
    fn recovered(&mut self, at: Moment, memory: Memory);

    /// A message of this kind leaves.
    #[inline]
    fn sent(&mut self, at: Moment, kind: usize, departure: Departure) {
        let _ = (at, kind, departure);
    }

    /// Whether messages carry a mark for the monitors.
    #[inline]
    fn marks_messages(&self) -> bool {
        false
    }

    /// The mark of a message that leaves.
    #[inline]
    fn mark(&mut self, at: Moment) -> u32 {
        let _ = at;
        0
    }

    /// A message has arrived with its mark.
    fn arrived(&mut self, at: Moment, mark: u32) {
        let _ = (at, mark);
    }

    /// A message with this mark will not arrive.
    fn lost(&mut self, mark: u32) {
        let _ = mark;
    }

    /// The run is over.
    fn end(&mut self, end: &RunEnd<'_>);

    /// What became of a property of the family.
    fn finding(&self, property: Property) -> Finding<'_>;

    /// Writes the family's part of the report.
    fn report(&self, context: &ReportContext<'_>, report: &mut Report);
}

/// How a run ended.
pub struct RunEnd<'a> {
    /// When.
    pub now: Time,
    /// Why.
    pub ending: Ending,
    /// How many processes there are.
    pub processes: usize,
    /// For whom a process is waiting then.
    pub waits_for: &'a dyn Fn(ProcessId) -> ProcessSet,
    /// What went wrong on the way.
    pub fault_log: &'a FaultLog,
}

/// What became of a property.
#[derive(Clone, Debug)]
pub struct Finding<'a> {
    /// Whether it held.
    pub status: Status,
    /// The first violation.
    pub violation: Option<&'a Violation>,
    /// Why it is open, if it is.
    pub open: String,
}

impl<'a> Finding<'a> {
    /// It held unless there is a violation.
    pub fn of(violation: Option<&'a Violation>) -> Self {
        let status = if violation.is_some() { Status::Violated } else { Status::Holds };
        Self { status, violation, open: String::new() }
    }

    /// As above, but where there is no violation it may be open for this reason.
    #[must_use]
    pub fn or_open(self, why: Option<impl Into<String>>) -> Self {
        match why {
            Some(why) if self.violation.is_none() => {
                Self { status: Status::NotChecked, open: why.into(), ..self }
            }
            _ => self,
        }
    }
}

/// What a family may want to know when it tells of a run.
#[derive(Debug)]
pub struct ReportContext<'a> {
    /// The scenario.
    pub scenario: &'a Scenario,
    /// The algorithm and its promise.
    pub info: &'a AlgorithmInfo,
    /// Whether nothing went wrong and the run came to its end, so that the promise can be held against it.
    pub undisturbed: bool,
    /// Whether the run kept every assumption.
    pub assumptions_met: bool,
    /// Whether messages to oneself were counted.
    pub count_self: bool,
}
