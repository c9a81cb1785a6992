//! The account that a candidate gives of its requests, for trace validation.

use alloc::vec::Vec;

use quorate_core::ProcessId;

use super::super::id::{CandidateId, Claim, VoteId};
use super::super::message::{Name, RequestStatus};
use super::Candidate;

/// A request as its candidate pursues it.
#[derive(Clone, Debug)]
pub(in super::super) struct PursuitAccount {
    /// The claim of the present attempt.
    pub(in super::super) claim: Claim,
    /// Whether the candidate knows that the client is inside.
    pub(in super::super) is_inside: bool,
    /// The token that was granted to the client.
    pub(in super::super) granted: Option<u64>,
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
}

impl<K: Name> Candidate<K> {
    /// Identity of the candidate.
    pub(in super::super) fn id(&self) -> CandidateId {
        self.id
    }

    /// All requests that the candidate pursues.
    pub(in super::super) fn account(&self) -> impl Iterator<Item = PursuitAccount> {
        self.pursuits.iter().map(|(request, pursuit)| {
            let votes = pursuit.votes.iter().map(|(voter, counted)| {
                let (vote, last, beat) = (counted.vote, counted.last, counted.beat);
                VoteAccount { voter: *voter, vote, last, beat }
            });
            PursuitAccount {
                claim: self.claim(*request, pursuit),
                is_inside: pursuit.inside.is_some(),
                granted: pursuit.granted,
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
