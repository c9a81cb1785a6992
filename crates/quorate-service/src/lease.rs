//! Leases: sessions of clients that speak etcd's API.
//!
//! A session of ours is named by a secret key. A lease has a number that anybody may know, and is used through any node.
//! Where clients are named, each has leases of its own: nobody can name another's.
//!
//! Clients of etcd count a time-to-live from when an answer *arrives*. So they are told less than what voters keep: the
//! validity that a client of ours would count from when it sent its call, less an allowance for the time that an answer
//! takes, rounded down to seconds. An answer that takes longer than the allowance is protected by fencing tokens only.

use quorate_algorithms::mutex::leased_quorum::Terms;
use quorate_core::{Drift, Span};
use quorate_protocol::Name;
use sha2::{Digest, Sha256};

/// Allowance for the time that an answer takes.
const ANSWER: Span = Span::from_millis(500);

/// A lock is granted with votes that are known to be good since this long ago at most. Meanwhile another node may have told
/// the client that its session lives.
pub(crate) const GRANT: Span = Span::from_millis(250);

const SECOND: u64 = 1_000_000_000;

/// A lease.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct LeaseId {
    /// The client that it belongs to; empty where clients are not named.
    pub(crate) owner: String,
    /// Its number.
    pub(crate) id: i64,
}

impl LeaseId {
    /// A positive number that a node chooses.
    pub(crate) fn chosen(random: u64) -> i64 {
        ((random >> 1) as i64).max(1)
    }

    /// Identifier of the session: the first 16 bytes of a hash of owner and number.
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

/// The time-to-live that clients are told of a session with this one at the voters, in whole seconds.
pub(crate) fn client_ttl(ttl: Span, terms: Terms) -> Span {
    let client_ttl = terms.validity(ttl).0.saturating_sub(ANSWER.0 + GRANT.0);
    Span(client_ttl / SECOND * SECOND)
}

/// The time-to-live at the voters with which clients can be told this one, within the bounds of the cluster.
pub(crate) fn voter_ttl(client_ttl: Span, terms: Terms) -> Span {
    let (one, drift) = (Drift::ONE as u128, u128::from(terms.drift.0.unsigned_abs()));
    let validity = u128::from(client_ttl.0) + u128::from(ANSWER.0 + GRANT.0) + 2;
    let ttl = validity * (one + drift) / one.saturating_sub(drift).max(1) + 2;
    // Less than a second could not be told.
    let least = Span(2 * SECOND).max(terms.ttl_least);
    Span(u64::try_from(ttl).unwrap_or(u64::MAX)).clamp(least.min(terms.ttl_most), terms.ttl_most)
}

/// A call for a lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum LeaseCall {
    /// Opens it.
    Grant {
        /// Time-to-live as the client asks for it.
        ttl_ms: u32,
        /// Whether a node has chosen its number, so that it is new.
        fresh: bool,
        /// The client, for others to see.
        client_location: String,
    },
    /// Ends it.
    Revoke,
    /// Keeps it alive.
    KeepAlive,
    /// Asks for its lifetime, which does not keep it alive.
    TimeToLive,
    /// Asks for a lock. However often it is asked for, it is held once.
    Acquire {
        /// The lock.
        name: Name,
        /// Tells calls apart.
        request: u64,
        /// What a leader proclaims.
        value: String,
    },
    /// Asks for a lock, as [`LeaseCall::Acquire`]; answered as soon as it is known whether the lock is free.
    Enqueue {
        /// The lock.
        name: Name,
        /// Tells calls apart.
        request: u64,
        /// What a leader proclaims.
        value: String,
    },
    /// Releases a lock, or no longer waits for it.
    Release {
        /// The lock.
        name: Name,
        /// Only if this is its token.
        token: Option<u64>,
    },
    /// Changes what a leader proclaims.
    Proclaim {
        /// The election.
        name: Name,
        /// Only if this is its token.
        token: u64,
        /// The value.
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
        // At the upper bound clients are told less than they asked for.
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
