//! Those who watch a detector: they ask nothing, and are content when it has been right for a while.

use std::marker::PhantomData;

use quorate_core::{Belief, ProcessId, ProcessSet, Span, Time};

use crate::beliefs::Beliefs;
use crate::plan::Memory;
use crate::user::{Agenda, User};

/// A detector never falls silent. Its run is over once everybody has been right for a while, and nothing more is
/// planned to go wrong.
#[derive(Clone, Debug)]
pub struct DetectorUsers<C> {
    beliefs: Beliefs,
    quiet: Span,
    /// Since when everybody is right; not before the last fault.
    right_since: Option<Time>,
    last_fault: Time,
    /// What could be asked: a detector's commands are for what rides on it, and nobody gives them here.
    command_type: PhantomData<fn(C)>,
}

impl<C> DetectorUsers<C> {
    /// Watches n processes until all have been right for `quiet` after the last fault. Traitors do not count.
    pub fn new(n: usize, traitors: ProcessSet, last_fault: Time, quiet: Span) -> Self {
        let beliefs = Beliefs::new(n, traitors);
        Self { beliefs, quiet, right_since: None, last_fault, command_type: PhantomData }
    }
}

impl<C> User for DetectorUsers<C> {
    type Command = C;
    type Output = Belief;

    fn begin(&mut self, _: &mut Agenda<C>) {}

    fn accepted(&mut self, _: ProcessId, _: &C, _: &mut Agenda<C>) {}

    fn on_output(&mut self, process: ProcessId, belief: &Belief, _: &mut Agenda<C>) {
        self.beliefs.update(process, *belief);
        self.right_since = None;
    }

    fn crashed(&mut self, process: ProcessId) {
        self.beliefs.crash(process);
        self.right_since = None;
    }

    fn recovered(&mut self, process: ProcessId, memory: Memory, _: &mut Agenda<C>) {
        self.beliefs.recover(process, memory);
        self.right_since = None;
    }

    fn is_content(&mut self, now: Time) -> bool {
        if !self.beliefs.all_correct() {
            return false;
        }
        let since = *self.right_since.get_or_insert(now.max(self.last_fault));
        now >= since + self.quiet
    }
}
