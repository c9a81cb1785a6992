//! Lease arithmetic: how long a voter keeps a vote, and how long a client may rely on it.

use quorate_core::{Drift, Span};

/// Terms on which all voters and clients of a cluster have agreed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Terms {
    /// Minimum time-to-live of a session.
    pub ttl_least: Span,
    /// Maximum time-to-live of a session. A voter that has forgotten its votes abstains for at least this long.
    pub ttl_most: Span,
    /// Maximum drift of any clock, in either direction.
    pub drift: Drift,
}

impl Terms {
    /// Terms under which every session has the same time-to-live.
    pub const fn fixed(ttl: Span, drift: Drift) -> Self {
        Self { ttl_least: ttl, ttl_most: ttl, drift }
    }

    /// Terms that permit what either of both permits. A client that follows them obeys both.
    #[must_use]
    pub fn joint(&self, other: &Self) -> Self {
        Self {
            ttl_least: self.ttl_least.min(other.ttl_least),
            ttl_most: self.ttl_most.max(other.ttl_most),
            drift: Drift(self.drift.0.abs().max(other.drift.0.abs())),
        }
    }

    /// The nearest permitted time-to-live.
    pub fn clamp(&self, ttl: Span) -> Span {
        ttl.clamp(self.ttl_least, self.ttl_most)
    }

    /// Returns `true` if a session may have this time-to-live.
    pub fn permits(&self, ttl: Span) -> bool {
        self.clamp(ttl) == ttl
    }

    /// Validity of a vote by the client's clock, counted from when the client sent the beat that the voter echoes: `ttl
    /// (1 - r) / (1 + r)`, less one tick. It ends before the voter's ttl does, even if the client's clock is as slow
    /// and the voter's clock as fast as the terms permit.
    pub fn validity(&self, ttl: Span) -> Span {
        let (slow, fast) = self.rates();
        Span(((u128::from(ttl.0) * slow / fast) as u64).saturating_sub(1))
    }

    /// Time for which a voter that has forgotten its votes abstains. After it no client relies on any of them.
    pub fn abstention(&self) -> Span {
        let (slow, fast) = self.rates();
        Span((u128::from(self.ttl_most.0) * fast).div_ceil(slow.max(1)) as u64 + 1)
    }

    /// Interval at which a client with this time-to-live sends beats.
    pub const fn beat(ttl: Span) -> Span {
        Span(ttl.0 / 3)
    }

    fn rates(&self) -> (u128, u128) {
        let (one, size) = (Drift::ONE as u128, self.drift.0.unsigned_abs().into());
        (one.saturating_sub(size), one + size)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_stops_before_its_voters_do() {
        let ttl = Span(1_000_000);
        let terms = Terms::fixed(ttl, Drift(Drift::ONE / 100));
        // In true time: the slowest client clock against the fastest voter clock.
        let (relies, keeps) = (terms.validity(ttl).0 as f64 / 0.99, ttl.0 as f64 / 1.01);
        assert!(relies < keeps && relies > keeps * 0.999, "{relies} {keeps}");
        assert!(terms.abstention().0 as f64 / 1.01 >= ttl.0 as f64 / 0.99);
        let exact = Terms::fixed(ttl, Drift::NONE);
        assert_eq!((exact.validity(ttl), exact.abstention()), (Span(999_999), Span(1_000_001)));
    }

    #[test]
    fn joint_terms_permit_more_and_rely_on_less() {
        let terms = |least, most, drift| Terms {
            ttl_least: Span(least),
            ttl_most: Span(most),
            drift: Drift(drift),
        };
        let joint = terms(10, 20, -Drift::ONE / 100).joint(&terms(5, 15, Drift::ONE / 1_000));
        assert_eq!(joint, terms(5, 20, Drift::ONE / 100));
    }

    #[test]
    fn a_ttl_within_the_bounds_is_permitted() {
        let terms = Terms { ttl_least: Span(10), ttl_most: Span(20), drift: Drift::NONE };
        let permitted = [9, 10, 20, 21].map(|ttl| terms.permits(Span(ttl)));
        assert_eq!(permitted, [false, true, true, false]);
        assert_eq!(Terms::beat(Span(9)), Span(3));
    }
}
