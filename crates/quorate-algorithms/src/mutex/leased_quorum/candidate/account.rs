//! The account that a candidate gives of its requests, for trace validation.

use alloc::vec::Vec;

use quorate_core::ProcessId;

use super::super::id::{CandidateId, Claim, VoteId};
use super::super::message::{Name, RequestStatus};
use super::{Candidate, Counted};

/// A request as its candidate pursues it.
#[derive(Clone, Debug)]
pub(in super::super) struct PursuitAccount {
    /// The claim of the present attempt.
    pub(in super::super) claim: Claim,
    /// Whether the candidate knows that the client is inside.
    pub(in super::super) is_inside: bool,
    /// The token that was granted to the client.
    pub(in super::super) granted: Option<u64>,
    /// Whether votes of the grant were lost since. The client may have received it nevertheless.
    pub(in super::super) is_broken: bool,
    /// The greatest beat for which the votes suffice to enter with that token.
    pub(in super::super) entering: Option<u64>,
    pub(in super::super) votes: Vec<VoteAccount>,
    /// The last vote of each voter that was given back.
    pub(in super::super) returned: Vec<(ProcessId, VoteId)>,
    /// The status that was last reported to the client.
    pub(in super::super) told: Option<RequestStatus>,
}

/// A vote that counts.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct VoteAccount {
    pub(in super::super) voter: ProcessId,
    pub(in super::super) vote: VoteId,
    /// The greatest number that the voter has confirmed.
    pub(in super::super) last: u64,
    /// The newest beat for which the voter is known to keep the vote.
    pub(in super::super) beat: Option<u64>,
    /// The token that the voter has recorded for this attempt.
    pub(in super::super) recorded: Option<u64>,
    /// The last attempt for which the voter has recorded a token, and that token.
    pub(in super::super) found: Option<(u64, u64)>,
}

impl<K: Name> Candidate<K> {
    /// Identity of the candidate.
    pub(in super::super) fn id(&self) -> CandidateId {
        self.id
    }

    /// Whether the candidate records tokens at voters.
    pub(in super::super) fn records(&self) -> bool {
        self.records_entries
    }

    /// All requests for this lock that the candidate pursues.
    pub(in super::super) fn account(&self, lock: &K) -> impl Iterator<Item = PursuitAccount> {
        let pursuits = self.pursuits.iter().filter(move |(_, pursuit)| pursuit.lock == *lock);
        pursuits.map(|(request, pursuit)| {
            let votes = pursuit.votes.iter().map(|(voter, counted)| {
                let Counted { vote, last, beat, entered: recorded, found, .. } = *counted;
                VoteAccount { voter: *voter, vote, last, beat, recorded, found }
            });
            PursuitAccount {
                claim: self.claim(*request, pursuit),
                is_inside: pursuit.inside.is_some(),
                granted: pursuit.granted,
                is_broken: pursuit.broken,
                entering: pursuit
                    .granted
                    .and_then(|token| self.quorum_beat(pursuit.entering(token, self.records_in()))),
                votes: votes.collect(),
                returned: pursuit.returned.iter().map(|(voter, vote)| (*voter, *vote)).collect(),
                told: pursuit.told.map(|report| report.standing),
            }
        })
    }
}
