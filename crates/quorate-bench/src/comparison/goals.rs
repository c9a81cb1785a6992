//! Performance goals of quorate, and whether they are met.

use serde::Serialize;

use super::{Figure, ServiceComparison, ServiceRow};
use crate::format::{number, times};
use crate::peers::Peer;

/// One performance goal and its result.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Goal {
    /// Name of the compared quantity.
    pub what: String,
    /// System or baseline that it is compared with.
    pub against: String,
    /// Value that the goal requires.
    pub wanted: f64,
    /// Measured value; `None` if it was not measured.
    pub measured: Option<f64>,
    /// Whether the goal is met; `None` if it was not measured.
    pub met: Option<bool>,
    /// Unit of `wanted` and `measured`.
    pub unit: Unit,
}

/// Unit of a goal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unit {
    /// Factor by which quorate is better; the goal is a minimum.
    Times,
    /// Number of raw round trips; the goal is a maximum.
    RoundTrips,
}

impl Unit {
    pub(super) fn format(self, value: f64) -> String {
        match self {
            Self::Times => times(value),
            Self::RoundTrips => number(value),
        }
    }

    pub(super) fn wanted(self, value: f64) -> String {
        match self {
            Self::Times if value > 1.0 => format!("{} or more", times(value)),
            Self::Times => "ahead".to_owned(),
            Self::RoundTrips => format!("{value:.0} or fewer"),
        }
    }

    fn meets(self, value: f64, wanted: f64) -> bool {
        match self {
            Self::Times if wanted > 1.0 => value >= wanted,
            Self::Times => value > wanted,
            Self::RoundTrips => value <= wanted,
        }
    }
}

/// Names of the compared quantities.
pub(super) const ALONE: &str = "an uncontended lock";
pub(super) const HAND_OFFS: &str = "hand-offs";
const APART: &str = "independent locks";

/// Maximum number of raw round trips of a lock at the median.
const ROUND_TRIPS: f64 = 2.0;

/// Required factors of the three compared quantities.
fn wanted(peer: Peer) -> Option<[(Figure, &'static str, f64); 3]> {
    let wanted = |alone, others| {
        Some([
            (Figure::AloneHalf, ALONE, alone),
            (Figure::HandOffs, HAND_OFFS, others),
            (Figure::Apart, APART, others),
        ])
    };
    match peer {
        Peer::Etcd | Peer::Zookeeper => wanted(5.0, 10.0),
        Peer::Redlock => wanted(1.0, 1.0),
        // It has no tolerance of failures, no queue and no tokens, so there is no goal.
        Peer::Redis => None,
    }
}

impl ServiceComparison {
    /// Goals that apply to the measured services.
    pub fn goals(&self) -> Vec<Goal> {
        let rows = self.rows();
        let Some((ours, others)) = rows.split_first().filter(|(first, _)| first.peer.is_none())
        else {
            return Vec::new();
        };
        let trips = Figure::AloneHalf.of(ours).map(|half| half / self.raw());
        let first = goal(ALONE, "raw round trips", Unit::RoundTrips, ROUND_TRIPS, trips);
        let against = |row: &ServiceRow<'_>| -> Vec<Goal> {
            let wanted = row.peer.and_then(wanted).filter(|_| row.absent.is_none());
            let each = wanted.into_iter().flatten();
            each.map(|(figure, what, wanted)| {
                goal(what, &row.title(), Unit::Times, wanted, figure.ratio(ours, row))
            })
            .collect()
        };
        std::iter::once(first).chain(others.iter().flat_map(against)).collect()
    }
}

fn goal(what: &str, against: &str, unit: Unit, wanted: f64, measured: Option<f64>) -> Goal {
    let met = measured.map(|measured| unit.meets(measured, wanted));
    Goal { what: what.to_owned(), against: against.to_owned(), wanted, measured, met, unit }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ahead_is_more_than_equal() {
        assert!(!Unit::Times.meets(1.0, 1.0) && Unit::Times.meets(1.01, 1.0));
        assert!(Unit::Times.meets(5.0, 5.0) && !Unit::Times.meets(4.99, 5.0));
        assert!(Unit::RoundTrips.meets(5.0, 5.0) && !Unit::RoundTrips.meets(5.1, 5.0));
    }
}
