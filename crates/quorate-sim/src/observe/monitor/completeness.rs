//! Strong completeness: every crashed process is eventually suspected by every live process.
//!
//! Judged at the end of the run. If a process crashed shortly before the end, it may not have been noticed yet. If an
//! observer recovered shortly before the end, it may not have noticed yet. The property is then open. Cost: O(n) for
//! each crash still standing at the end.

use quorate_core::{ProcessSet, Property, Span, Time};

use super::violation::{Evidence, Violation, name_all};
use crate::engine::observer::Moment;
use crate::observe::beliefs::Beliefs;

#[derive(Clone, Debug, Default)]
pub(crate) struct Completeness {
    /// Time of the last crash or recovery of each process.
    transitions: Vec<Moment>,
    open: bool,
    violation: Option<Violation>,
}

impl Completeness {
    /// A process has crashed or recovered.
    pub(crate) fn transition(&mut self, at: Moment) {
        self.transitions.retain(|transition| transition.process != at.process);
        self.transitions.push(at);
    }

    /// Judges the end of a run in which a crash is to be noticed within `grace`.
    pub(crate) fn end(&mut self, now: Time, grace: Span, beliefs: &Beliefs) {
        let settled = |transition: &&Moment| now - transition.time > grace;
        let unsettled: ProcessSet = self
            .transitions
            .iter()
            .filter(|transition| !settled(transition))
            .map(|transition| transition.process)
            .collect();
        for crash in
            self.transitions.iter().filter(|transition| beliefs.is_down(transition.process))
        {
            let unaware: ProcessSet = beliefs.mistaken_about(crash.process).collect();
            if unaware.is_empty() {
                continue;
            }
            let late = &unaware - &unsettled;
            if late.is_empty() || unsettled.contains(crash.process) {
                self.open = true;
                continue;
            }
            self.violation.get_or_insert_with(|| Violation {
                property: Property::Completeness,
                time: now,
                detail: format!(
                    "{} did not suspect {} at the end, at {now}, though it had crashed at {}",
                    name_all(&late),
                    crash.process,
                    crash.time
                ),
                events: vec![Evidence::new(*crash, "crashed")],
            });
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
}
