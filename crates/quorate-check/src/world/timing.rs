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
//! [`quorate_core::Process::relative`] go back by one bound with each instant, and so do those in messages, so that states
//! come again.

use quorate_core::Span;

use super::{Class, Happening, Next, State, World};

/// Moments so many bounds ago and more are all the same.
pub(super) const HORIZON: u64 = 16;

/// What a process waits for besides messages.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Waits<T> {
    /// Whether it waits for the end of a round.
    pub(super) round: bool,
    /// Its timers that run.
    pub(super) timers: Vec<Armed<T>>,
}

impl<T> Default for Waits<T> {
    fn default() -> Self {
        Self { round: false, timers: Vec::new() }
    }
}

/// A timer that runs.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Armed<T> {
    pub(super) timer: T,
    /// How many instants are left.
    left: u8,
    /// Whether what has to arrive by then arrives before.
    patient: bool,
}

impl<T: PartialEq> Waits<T> {
    pub(super) fn set(&mut self, timer: T, after: Span, bound: Span) {
        self.cancel(&timer);
        let left = u8::try_from(after.0 / bound.0.max(1)).unwrap_or(u8::MAX);
        let patient = !after.0.is_multiple_of(bound.0.max(1));
        self.timers.push(Armed { timer, left, patient });
    }

    pub(super) fn cancel(&mut self, timer: &T) {
        self.timers.retain(|armed| armed.timer != *timer);
    }

    /// Of each timer, how many instants are left, and whether it is patient.
    pub(super) fn seen(&self) -> Box<[(u8, bool)]> {
        self.timers.iter().map(|armed| (armed.left, armed.patient)).collect()
    }

    pub(super) fn an_instant_later(&mut self) {
        self.timers.iter_mut().for_each(|armed| armed.left = armed.left.saturating_sub(1));
    }
}

impl World<'_> {
    /// What can happen because time goes by.
    pub(super) fn by_time(&self, state: &State, successors: &mut Vec<Next>) {
        let late = state.letters().any(|letter| letter.is_late());
        let (mut running, mut due) = (state.letters().len() > 0, false);
        for process in state.up() {
            for (place, (left, patient)) in (0..).zip(&self.look(state, process).timers) {
                running = true;
                if *left > 0 {
                    continue;
                }
                due = true;
                if !(*patient && late) {
                    let class = Class(216 + u16::from(process) * 8 + u16::from(place));
                    let what = Happening::Expire { process, place };
                    self.push(state, what, Some(class), successors);
                }
            }
        }
        if running && !due && !late {
            self.push(state, Happening::Instant, Some(Class(208)), successors);
        }
    }
}
