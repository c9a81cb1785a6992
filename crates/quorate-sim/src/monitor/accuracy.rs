//! Strong accuracy: nobody is suspected who has not crashed.
//!
//! News of a crash may arrive after its victim has come back. That is late, not wrong, unless it comes later than a
//! detector takes. Cost: O(1) for each belief.

use std::collections::BTreeMap;

use quorate_core::{Belief, ProcessId, Property, Span, Time};

use super::{Evidence, Violation};
use crate::observer::Moment;

/// Watches accuracy.
#[derive(Clone, Debug)]
pub(crate) struct Accuracy {
    grace: Span,
    /// Who has crashed at some time, and when it came back if it did.
    crashed: BTreeMap<ProcessId, Option<Time>>,
    violation: Option<Violation>,
}

impl Accuracy {
    /// News that is older than `grace` is wrong.
    pub(crate) fn new(grace: Span) -> Self {
        Self { grace, crashed: BTreeMap::new(), violation: None }
    }

    /// A process has crashed.
    pub(crate) fn crashed(&mut self, process: ProcessId) {
        self.crashed.insert(process, None);
    }

    /// A process has come back.
    pub(crate) fn recovered(&mut self, process: ProcessId, time: Time) {
        self.crashed.insert(process, Some(time));
    }

    /// A process has changed its mind.
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

    /// The first violation.
    pub(crate) fn violation(&self) -> Option<&Violation> {
        self.violation.as_ref()
    }
}
