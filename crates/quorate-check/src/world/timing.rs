//! Timers, for algorithms that know a bound on message delay. Time advances in steps of that bound, called instants.
//!
//! - A message arrives in the instant in which it was sent or in the next one. Time does not advance before every message
//!   that must have arrived has arrived, and before every timer that is due has expired.
//! - A timer of exactly k bounds expires k instants later, in any order with the other actions of that instant. A timer of
//!   slightly more expires after all messages due by then have arrived, which is the purpose of the extra time.
//! - Which of the timers of a process expires first depends on when they expire and not on when they were set. So the order in
//!   which they were set can be forgotten (`World::timer_reduction`).
//! - While no message is in flight and no timer runs, time stands still.
//!
//! Delays lie between zero and the bound, and timers last several bounds. For such systems whole instants are sufficient to
//! see every order of events (Henzinger, Manna, Pnueli, "What good are digital clocks?", ICALP 1992). Crash notices and
//! users may take any time.
//!
//! An algorithm that works whatever the delays are is explored without instants: its timers expire at any time, which covers
//! every delay, and a limited number of times, so that the search ends.
//!
//! A process's clock always shows [`HORIZON`] bounds. Instead, the times that a process remembers and exposes with
//! [`quorate_core::Process::visit_shift_invariant`] decrease by one bound with each instant, and so do the times
//! in messages. So states recur.

use std::hash::Hash;

use quorate_core::Span;

use super::{ActionKind, FairnessClass, Next, State, World};
use crate::fingerprint_of;

/// Times that lie this many bounds or more in the past are all equal.
pub(super) const HORIZON: u64 = 16;

/// The way in which timers run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Timing {
    /// There are no timers.
    None,
    /// Time advances in instants.
    Instants,
    /// Timers expire at any time.
    AnyTime,
}

/// Events that a process waits for besides messages.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Pending<T> {
    /// Whether it waits for the end of a round.
    pub(super) round: bool,
    /// Timers that are running.
    pub(super) timers: Vec<Armed<T>>,
}

impl<T> Default for Pending<T> {
    fn default() -> Self {
        Self { round: false, timers: Vec::new() }
    }
}

/// A timer that is running.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Armed<T> {
    pub(super) timer: T,
    /// Number of instants left.
    remaining: u8,
    /// Whether it expires only after all messages due by then have arrived.
    after_deliveries: bool,
}

impl<T: PartialEq> Pending<T> {
    /// Sets a timer. Without a bound on message delay it may expire at any time.
    pub(super) fn set(&mut self, timer: T, after: Span, bound: Option<Span>) {
        self.cancel(&timer);
        let Some(bound) = bound else {
            return self.timers.push(Armed { timer, remaining: 0, after_deliveries: false });
        };
        let remaining = u8::try_from(after.0 / bound.0.max(1)).unwrap_or(u8::MAX);
        let after_deliveries = !after.0.is_multiple_of(bound.0.max(1));
        self.timers.push(Armed { timer, remaining, after_deliveries });
    }

    /// Brings the timers into an order that does not depend on the order in which they were set.
    pub(super) fn sort(&mut self)
    where
        T: Hash,
    {
        self.timers.sort_by_key(fingerprint_of);
    }

    pub(super) fn cancel(&mut self, timer: &T) {
        self.timers.retain(|armed| armed.timer != *timer);
    }

    /// For each timer, the number of instants left, and whether it expires after deliveries.
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
    /// Adds the successors by timers that expire, if they may do so at any time. No timer has to expire.
    pub(super) fn timeout_successors(&self, state: &State, successors: &mut Vec<Next>) {
        if state.budget.timeouts == 0 {
            return;
        }
        for process in state.up().filter(|process| self.never_expiring & (1 << process) == 0) {
            for index in 0..self.summary(state, process).timers.len() as u8 {
                self.push(state, ActionKind::Expire { process, index }, None, successors);
            }
        }
    }

    /// Adds the successors by timers that expire and by the next instant.
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
