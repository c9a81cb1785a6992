//! Eventual strong accuracy: from some moment on no live process is suspected.
//!
//! That moment is unknown: a rare delay may cause one last mistake arbitrarily late. So a
//! finite run is judged by the number and duration of mistakes after the run has settled:
//! after the last fault and, if bounds hold from a time on (`eventually:T`), after that time.
//! If delays are unbounded, the run never settles, and the time of the last fault is used.
//!
//! - The property is violated if one process wrongly suspects the same process more than sixteen times from then on. By
//!   then, timeouts that double with each mistake have grown by a factor of 65,536. It is also violated if a wrong
//!   suspicion is older than the grace and still stands at the end.
//! - It is open if the run was stopped earlier than a grace after the last mistake.
//! - It holds if all beliefs have been correct for long enough.
//!
//! Cost: O(log m) for each suspicion, where m is the number of pairs with a mistake, and O(n) for each process at the end.

use quorate_core::{Belief, ProcessId, Property, SortedMap, Span, Time};

use super::violation::{Evidence, Violation};
use crate::engine::observer::Moment;
use crate::observe::beliefs::Beliefs;

/// Maximum number of times that an observer may wrongly suspect the same process.
const MISTAKES_MOST: u32 = 16;

/// Monitor of eventual accuracy.
#[derive(Clone, Debug)]
pub(crate) struct EventualAccuracy {
    settled: Time,
    grace: Span,
    /// Number of mistakes of each pair of observer and victim, and the last one.
    mistakes: SortedMap<(ProcessId, ProcessId), (u32, Moment)>,
    open: bool,
    violation: Option<Violation>,
}

impl EventualAccuracy {
    /// Creates a monitor for a run that has settled by that time. A mistake may not last longer than the grace.
    pub(crate) fn new(settled: Time, grace: Span) -> Self {
        Self { settled, grace, mistakes: SortedMap::new(), open: false, violation: None }
    }

    /// A process has changed its belief about another process. `down` is whether that process is down.
    pub(crate) fn belief_changed(&mut self, at: Moment, belief: Belief, down: bool) {
        let Belief::Crashed(victim) = belief else { return };
        if down || at.time <= self.settled {
            return;
        }
        let (count, last) = self.mistakes.entry((at.process, victim)).or_insert((0, at));
        (*count, *last) = (*count + 1, at);
        if *count > MISTAKES_MOST {
            let detail = format!(
                "{} suspected {victim} wrongly at {}, the {count}th time since {}",
                at.process, at.time, self.settled
            );
            self.violate(at.time, detail, vec![Evidence::new(at, format!("suspected {victim}"))]);
        }
    }

    /// Judges the end of a run. `content` is whether all beliefs have been correct for a while.
    pub(crate) fn end(&mut self, now: Time, content: bool, n: usize, beliefs: &Beliefs) {
        if content {
            return;
        }
        let mistakes = self.mistakes.values();
        let last = mistakes.map(|(_, last)| last.time).max().unwrap_or(self.settled);
        self.open = now <= last + self.grace;
        for victim in ProcessId::all(n).filter(|process| beliefs.is_correct_process(*process)) {
            for observer in beliefs.mistaken_about(victim) {
                let since = self.mistakes.get(&(observer, victim));
                let since = since.map_or(self.settled, |(_, last)| last.time);
                if now > since + self.grace {
                    let detail = format!(
                        "{observer} still suspected {victim} wrongly at the end, at {now}, as it had since {since}"
                    );
                    return self.violate(now, detail, Vec::new());
                }
            }
        }
    }

    /// Whether the run ended too early to judge the property.
    pub(crate) fn is_open(&self) -> bool {
        self.open
    }

    /// The first violation, if there is one.
    pub(crate) fn violation(&self) -> Option<&Violation> {
        self.violation.as_ref()
    }

    fn violate(&mut self, time: Time, detail: String, events: Vec<Evidence>) {
        let property = Property::EventualAccuracy;
        self.violation.get_or_insert(Violation { property, time, detail, events });
    }
}
