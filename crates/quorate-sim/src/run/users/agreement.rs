//! Users of an agreement: each proposes once and waits for the decision.

use quorate_core::agreement::{Command, Output, Value};
use quorate_core::{ProcessId, ProcessSet, Span, Time};

use crate::engine::{Agenda, User};
use crate::scenario::plan::Memory;

/// The proposers. They are content once every live process has decided, except traitors.
#[derive(Clone, Debug)]
pub struct AgreementUsers {
    planned: Vec<(ProcessId, Span, Value)>,
    /// Processes whose proposal is not due yet.
    ahead: ProcessSet,
    /// Proposals that came due while their process was down.
    missed: Vec<(ProcessId, Value)>,
    /// Processes that have not decided, whether up or down.
    undecided: ProcessSet,
    down: ProcessSet,
}

impl AgreementUsers {
    /// Creates users for n processes from the planned proposals:
    /// process, time and value. Processes in `exempt` need not decide.
    pub fn new(n: usize, planned: Vec<(ProcessId, Span, Value)>, exempt: &ProcessSet) -> Self {
        Self {
            ahead: planned.iter().map(|(process, ..)| *process).collect(),
            planned,
            missed: Vec::new(),
            undecided: &ProcessSet::all(n) - exempt,
            down: ProcessSet::new(),
        }
    }
}

impl User for AgreementUsers {
    type Command = Command;
    type Output = Output;

    fn begin(&mut self, agenda: &mut Agenda<Command>) {
        let planned = std::mem::take(&mut self.planned).into_iter();
        agenda.extend(
            planned.map(|(process, after, value)| (process, after, Command::Propose(value))),
        );
    }

    fn on_due(&mut self, process: ProcessId, command: &Command, up: bool) -> bool {
        let Command::Propose(value) = *command;
        self.ahead.remove(process);
        if !up {
            self.missed.push((process, value));
        }
        up
    }

    fn accepted(&mut self, _: ProcessId, _: &Command, _: &mut Agenda<Command>) {}

    fn on_output(&mut self, process: ProcessId, output: &Output, _: &mut Agenda<Command>) {
        // A blocked process continues to wait, because a crashed process may recover.
        if let Output::Decided(_) = output {
            self.undecided.remove(process);
        }
    }

    fn crashed(&mut self, process: ProcessId) {
        self.down.insert(process);
    }

    fn recovered(&mut self, process: ProcessId, _: Memory, agenda: &mut Agenda<Command>) {
        self.down.remove(process);
        let missed = self.missed.extract_if(.., |(owner, _)| *owner == process);
        agenda.extend(missed.map(|(owner, value)| (owner, Span::ZERO, Command::Propose(value))));
    }

    fn is_content(&mut self, _: Time) -> bool {
        (&self.ahead - &self.down).is_empty() && (&self.undecided - &self.down).is_empty()
    }
}
