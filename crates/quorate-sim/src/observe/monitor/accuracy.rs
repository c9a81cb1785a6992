//! Strong accuracy: no process is suspected before it crashes.
//!
//! A suspicion may arrive after the crashed process has already recovered. It is late, not wrong, as long as it arrives
//! within the latency of the detector. Cost: O(1) for each belief.

use quorate_core::{Belief, ProcessId, Property, SortedMap, Span, Time};

use super::violation::{Evidence, Violation};
use crate::engine::observer::Moment;

/// Monitor of strong accuracy.
#[derive(Clone, Debug)]
pub(crate) struct Accuracy {
    grace: Span,
    /// Processes that have crashed, with the time of their recovery if they have recovered.
    crashed: SortedMap<ProcessId, Option<Time>>,
    violation: Option<Violation>,
}

impl Accuracy {
    /// Creates a monitor that tolerates suspicions up to `grace` after a recovery.
    pub(crate) fn new(grace: Span) -> Self {
        Self { grace, crashed: SortedMap::new(), violation: None }
    }

    /// A process has crashed.
    pub(crate) fn crashed(&mut self, process: ProcessId) {
        self.crashed.insert(process, None);
    }

    /// A process has recovered.
    pub(crate) fn recovered(&mut self, process: ProcessId, time: Time) {
        self.crashed.insert(process, Some(time));
    }

    /// A process has changed a belief.
    pub(crate) fn belief_changed(&mut self, at: Moment, belief: Belief) {
        let Belief::Crashed(victim) = belief else { return };
        let why = match self.crashed.get(&victim) {
            None => "which had not crashed".to_owned(),
            Some(Some(back)) if at.time - *back > self.grace => {
                format!("which had come back at {back}")
            }
            Some(_) => return,
        };
        self.violation.get_or_insert_with(|| Violation {
            property: Property::Accuracy,
            time: at.time,
            detail: format!("{} suspected {victim} at {}, {why}", at.process, at.time),
            events: vec![Evidence::new(at, format!("suspected {victim}"))],
        });
    }

    /// The first violation, if there is one.
    pub(crate) fn violation(&self) -> Option<&Violation> {
        self.violation.as_ref()
    }
}
