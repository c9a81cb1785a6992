//! The terms of a cluster: bounds of times-to-live, and the drift of clocks that nodes and clients assume.
//!
//! They are part of the configuration, and change with it. Sessions keep the times-to-live that they have, so voters accept
//! what any configuration so far has permitted, and abstain for the longest of these times.

use quorate_algorithms::mutex::leased_quorum::Terms;
use quorate_core::{Drift, Span};
use serde::{Deserialize, Serialize};

use crate::members::Configuration;

/// Bounds of the maximum time-to-live, in milliseconds.
const TTL_MOST: std::ops::RangeInclusive<u32> = 100..=3_600_000;

/// Smallest time-to-live, in milliseconds.
const TTL_SHORTEST: u32 = 10;

/// Greatest drift, in parts per million.
const DRIFT_MOST: u32 = 100_000;

/// The terms of a configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ClusterTerms {
    /// Minimum time-to-live of a new session, in milliseconds.
    pub ttl_least_ms: u32,
    /// Maximum time-to-live of a new session, in milliseconds.
    pub ttl_most_ms: u32,
    /// Maximum rate by which a clock gains or loses, in parts per million.
    pub drift_ppm: u32,
    /// The least minimum that the cluster has had.
    shortest_ms: u32,
    /// The greatest maximum that the cluster has had.
    longest_ms: u32,
}

impl ClusterTerms {
    /// The terms of a new cluster.
    pub const fn new(ttl_least_ms: u32, ttl_most_ms: u32, drift_ppm: u32) -> Self {
        let (shortest_ms, longest_ms) = (ttl_least_ms, ttl_most_ms);
        Self { ttl_least_ms, ttl_most_ms, drift_ppm, shortest_ms, longest_ms }
    }

    /// Checks what a peer, a node or a file contains. `Err` contains the problem.
    pub fn validate(&self) -> Result<(), String> {
        let Self { ttl_least_ms, ttl_most_ms, drift_ppm, shortest_ms, longest_ms } = *self;
        if !TTL_MOST.contains(&ttl_most_ms) {
            let (least, most) = (TTL_MOST.start(), TTL_MOST.end());
            return Err(format!("ttl_most_ms must be from {least} to {most}"));
        }
        if !(TTL_SHORTEST..=ttl_most_ms).contains(&ttl_least_ms) {
            return Err(format!("ttl_least_ms must be from {TTL_SHORTEST} to ttl_most_ms"));
        }
        if drift_ppm > DRIFT_MOST {
            return Err(format!("drift_ppm must be at most {DRIFT_MOST}, which is 10 %"));
        }
        let range = TTL_SHORTEST..=*TTL_MOST.end();
        let covers = shortest_ms <= ttl_least_ms && ttl_most_ms <= longest_ms;
        match covers && range.contains(&shortest_ms) && range.contains(&longest_ms) {
            true => Ok(()),
            false => Err("the terms do not cover earlier ones".to_owned()),
        }
    }

    /// The terms that voters accept: the times-to-live that any configuration so far has permitted.
    pub fn accepted(&self) -> Terms {
        self.between(self.shortest_ms, self.longest_ms)
    }

    fn between(&self, least_ms: u32, most_ms: u32) -> Terms {
        Terms {
            ttl_least: Span::from_millis(least_ms.into()),
            ttl_most: Span::from_millis(most_ms.into()),
            drift: Drift(i64::from(self.drift_ppm) * (Drift::ONE / 1_000_000)),
        }
    }
}

impl Default for ClusterTerms {
    fn default() -> Self {
        Self::new(100, 60_000, 500)
    }
}

/// The terms of new sessions in a configuration. During a change the bounds are those after it, and the drift is the
/// greater one.
pub fn session_terms(configuration: &Configuration) -> Terms {
    let target = configuration.target().terms;
    let bounds = target.between(target.ttl_least_ms, target.ttl_most_ms);
    Terms { drift: configuration.terms().drift, ..bounds }
}

