//! Users of a detector: they give no commands, and are content when the detector has been correct for a while.

use std::marker::PhantomData;

use quorate_core::{Belief, ProcessId, ProcessSet, Span, Time};

use crate::engine::{Agenda, User};
use crate::observe::Beliefs;
use crate::scenario::plan::Memory;

/// The users of a detector. A detector never becomes quiescent. Its run is over once all beliefs have been correct for
/// a while and no more faults are planned.
#[derive(Clone, Debug)]
pub struct DetectorUsers<C> {
    beliefs: Beliefs,
    quiet: Span,
    /// Time since which all beliefs are correct, but not before the last fault.
    right_since: Option<Time>,
    last_fault: Time,
    /// The command type of the detector. Its commands are for layers above it; none are given here.
    command_type: PhantomData<fn(C)>,
}

impl<C> DetectorUsers<C> {
    /// Creates users that are content once all beliefs have been
    /// correct for `quiet` after the last fault. Traitors do not count.
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
