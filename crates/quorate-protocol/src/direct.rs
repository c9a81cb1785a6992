//! Parameters of a cluster for direct clients. A direct client runs its own candidate and connects to the voters itself.
//!
//! ```text
//!   client                                   each node
//!     | - Attach (session key) ----------------> |   binds the connection to the session
//!     | <- Attached (candidate, voters, terms) - |
//!     | - ToVoter (messages of the candidate) -> |   only of this session and this candidate
//!     | <- FromVoter (messages of the voter) --- |
//!     | <- Leaving ----------------------------- |   the candidate avoids this voter
//! ```

use quorate_algorithms::mutex::leased_quorum::{CandidateId, Electorate, Terms};
use quorate_core::{Drift, Span};
use serde::{Deserialize, Serialize};

use crate::members::{Configuration, Members};

/// Response to an attach call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attached {
    /// Number of the node that answers, which is also the number of its voter.
    pub node: u32,
    /// Candidate that the client uses with all nodes. It is unique in the cluster.
    pub candidate: u64,
    /// The voters, and where clients reach them.
    pub members: MembersKnown,
    /// Minimum time-to-live of a session, in milliseconds.
    pub ttl_least_ms: u32,
    /// Maximum time-to-live of a session, in milliseconds.
    pub ttl_most_ms: u32,
    /// Maximum rate by which a clock gains or loses, in parts per million.
    pub drift_ppm: u32,
}

/// The voters of a configuration, as clients need them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MembersKnown {
    /// The newest configuration that the node knows.
    pub configuration: Configuration,
    /// Client addresses of its nodes, as far as they are known.
    pub clients: Vec<(u32, String)>,
}

impl MembersKnown {
    /// Returns the voters and their quorum system; `None` if this build cannot use them.
    pub fn electorate(&self) -> Option<Electorate> {
        let Configuration { before, voters, next, .. } = &self.configuration;
        let all = [before.as_ref(), Some(voters), next.as_ref()];
        all.into_iter().flatten().try_for_each(Members::validate).ok()?;
        Some(self.configuration.electorate())
    }
}

impl Attached {
    /// Returns the identifier of the client's candidate.
    pub fn candidate(&self) -> CandidateId {
        CandidateId(self.candidate)
    }

    /// Returns the voters and their quorum system; `None` if this build cannot use them.
    pub fn electorate(&self) -> Option<Electorate> {
        self.members.electorate()
    }

    /// Returns the terms of the cluster; `None` if they are inconsistent.
    pub fn terms(&self) -> Option<Terms> {
        let sound = (1..=self.ttl_most_ms).contains(&self.ttl_least_ms);
        if !sound || self.drift_ppm > 100_000 {
            return None;
        }
        Some(Terms {
            ttl_least: Span::from_millis(self.ttl_least_ms.into()),
            ttl_most: Span::from_millis(self.ttl_most_ms.into()),
            drift: Drift(i64::from(self.drift_ppm) * (Drift::ONE / 1_000_000)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SessionKey;

    fn members(n: usize, quorums: &str) -> MembersKnown {
        let members = Members::numbered(vec!["a:1".to_owned(); n], quorums);
        MembersKnown { configuration: Configuration::first(members), clients: Vec::new() }
    }

    #[test]
    fn what_a_node_tells_is_checked() {
        let attached = Attached {
            node: 0,
            candidate: 7,
            members: members(3, "majority"),
            ttl_least_ms: 100,
            ttl_most_ms: 60_000,
            drift_ppm: 500,
        };
        assert_eq!(attached.electorate().map(|electorate| electorate.len()), Some(3));
        assert!(attached.terms().is_some_and(|terms| terms.permits(Span::from_millis(60_000))));
        let with = |members| Attached { members, ..attached.clone() };
        assert_eq!(with(members(65, "majority")).electorate(), None);
        assert_eq!(with(members(0, "majority")).electorate(), None);
        assert_eq!(with(members(3, "coin")).electorate(), None);
        assert_eq!(Attached { drift_ppm: u32::MAX, ..attached.clone() }.terms(), None);
        assert_eq!(Attached { ttl_least_ms: 0, ..attached }.terms(), None);
    }

    #[test]
    fn an_identifier_does_not_tell_the_key() {
        let key = SessionKey(0x1234);
        assert_eq!(key.id(), SessionKey(0x1234).id());
        assert_ne!(key.id(), key.0);
        assert_ne!(key.id(), SessionKey(0x1235).id());
    }
}
