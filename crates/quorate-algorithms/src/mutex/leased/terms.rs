//! How long a vote counts, on either side of it.

use quorate_core::{Drift, Span};

/// What all members have agreed on about leases.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Terms {
    /// How long a voter keeps a vote for a member that it does not hear from, by the voter's clock.
    pub lease: Span,
    /// No clock gains or loses more than this.
    pub drift: Drift,
}

impl Terms {
    /// How long a member may rely on a vote, by its own clock, from when it sent what the voter answers: less than the
    /// lease even if its own clock is as slow and the voter's as fast as can be.
    pub fn reliance(self) -> Span {
        let size = self.drift.0.unsigned_abs().into();
        let (slow, fast) = ((Drift::ONE as u128).saturating_sub(size), Drift::ONE as u128 + size);
        Span((u128::from(self.lease.0) * slow / fast) as u64)
    }

    /// How long one that has forgotten its votes waits before it votes again: until nobody relies on any of them. A vote
    /// that it gave just before it went down counts by another clock.
    pub fn abstention(self) -> Span {
        let size = self.drift.0.unsigned_abs().into();
        let (slow, fast) = ((Drift::ONE as u128).saturating_sub(size), Drift::ONE as u128 + size);
        Span((u128::from(self.lease.0) * fast).div_ceil(slow.max(1)) as u64 + 1)
    }

    /// How often a member says that it is alive and asks again for what has not come.
    pub const fn beat(self) -> Span {
        Span(self.lease.0 / 8)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_relies_stops_before_who_lends() {
        let terms = Terms { lease: Span(1_000_000), drift: Drift(Drift::ONE / 100) };
        // The slowest clock that relies, against the fastest that lends, in true time.
        let relies = terms.reliance().0 as f64 / 0.99;
        let lends = terms.lease.0 as f64 / 1.01;
        assert!(relies <= lends && relies > lends * 0.999, "{relies} {lends}");
        assert!(terms.abstention().0 as f64 / 1.01 >= terms.lease.0 as f64 / 0.99);
        let right = Terms { drift: Drift::NONE, ..terms };
        assert_eq!((right.reliance(), right.abstention()), (terms.lease, Span(1_000_001)));
    }
}
