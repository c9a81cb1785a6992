//! Precision: clocks that were set in the same round differ by no more than promised.
//!
//! The clocks of one round of a master are compared in pairs, each at the moment it was set. Their offsets from the
//! true time may differ by the sum of the errors that both claim, plus the maximum drift of the agreed time between the
//! two moments. Cost: O(k) for the kth clock of a round.

use quorate_core::clock_sync::Standard;
use quorate_core::{Drift, ProcessId, Property, SortedMap, Span};

use super::clock_error::Setting;
use super::violation::{Evidence, Violation};

#[derive(Clone, Debug)]
pub(crate) struct ClockPrecision {
    drift: Drift,
    rounds: SortedMap<Standard, Vec<Setting>>,
    worst: Option<(Span, Span)>,
    violation: Option<Violation>,
}

impl ClockPrecision {
    pub(crate) fn new(drift: Drift) -> Self {
        Self { drift, rounds: SortedMap::new(), worst: None, violation: None }
    }

    /// A clock is set in a round.
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

    /// The settings of each round.
    pub(crate) fn rounds(&self) -> impl Iterator<Item = (&Standard, &[Setting])> {
        self.rounds.iter().map(|(standard, set)| (standard, set.as_slice()))
    }

    /// Processes that were master in any round, in ascending order.
    pub(crate) fn masters(&self) -> Vec<ProcessId> {
        let master = |standard: &Standard| match standard {
            Standard::Agreed { master, .. } => Some(*master),
            Standard::TrueTime => None,
        };
        let mut masters: Vec<ProcessId> = self.rounds.keys().filter_map(master).collect();
        masters.dedup();
        masters
    }

    /// Maximum distance of two clocks of one round, and the distance that was allowed for that pair.
    pub(crate) fn worst(&self) -> Option<(Span, Span)> {
        self.worst
    }

    /// The first violation, if there is one.
    pub(crate) fn violation(&self) -> Option<&Violation> {
        self.violation.as_ref()
    }
}