/// A change of the terms that an operator wants.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TermsChange {
    /// The minimum time-to-live of new sessions from then on, in milliseconds, if it changes.
    pub ttl_least_ms: Option<u32>,
    /// The maximum time-to-live of new sessions from then on, in milliseconds, if it changes.
    pub ttl_most_ms: Option<u32>,
    /// The drift from then on, in parts per million, if it changes.
    pub drift_ppm: Option<u32>,
}

impl TermsChange {
    /// The terms after this change.
    pub fn apply(&self, terms: ClusterTerms) -> ClusterTerms {
        let ttl_least_ms = self.ttl_least_ms.unwrap_or(terms.ttl_least_ms);
        let ttl_most_ms = self.ttl_most_ms.unwrap_or(terms.ttl_most_ms);
        ClusterTerms {
            ttl_least_ms,
            ttl_most_ms,
            drift_ppm: self.drift_ppm.unwrap_or(terms.drift_ppm),
            shortest_ms: terms.shortest_ms.min(ttl_least_ms),
            longest_ms: terms.longest_ms.max(ttl_most_ms),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::members::{MemberChange, Members};

    #[test]
    fn voters_accept_what_was_permitted_once() {
        let first = ClusterTerms::new(100, 60_000, 500);
        let change = |ttl_least_ms, ttl_most_ms, drift_ppm| TermsChange {
            ttl_least_ms,
            ttl_most_ms,
            drift_ppm,
        };
        let shorter = change(Some(1_000), Some(30_000), None).apply(first);
        assert_eq!((shorter.ttl_least_ms, shorter.ttl_most_ms), (1_000, 30_000));
        assert_eq!(shorter.accepted(), first.accepted());
        let wider = change(Some(50), Some(90_000), Some(1_000)).apply(shorter);
        assert_eq!(wider.accepted(), ClusterTerms::new(50, 90_000, 1_000).accepted());
        assert_eq!(change(None, None, None).apply(wider), wider);
    }

    #[test]
    fn new_sessions_have_the_terms_after_the_change_and_both_drifts() {
        let terms = |least, most, drift| ClusterTerms::new(least, most, drift);
        let with = |terms| Members::numbered(["a:1".to_owned()], "majority").with_terms(terms);
        let mut joint = Configuration::first(with(terms(100, 60_000, 900)));
        joint.next = Some(with(terms(1_000, 30_000, 500)));
        let expected = terms(1_000, 30_000, 900).accepted();
        assert_eq!(session_terms(&joint), expected);
    }

    #[test]
    fn impossible_terms_are_refused_with_the_reason() {
        let refused = |change: TermsChange| {
            let members = Members::numbered(["a:1".to_owned()], "majority");
            let change = MemberChange { terms: change, ..MemberChange::default() };
            change.apply(&members).expect_err("it is impossible")
        };
        let none = TermsChange::default();
        for ttl in [0, 99, 3_600_001] {
            let why = refused(TermsChange { ttl_most_ms: Some(ttl), ..none });
            assert!(why.contains("ttl_most_ms must be from 100 to 3600000"), "{why}");
        }
        for ttl in [0, 9, 60_001] {
            let why = refused(TermsChange { ttl_least_ms: Some(ttl), ..none });
            assert!(why.contains("ttl_least_ms must be from 10"), "{why}");
        }
        assert!(refused(TermsChange { drift_ppm: Some(100_001), ..none }).contains("at most"));
        // From a file or a peer.
        let terms = ClusterTerms::new(100, 60_000, 500);
        for wrong in [
            ClusterTerms { shortest_ms: 101, ..terms },
            ClusterTerms { longest_ms: 59_999, ..terms },
            ClusterTerms { shortest_ms: 9, ..terms },
            ClusterTerms { longest_ms: u32::MAX, ..terms },
        ] {
            assert!(wrong.validate().is_err(), "{wrong:?}");
        }
        assert_eq!(terms.validate(), Ok(()));
    }
}
