//! A voter's part in one lock: its vote and its queue.

use alloc::collections::BTreeMap;

use quorate_core::Time;

use super::id::{Claim, RequestId};

/// Position in the queue: older stamps first, ties by request.
pub(super) type Key = (u64, RequestId);

/// Stamps begin here. Smaller ones are those of requests that come before others by their rank.
pub(super) const STAMPS_FROM: u64 = 2;

/// One lock as one voter sees it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Ballot {
    /// The greatest number that the voter has given or confirmed for this lock.
    pub(super) last: u64,
    pub(super) vote: Option<GrantedVote>,
    pub(super) queue: BTreeMap<Key, Waiter>,
}

/// A vote that is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct GrantedVote {
    /// The claim that has it.
    pub claim: Claim,
    /// The request's stamp at this voter.
    pub stamp: u64,
    /// The number of the vote.
    pub number: u64,
    /// The client incarnation whose beats are echoed to the claim's candidate.
    pub beats: u64,
    /// Attempt and token with which the client may have been told that it is inside.
    pub entered: Option<(u64, u64)>,
    /// The first of these tokens.
    pub first: Option<u64>,
    /// After a force release: renewed no longer, and freed at this time by the voter's clock.
    pub frozen: Option<Time>,
}

/// A claim that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Waiter {
    pub(super) claim: Claim,
    pub(super) inside: Option<u64>,
    pub(super) beats: u64,
}

impl Ballot {
    /// A lock that was not used for a while, or never.
    pub(super) fn new(last: u64) -> Self {
        Self { last, vote: None, queue: BTreeMap::new() }
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

    /// The vote that an older waiter should have, if there is one. A frozen vote is not asked for: its client has been told
    /// to stop.
    pub(super) fn asks_back(&self) -> Option<GrantedVote> {
        let (first, _) = self.queue.first_key_value()?;
        self.vote.filter(|vote| vote.frozen.is_none() && *first < (vote.stamp, vote.claim.request))
    }
}
