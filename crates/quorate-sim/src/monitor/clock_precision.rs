//! Precision: clocks that were set together differ by no more than was promised.
//!
//! Those set in one round of a master are compared, each at the moment it was set: by how much they are ahead of the
//! true time may differ by what both say that they may be off the agreed time, and by how far the agreed time can have
//! drifted between the two moments. Cost: O(k) for the kth clock of a round.

use std::collections::BTreeMap;

use quorate_core::clock_sync::Standard;
use quorate_core::{Drift, ProcessId, Property, Span};

use super::clock_error::Setting;
use super::{Evidence, Violation};

/// Watches precision.
#[derive(Clone, Debug)]
pub(crate) struct ClockPrecision {
    drift: Drift,
    rounds: BTreeMap<Standard, Vec<Setting>>,
    worst: Option<(Span, Span)>,
    violation: Option<Violation>,
}

impl ClockPrecision {
    pub(crate) fn new(drift: Drift) -> Self {
        Self { drift, rounds: BTreeMap::new(), worst: None, violation: None }
    }

    /// A clock is set in some round.
    pub(crate) fn set(&mut self, standard: Standard, new: Setting) {
        let together = self.rounds.entry(standard).or_default();
        for other in together.iter() {
            let distance = (new.shown - other.shown).size();
            let between = self.drift.uncertainty(new.at.time - other.at.time);
            let most = new.error + other.error + between;
            if self.worst.is_none_or(|(worst, _)| distance > worst) {
                self.worst = Some((distance, most));
            }
            if distance > most {
                let detail = format!(
                    "the clocks of {} and {}, set together, are {distance} apart, though {most} was the most",
                    other.at.process, new.at.process
                );
                let events = [other.at, new.at].map(|at| Evidence::new(at, "set its clock"));
                self.violation.get_or_insert(Violation {
                    property: Property::ClockPrecision,
                    time: new.at.time,
                    detail,
                    events: events.to_vec(),
                });
            }
        }
        together.push(new);
    }

    /// Who was set in each round, and when.
    pub(crate) fn rounds(&self) -> impl Iterator<Item = (&Standard, &[Setting])> {
        self.rounds.iter().map(|(standard, set)| (standard, set.as_slice()))
    }

    /// Who was master at any time, in the order of numbers.
    pub(crate) fn masters(&self) -> Vec<ProcessId> {
        let master = |standard: &Standard| match standard {
            Standard::Agreed { master, .. } => Some(*master),
            Standard::TrueTime => None,
        };
        let mut masters: Vec<ProcessId> = self.rounds.keys().filter_map(master).collect();
        masters.dedup();
        masters
    }

    /// The furthest that two clocks of one round were apart, and how far they might have been.
    pub(crate) fn worst(&self) -> Option<(Span, Span)> {
        self.worst
    }

    /// The first violation.
    pub(crate) fn violation(&self) -> Option<&Violation> {
        self.violation.as_ref()
    }
}
