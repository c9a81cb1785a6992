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
use serde::{Deserialize, Serialize};

use crate::members::{Configuration, Members};
use crate::terms::session_terms;

/// Response to an attach call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attached {
    /// Number of the node that answers, which is also the number of its voter.
    pub node: u32,
    /// Candidate that the client uses with all nodes. It is unique in the cluster.
    pub candidate: u64,
    /// The voters, where clients reach them, and the terms.
    pub members: MembersKnown,
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

    /// Returns the terms of new sessions.
    pub fn terms(&self) -> Terms {
        session_terms(&self.configuration)
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
}

#[cfg(test)]
mod tests {
    use quorate_core::Span;

    use super::*;
    use crate::SessionKey;

    fn members(n: usize, quorums: &str) -> MembersKnown {
        let members = Members::numbered(vec!["a:1".to_owned(); n], quorums);
        MembersKnown { configuration: Configuration::first(members), clients: Vec::new() }
    }

    #[test]
    fn what_a_node_tells_is_checked() {
        let attached = Attached { node: 0, candidate: 7, members: members(3, "majority") };
        assert_eq!(attached.electorate().map(|electorate| electorate.len()), Some(3));
        let terms = attached.members.terms();
        assert!(terms.permits(Span::from_millis(60_000)), "{terms:?}");
        let with = |members| Attached { members, ..attached.clone() };
        assert_eq!(with(members(65, "majority")).electorate(), None);
        assert_eq!(with(members(0, "majority")).electorate(), None);
        assert_eq!(with(members(3, "coin")).electorate(), None);
        let mut odd = members(3, "majority");
        odd.configuration.voters.terms.drift_ppm = u32::MAX;
        assert_eq!(with(odd).electorate(), None);
    }

    #[test]
    fn an_identifier_does_not_tell_the_key() {
        let key = SessionKey(0x1234);
        assert_eq!(key.id(), SessionKey(0x1234).id());
        assert_ne!(key.id(), key.0);
        assert_ne!(key.id(), SessionKey(0x1235).id());
    }
}
