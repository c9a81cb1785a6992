//! Leases: sessions of those who speak etcd's language.
//!
//! A session of ours is known by a secret to its client and its node. A lease has a number that anybody may know, and is
//! used through any node: the node that has it does what is wanted, and others hand on what they are asked. Where clients
//! are named, each has leases of its own: nobody can name another's.

use quorate_protocol::Name;
use serde::{Deserialize, Serialize};

/// Which lease.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct LeaseId {
    /// The client that it belongs to; nothing where nobody has to say who it is.
    pub owner: String,
    /// Its number.
    pub id: i64,
}

/// The bits of a lease's number that tell the node which has chosen it.
const NODE_BITS: u32 = 8;

impl LeaseId {
    /// A number that a node chooses.
    pub(crate) fn chosen(random: u64, node: usize) -> i64 {
        let number = (random >> 1) >> NODE_BITS << NODE_BITS;
        (number | (node as u64 & ((1 << NODE_BITS) - 1))) as i64
    }

    /// The node that would have chosen this number.
    pub(crate) fn chosen_by(&self) -> usize {
        (self.id as u64 & ((1 << NODE_BITS) - 1)) as usize
    }
}

/// What is wanted of a lease.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Leased {
    /// That there is one from now on.
    Grant {
        /// It ends if nothing is heard of it for so long.
        ttl_ms: u32,
        /// Whether its number is new, because a node has chosen it.
        fresh: bool,
        /// Where its client is, for others to see.
        place: String,
    },
    /// That it is over.
    Revoke,
    /// It is alive.
    KeepAlive,
    /// How long it lives.
    Life,
    /// A lock. However often it is asked for, it is held once.
    Acquire {
        /// Which.
        name: Name,
        /// Tells calls apart.
        request: u64,
        /// What a leader proclaims.
        value: String,
    },
    /// A lock, as [`Leased::Acquire`]; the answer comes when it is known whether it has to wait.
    Enqueue {
        /// Which.
        name: Name,
        /// Tells calls apart.
        request: u64,
        /// What a leader proclaims.
        value: String,
    },
    /// Nobody waits for this any more.
    Withdraw {
        /// Which call.
        request: u64,
    },
    /// All it has and wants of this name is free, or not wanted any more.
    Leave {
        /// Which.
        name: Name,
        /// Only if this is its token.
        token: Option<u64>,
    },
    /// A leader proclaims something else.
    Proclaim {
        /// Where.
        name: Name,
        /// Only if this is its token.
        token: u64,
        /// What.
        value: String,
    },
}

impl Leased {
    /// Whether it may take as long as others have what is wanted.
    pub(crate) fn waits(&self) -> bool {
        matches!(self, Self::Acquire { .. } | Self::Enqueue { .. })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chosen_number_is_positive_and_tells_by_whom() {
        for random in [0, 1, u64::MAX, 0x0123_4567_89ab_cdef] {
            let id = LeaseId::chosen(random, 63);
            assert!(id > 0, "{id}");
            assert_eq!(LeaseId { owner: String::new(), id }.chosen_by(), 63);
        }
    }
}
