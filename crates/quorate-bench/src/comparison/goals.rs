//! The goals that quorate has set itself, and whether they are met.

use serde::Serialize;

use super::{Figure, ServiceComparison, ServiceRow};
use crate::format::{number, times};
use crate::peers::Peer;

/// A goal.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Goal {
    /// What is compared.
    pub what: String,
    /// With what.
    pub against: String,
    /// How much is wanted.
    pub wanted: f64,
    /// How much there is, if it was measured.
    pub measured: Option<f64>,
    /// Whether that is enough, if it was measured.
    pub met: Option<bool>,
    /// What the two count.
    pub unit: Unit,
}

/// What a goal counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unit {
    /// How many times as good, at least.
    Times,
    /// Raw round trips, at most.
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

/// What goals are about.
pub(super) const ALONE: &str = "a lock that nobody else wants";
pub(super) const HAND_OFFS: &str = "hand-offs";
const APART: &str = "independent locks";

/// Raw round trips that a lock may take at the median.
const ROUND_TRIPS: f64 = 5.0;

/// How many times as good it is to be in each of the three figures that goals are about.
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
        // It has neither nodes that may fail, nor a queue, nor tokens.
        Peer::Redis => None,
    }
}

impl ServiceComparison {
    /// The goals that are about what was asked for.
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
