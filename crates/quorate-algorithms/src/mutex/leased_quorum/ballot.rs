//! The state of one lock at a voter: its vote and its queue.

use quorate_core::{SortedMap, Time};

use super::id::{Claim, RequestId};

/// Position in the queue: older stamps first, ties by request.
pub(super) type Key = (u64, RequestId);

/// The smallest stamp of a request that waits. Smaller stamps represent higher ranks.
pub(super) const STAMPS_FROM: u64 = 2;

/// The state of one lock at one voter.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Ballot {
    /// The greatest number that the voter has given or confirmed for this lock.
    pub(super) last: u64,
    pub(super) vote: Option<GrantedVote>,
    pub(super) queue: SortedMap<Key, Waiter>,
}

/// A vote that was given to a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct GrantedVote {
    /// The claim that has the vote.
    pub claim: Claim,
    /// The request's stamp at this voter.
    pub stamp: u64,
    /// The number of the vote.
    pub number: u64,
    /// The client incarnation whose beats are echoed to the claim's candidate.
    pub beats: u64,
    /// Attempt and token of the record: the client may have learned that it is inside with this token.
    pub entered: Option<(u64, u64)>,
    /// The first token on record.
    pub first: Option<u64>,
    /// Index of the configuration in which the record was made.
    pub recorded_in: u64,
    /// Index of the configuration in which the claim's candidate has requested the vote.
    pub config: u64,
    /// After a force release: the vote is no longer renewed and is freed at this time of the voter's clock.
    pub frozen: Option<Time>,
}

/// A claim that waits in the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Waiter {
    pub(super) claim: Claim,
    pub(super) inside: Option<u64>,
    pub(super) beats: u64,
    pub(super) config: u64,
}

impl Ballot {
    /// Creates the ballot of a lock that was never used, or not for a while.
    pub(super) fn new(last: u64) -> Self {
        Self { last, vote: None, queue: SortedMap::new() }
    }

    /// The vote, if it is given.
    pub fn vote(&self) -> Option<&GrantedVote> {
        self.vote.as_ref()
    }

    /// The claims that wait, in order, with their stamps.
    pub fn queue(&self) -> impl ExactSizeIterator<Item = (u64, Claim)> + '_ {
        self.queue.iter().map(|((stamp, _), waiter)| (*stamp, waiter.claim))
    }

    /// The greatest number that the voter has given or confirmed.
    pub fn last(&self) -> u64 {
        self.last
    }

    pub(super) fn is_idle(&self) -> bool {
        self.vote.is_none() && self.queue.is_empty()
    }

    /// The vote, if this request has it.
    pub(super) fn vote_of(&mut self, request: RequestId) -> Option<&mut GrantedVote> {
        self.vote.as_mut().filter(|vote| vote.claim.request == request)
    }

    /// The first waiter whose candidate knows the configuration of this index. Others have to ask again.
    pub(super) fn first_waiter(&self, config: u64) -> Option<(Key, Waiter)> {
        let mut waiters = self.queue.iter().filter(|(_, waiter)| waiter.config >= config);
        waiters.next().map(|(key, waiter)| (*key, *waiter))
    }

    /// The vote to ask back for an older waiter, if any. A frozen vote is not asked back: its client was notified to stop.
    pub(super) fn asks_back(&self, config: u64) -> Option<GrantedVote> {
        let (first, _) = self.first_waiter(config)?;
        self.vote.filter(|vote| vote.frozen.is_none() && first < (vote.stamp, vote.claim.request))
    }
}
