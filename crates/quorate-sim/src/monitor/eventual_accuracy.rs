//! Eventual strong accuracy: from some moment on nobody is suspected who has not crashed.
//!
//! A run is finite, so the moment has to be said: a grace after everything has settled, that is after the last fault
//! and, where bounds hold from a time on (`eventually:T`), after that time. A wrong suspicion that begins later than
//! that, or still stands at the end of a run that lasted longer, is a violation. Where time has no bound at all nothing
//! ever settles; the last fault stands in, so that a detector which goes on erring is seen to. A run that ends earlier
//! tells something only if everybody had been right for a while; else the property is open. Cost: O(1) for each
//! belief, O(n) for each process at the end.

use quorate_core::{Belief, ProcessId, Property, Time};

use super::{Evidence, Violation, name_all};
use crate::beliefs::Beliefs;
use crate::observer::Moment;

/// Watches eventual accuracy.
#[derive(Clone, Debug)]
pub(crate) struct EventualAccuracy {
    /// When mistakes have to have ended.
    deadline: Time,
    open: bool,
    violation: Option<Violation>,
}

impl EventualAccuracy {
    /// Nobody may be wrong later than this.
    pub(crate) fn new(deadline: Time) -> Self {
        Self { deadline, open: false, violation: None }
    }

    /// A process has changed its mind about another, which is up or down.
    pub(crate) fn believed(&mut self, at: Moment, belief: Belief, down: bool) {
        let Belief::Crashed(victim) = belief else { return };
        if down || at.time <= self.deadline {
            return;
        }
        let detail = format!(
            "{} suspected {victim} at {}, which was up, though mistakes had to end by {}",
            at.process, at.time, self.deadline
        );
        self.violate(at.time, detail, vec![Evidence::new(at, format!("suspected {victim}"))]);
    }

    /// Judges the end of a run; `content` if everybody has been right for a while.
    pub(crate) fn end(&mut self, now: Time, content: bool, n: usize, beliefs: &Beliefs) {
        if now <= self.deadline {
            self.open = !content;
            return;
        }
        for victim in ProcessId::all(n).filter(|process| beliefs.counts(*process)) {
            let mut wrong = beliefs.mistaken_about(victim).peekable();
            if wrong.peek().is_some() {
                let who = name_all(wrong);
                let detail = format!("{who} still suspected {victim} at the end, at {now}");
                self.violate(now, detail, Vec::new());
            }
        }
    }

    /// Whether the end came too soon to tell.
    pub(crate) fn is_open(&self) -> bool {
        self.open
    }

    /// The first violation.
    pub(crate) fn violation(&self) -> Option<&Violation> {
        self.violation.as_ref()
    }

    fn violate(&mut self, time: Time, detail: String, events: Vec<Evidence>) {
        let property = Property::EventualAccuracy;
        self.violation.get_or_insert(Violation { property, time, detail, events });
    }
}
