//! Timers, for algorithms that know how long a message takes at most: time goes by in steps of that bound.
//!
//! - A message arrives in the instant in which it was sent or in the next one. Time does not go by before all that must
//!   have arrived has, and before every timer that is due has run out.
//! - A timer of k bounds runs out k instants later, among whatever happens then; one of a little more runs out after all
//!   that has to arrive by then, which is what the little more is for.
//! - Where nothing is under way and no timer runs, time stands still.
//!
//! Delays between nothing and the bound, and timers of several bounds: for such systems whole instants are enough to see
//! every order of events (Henzinger, Manna, Pnueli, "What good are digital clocks?", ICALP 1992). News of crashes and
//! users take as long as they like.
//!
//! A process's clock shows [`HORIZON`] bounds all the time; instead, the moments that it remembers and shows with
//! [`quorate_core::Process::visit_shift_invariant`] go back by one bound with each instant, and so do those in messages, so that states
//! come again.

use quorate_core::Span;

use super::{ActionKind, FairnessClass, Next, State, World};

/// Moments so many bounds ago and more are all the same.
pub(super) const HORIZON: u64 = 16;

/// What a process waits for besides messages.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Pending<T> {
    /// Whether it waits for the end of a round.
    pub(super) round: bool,
    /// Its timers that run.
    pub(super) timers: Vec<Armed<T>>,
}

impl<T> Default for Pending<T> {
    fn default() -> Self {
        Self { round: false, timers: Vec::new() }
    }
}

/// A timer that runs.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Armed<T> {
    pub(super) timer: T,
    /// How many instants are left.
    remaining: u8,
    /// Whether what has to arrive by then arrives before.
    after_deliveries: bool,
}

impl<T: PartialEq> Pending<T> {
    pub(super) fn set(&mut self, timer: T, after: Span, bound: Span) {
        self.cancel(&timer);
        let remaining = u8::try_from(after.0 / bound.0.max(1)).unwrap_or(u8::MAX);
        let after_deliveries = !after.0.is_multiple_of(bound.0.max(1));
        self.timers.push(Armed { timer, remaining, after_deliveries });
    }

    pub(super) fn cancel(&mut self, timer: &T) {
        self.timers.retain(|armed| armed.timer != *timer);
    }

    /// Of each timer, how many instants are left, and whether it is patient.
    pub(super) fn summary(&self) -> Box<[(u8, bool)]> {
        self.timers.iter().map(|armed| (armed.remaining, armed.after_deliveries)).collect()
    }

    pub(super) fn tick(&mut self) {
        self.timers
            .iter_mut()
            .for_each(|armed| armed.remaining = armed.remaining.saturating_sub(1));
    }
}

impl World<'_> {
    /// What can happen because time goes by.
    pub(super) fn time_successors(&self, state: &State, successors: &mut Vec<Next>) {
        let late = state.envelopes().any(|envelope| envelope.is_late());
        let (mut running, mut due) = (state.envelopes().len() > 0, false);
        for process in state.up() {
            for (index, (remaining, after_deliveries)) in
                (0..).zip(&self.summary(state, process).timers)
            {
                running = true;
                if *remaining > 0 {
                    continue;
                }
                due = true;
                if !(*after_deliveries && late) {
                    let class = FairnessClass(216 + u16::from(process) * 8 + u16::from(index));
                    let kind = ActionKind::Expire { process, index };
                    self.push(state, kind, Some(class), successors);
                }
            }
        }
        if running && !due && !late {
            self.push(state, ActionKind::Tick, Some(FairnessClass(208)), successors);
        }
    }
}
