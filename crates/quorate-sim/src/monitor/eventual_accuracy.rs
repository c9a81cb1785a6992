//! Eventual strong accuracy: from some moment on nobody is suspected who has not crashed.
//!
//! Nobody can say when that moment is: a rare delay may cause a last mistake arbitrarily late. So a finite run is judged
//! by how often and how long, from when everything has settled: after the last fault and, where bounds hold from a time
//! on (`eventually:T`), after that time. Where time has no bound nothing settles, and the last fault stands in.
//!
//! - It is violated if one process errs about another more than sixteen times from then on (timeouts that double with
//!   each mistake have grown by a factor of 65,536 until then), or if a wrong suspicion still stands at the end that
//!   is older than the grace.
//! - It is open if the run was stopped earlier than a grace after the last mistake.
//! - It holds if everybody has been right for long enough.
//!
//! Cost: O(log m) for each suspicion, m being the pairs that erred, and O(n) for each process at the end.

use std::collections::BTreeMap;

use quorate_core::{Belief, ProcessId, Property, Span, Time};

use super::{Evidence, Violation};
use crate::beliefs::Beliefs;
use crate::observer::Moment;

/// So often anybody may err about the same process.
const MISTAKES_MOST: u32 = 16;

/// Watches eventual accuracy.
#[derive(Clone, Debug)]
pub(crate) struct EventualAccuracy {
    settled: Time,
    grace: Span,
    /// How often each pair of observer and victim erred, and when last.
    mistakes: BTreeMap<(ProcessId, ProcessId), (u32, Moment)>,
    open: bool,
    violation: Option<Violation>,
}

impl EventualAccuracy {
    /// Everything has settled by that time, and no mistake may last longer than the grace.
    pub(crate) fn new(settled: Time, grace: Span) -> Self {
        Self { settled, grace, mistakes: BTreeMap::new(), open: false, violation: None }
    }

    /// A process has changed its mind about another, which is up or down.
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

    /// Judges the end of a run; `content` if everybody has been right for a while.
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
