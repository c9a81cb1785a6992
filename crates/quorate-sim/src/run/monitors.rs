//! The monitors of a family as the rest of a run sees them.

use std::fmt::Debug;

use quorate_core::{Layer, ProcessId, ProcessSet, Property, Time};

use super::algorithm_info::AlgorithmInfo;
use super::report::Report;
use crate::engine::Ending;
use crate::engine::observer::{Departure, Moment};
use crate::observe::monitor::Violation;
use crate::observe::{FaultLog, Mark};
use crate::scenario::plan::Memory;
use crate::scenario::{Scenario, Status};

/// The monitors of a family, and their part of the report. They are compiled once for the family, not for each algorithm.
pub trait Monitors {
    /// The family that the monitors belong to.
    const FAMILY: Layer;
    /// Commands that users give to a process.
    type Command: Debug;
    /// Outputs that a process gives to its user.
    type Output: Debug;

    /// The mark in the history for an accepted command, if it has one.
    fn command_mark(&self, command: &Self::Command) -> Option<Mark> {
        let _ = command;
        None
    }

    /// The mark in the history for an output, if it has one.
    fn output_mark(&self, at: Moment, output: &Self::Output) -> Option<Mark>;

    /// Short text for a command, where the mark does not tell everything: a value or a message.
    fn command_text(&self, command: &Self::Command) -> String {
        let _ = command;
        String::new()
    }

    /// Short text for an output, where the mark does not tell everything: a leader or a decision.
    fn output_text(&self, output: &Self::Output) -> String {
        let _ = output;
        String::new()
    }

    /// A process has accepted a command.
    fn on_command(&mut self, at: Moment, command: &Self::Command);

    /// A process has produced an output for its user.
    fn on_output(&mut self, at: Moment, output: &Self::Output);

    /// A process has crashed.
    fn crashed(&mut self, at: Moment);

    /// A process has recovered.
    fn recovered(&mut self, at: Moment, memory: Memory);

    /// A process has sent a message of this kind.
    #[inline]
    fn sent(&mut self, at: Moment, kind: usize, departure: Departure) {
        let _ = (at, kind, departure);
    }

    /// Whether messages carry a mark for the monitors.
    #[inline]
    fn marks_messages(&self) -> bool {
        false
    }

    /// Returns the mark for a message that is being sent.
    #[inline]
    fn mark(&mut self, at: Moment) -> u32 {
        let _ = at;
        0
    }

    /// A message with this mark has arrived.
    fn arrived(&mut self, at: Moment, mark: u32) {
        let _ = (at, mark);
    }

    /// A message with this mark was lost.
    fn lost(&mut self, mark: u32) {
        let _ = mark;
    }

    /// The run has ended.
    fn end(&mut self, end: &RunEnd<'_>);

    /// The finding about a property of the family.
    fn finding(&self, property: Property) -> Finding<'_>;

    /// Writes the family's part of the report.
    fn report(&self, context: &ReportContext<'_>, report: &mut Report);
}

/// State of a run at its end.
pub struct RunEnd<'a> {
    /// Time at which the run ended.
    pub now: Time,
    /// Why the run ended.
    pub ending: Ending,
    /// Number of processes in the world.
    pub processes: usize,
    /// Returns the processes that a process is waiting for at the end.
    pub waits_for: &'a dyn Fn(ProcessId) -> ProcessSet,
    /// Faults that happened during the run.
    pub fault_log: &'a FaultLog,
}

/// The finding about a property.
#[derive(Clone, Debug)]
pub struct Finding<'a> {
    /// Whether the property held, was violated, or was not checked.
    pub status: Status,
    /// The first violation, if there is one.
    pub violation: Option<&'a Violation>,
    /// Why the property could not be judged; empty if it was.
    pub open: String,
}

impl<'a> Finding<'a> {
    /// A finding that holds unless there is a violation.
    pub fn of(violation: Option<&'a Violation>) -> Self {
        let status = if violation.is_some() { Status::Violated } else { Status::Holds };
        Self { status, violation, open: String::new() }
    }

    /// If there is no violation and a reason is given, marks the property as not checked for that reason.
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

/// Input of a family's part of the report.
#[derive(Debug)]
pub struct ReportContext<'a> {
    /// The scenario that was run.
    pub scenario: &'a Scenario,
    /// The algorithm and its promised costs.
    pub info: &'a AlgorithmInfo,
    /// Whether the run was free of faults and complete, so that its cost can be compared with the promise.
    pub undisturbed: bool,
    /// Whether the run met every assumption.
    pub assumptions_met: bool,
    /// Whether every message to every receiver was counted, as the promised costs do.
    pub counts_all: bool,
}
