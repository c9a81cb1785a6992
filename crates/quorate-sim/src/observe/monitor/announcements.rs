//! Announcements of a stable property: whether they are true, and whether one is missing at the end.
//!
//! An announcement is judged at the moment at which it is made. Cost: O(n + e) for each announcement, with e pairs of processes that have
//! exchanged messages or wait for each other.

use quorate_core::definition::detection::{Situation, holds, unannounced};
use quorate_core::detection::{Command, Output, StableProperty};
use quorate_core::{ProcessId, ProcessSet, Property, Time};

use super::violation::{Evidence, Violation};
use crate::engine::Ending;
use crate::engine::observer::Moment;

/// Monitor of the announcements of n processes.
#[derive(Clone, Debug)]
pub(crate) struct Announcements {
    property: StableProperty,
    situations: Vec<Situation>,
    /// Requests for grants that have arrived at each process.
    requests: Vec<ProcessSet>,
    /// When each process last began to be passive or to wait, or was started.
    changed: Vec<Option<Moment>>,
    /// Processes that announced the property, in order.
    announced: Vec<ProcessId>,
    false_detection: Option<Violation>,
    missing: Option<Violation>,
    /// Whether the run was stopped before a missing announcement could be judged.
    open: bool,
}

impl Announcements {
    pub(crate) fn new(n: usize, property: StableProperty) -> Self {
        Self {
            property,
            situations: vec![Situation::new(property); n],
            requests: vec![ProcessSet::new(); n],
            changed: vec![None; n],
            announced: Vec::new(),
            false_detection: None,
            missing: None,
            open: false,
        }
    }

    pub(crate) fn on_command(&mut self, at: Moment, command: &Command) {
        let process = at.process.index();
        let requests = &mut self.requests[process];
        let granted = requests.first().filter(|_| *command == Command::Grant);
        if let Some(to) = granted {
            requests.remove(to);
        }
        self.situations[process].on_command(command, granted);
        if matches!(command, Command::Start | Command::Rest | Command::Wait(_)) {
            self.changed[process] = Some(at);
        }
    }

    pub(crate) fn on_output(&mut self, at: Moment, output: &Output) {
        let process = at.process.index();
        self.situations[process].on_output(output);
        match output {
            Output::Requested(by) => {
                self.requests[process].insert(*by);
            }
            Output::Announced => {
                self.announced.push(at.process);
                self.judge(at);
            }
            Output::Received(_) | Output::Unblocked => {}
        }
    }

    fn judge(&mut self, at: Moment) {
        let situations: Vec<&Situation> = self.situations.iter().collect();
        if self.false_detection.is_some() || holds(self.property, &situations, at.process) {
            return;
        }
        let detail = match self.property {
            StableProperty::Termination => {
                let active = ProcessId::all(situations.len()).zip(&situations);
                let active = active.filter(|(_, situation)| situation.is_active());
                match active.map(|(process, _)| process).next() {
                    Some(process) => {
                        format!("{} announced the end while {process} was active", at.process)
                    }
                    None => {
                        format!("{} announced the end while a message was in flight", at.process)
                    }
                }
            }
            StableProperty::AndDeadlock | StableProperty::OrDeadlock => {
                format!("{} announced a deadlock that it is not in", at.process)
            }
        };
        let events = vec![Evidence::new(at, "announced the property")];
        let property = Property::NoFalseDetection;
        self.false_detection = Some(Violation { property, time: at.time, detail, events });
    }

    pub(crate) fn crashed(&mut self, process: ProcessId) {
        self.situations[process.index()].crash();
    }

    pub(crate) fn end(&mut self, now: Time, ending: Ending) {
        let situations: Vec<&Situation> = self.situations.iter().collect();
        let Some(process) = unannounced(self.property, &situations) else { return };
        if !matches!(ending, Ending::Quiescent | Ending::Content) {
            self.open = true;
            return;
        }
        let detail = match self.property {
            StableProperty::Termination => {
                format!("{process} did not announce the end of the computation")
            }
            StableProperty::AndDeadlock => {
                format!("no process announced the deadlock of a cycle to which {process} belongs")
            }
            StableProperty::OrDeadlock => {
                format!("{process} is in a deadlock, and no process of it has announced that")
            }
        };
        let event =
            self.changed[process.index()].map(|at| Evidence::new(at, "last changed its state"));
        let events = event.into_iter().collect();
        let property = Property::EventualDetection;
        self.missing = Some(Violation { property, time: now, detail, events });
    }

    pub(crate) fn false_detection(&self) -> Option<&Violation> {
        self.false_detection.as_ref()
    }

    pub(crate) fn missing(&self) -> Option<&Violation> {
        self.missing.as_ref()
    }

    pub(crate) fn is_open(&self) -> bool {
        self.open
    }

    /// Processes that announced the property, in order.
    pub(crate) fn announced(&self) -> &[ProcessId] {
        &self.announced
    }
}
