//! Leases: sessions of clients that speak etcd's API.
//!
//! A native session is identified by a secret key. A lease has a number that is not secret, and can be used through any
//! node. If the configuration names clients, each client has its own leases and cannot name those of another client.
//!
//! Clients of etcd count a time-to-live from when an answer *arrives*. So they receive a shorter time-to-live than the
//! voters keep: the validity that a native client would count from when it sent its call, less the maximum age of a grant
//! and an allowance for the time that an answer takes, rounded down to seconds. An answer that takes longer than the
//! allowance is protected by fencing tokens only.

use quorate_algorithms::mutex::leased_quorum::Terms;
use quorate_core::{Drift, Span};
use quorate_protocol::Name;
use sha2::{Digest, Sha256};

/// Allowance for the time that an answer takes.
const ANSWER: Span = Span::from_millis(500);

/// Maximum age of the beat for which the votes of a grant are known to be good. Since that beat, another node may have
/// answered the client that its session is alive.
pub(crate) const GRANT: Span = Span::from_millis(250);

const SECOND: u64 = 1_000_000_000;

/// Identifier of a lease.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct LeaseId {
    /// The client that owns the lease; empty if the configuration names no clients.
    pub(crate) owner: String,
    /// Number of the lease, as clients of etcd's API know it.
    pub(crate) id: i64,
}

impl LeaseId {
    /// Returns a positive number for a lease, chosen by a node.
    pub(crate) fn chosen(random: u64) -> i64 {
        ((random >> 1) as i64).max(1)
    }

    /// Returns the identifier of the session: the first 16 bytes of a hash of owner and number.
    pub(crate) fn session(&self) -> u128 {
        let mut hash = Sha256::new();
        hash.update(b"lease");
        hash.update((self.owner.len() as u64).to_be_bytes());
        hash.update(self.owner.as_bytes());
        hash.update(self.id.to_be_bytes());
        let hash: [u8; 32] = hash.finalize().into();
        let (id, _) = hash.split_at(16);
        u128::from_be_bytes(id.try_into().expect("a hash is longer"))
    }
}

/// Returns the time-to-live that clients receive for a session with `ttl` at the voters, in whole seconds.
pub(crate) fn client_ttl(ttl: Span, terms: Terms) -> Span {
    let client_ttl = terms.validity(ttl).0.saturating_sub(ANSWER.0 + GRANT.0);
    Span(client_ttl / SECOND * SECOND)
}

/// Returns the time for which a client may rely on a lease that a quorum keeps for `left`, counted from when the answer
/// arrives.
pub(crate) fn remaining(left: Span, terms: Terms) -> Span {
    Span(terms.validity(left).0.saturating_sub(ANSWER.0))
}

/// Returns the time-to-live at the voters that a client needs to receive `client_ttl`, clamped to the
/// bounds of the cluster.
pub(crate) fn voter_ttl(client_ttl: Span, terms: Terms) -> Span {
    let (one, drift) = (Drift::ONE as u128, u128::from(terms.drift.0.unsigned_abs()));
    let validity = u128::from(client_ttl.0) + u128::from(ANSWER.0 + GRANT.0) + 2;
    let ttl = validity * (one + drift) / one.saturating_sub(drift).max(1) + 2;
    // Clients receive whole seconds, so less than one second could not be expressed.
    let least = Span(2 * SECOND).max(terms.ttl_least);
    Span(u64::try_from(ttl).unwrap_or(u64::MAX)).clamp(least.min(terms.ttl_most), terms.ttl_most)
}

/// A call for a lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum LeaseCall {
    /// Opens the lease with a time-to-live.
    Grant {
        /// Time-to-live that the client requests.
        ttl_ms: u32,
        /// Whether a node has chosen the number of the lease, so that it is new.
        fresh: bool,
        /// Description of the client, shown to other users.
        client_location: String,
    },
    /// Ends the lease and releases its locks.
    Revoke,
    /// Keeps the lease alive for another time-to-live.
    KeepAlive,
    /// Asks for the remaining lifetime, without keeping the lease alive.
    TimeToLive,
    /// Requests a lock. A lease holds a lock once, however often it requests it.
    Acquire {
        /// The lock or election to acquire.
        name: Name,
        /// Number of the call. A lease has only one request per lock, so relays ignore it.
        request: u64,
        /// The value that a leader proclaims.
        value: String,
    },
    /// Requests a lock like [`LeaseCall::Acquire`], but is answered as soon as it is known whether the lock is free.
    Enqueue {
        /// The lock or election to acquire.
        name: Name,
        /// Number of the call. A lease has only one request per lock, so relays ignore it.
        request: u64,
        /// The value that a leader proclaims.
        value: String,
    },
    /// Releases a lock, or withdraws the request for it.
    Release {
        /// The lock or election to release.
        name: Name,
        /// The expected token. With another token, the lock is not released.
        token: Option<u64>,
    },
    /// Changes the value that a leader proclaims.
    Proclaim {
        /// The election that the lease leads.
        name: Name,
        /// The expected token. With another token, nothing is changed.
        token: u64,
        /// The value to proclaim from now on.
        value: String,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chosen_number_is_positive() {
        for random in [0, 1, u64::MAX, 0x0123_4567_89ab_cdef] {
            assert!(LeaseId::chosen(random) > 0, "{random}");
        }
    }

    #[test]
    fn clients_are_told_what_they_asked_for_and_voters_keep_more() {
        let terms = Terms {
            ttl_least: Span::from_millis(100),
            ttl_most: Span::from_millis(60_000),
            drift: Drift(Drift::ONE / 2_000),
        };
        for seconds in [2, 5, 30] {
            let asked = Span(seconds * SECOND);
            let kept = voter_ttl(asked, terms);
            assert_eq!(client_ttl(kept, terms), asked);
            assert!(terms.validity(kept) >= asked + ANSWER + GRANT, "{seconds}");
        }
        // At the upper bound clients receive less than they requested.
        let kept = voter_ttl(Span(60 * SECOND), terms);
        assert_eq!((kept, client_ttl(kept, terms)), (terms.ttl_most, Span(59 * SECOND)));
        let short = voter_ttl(Span(0), terms);
        assert!(client_ttl(short, terms) >= Span(SECOND), "{short:?}");
    }

    #[test]
    fn leases_of_different_owners_are_different_sessions() {
        let lease = |owner: &str, id| LeaseId { owner: owner.to_owned(), id }.session();
        assert_eq!(lease("a", 1), lease("a", 1));
        assert_ne!(lease("a", 1), lease("b", 1));
        assert_ne!(lease("a", 1), lease("a", 2));
    }
}
