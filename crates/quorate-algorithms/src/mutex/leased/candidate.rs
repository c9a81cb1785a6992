//! A candidate's part in one request: whom it has asked, who has voted, and whether that is enough.

use alloc::vec::Vec;

use quorate_core::{ProcessId, ProcessSet, Time};

use super::message::Epoch;

/// One request, as the member sees it through which it has come.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Candidate<K> {
    pub(super) lock: K,
    pub(super) asked: ProcessSet,
    pub(super) votes: Vec<Counted>,
    /// The number that nobody after it may have less than, once there were votes enough.
    pub(super) token: Option<u64>,
    pub(super) inside: bool,
    /// The token with which the client entered through another member, until this member has a quorum of votes as well. It
    /// stays the token, whatever numbers the votes have that come to this member.
    pub(super) resumes: Option<u64>,
    /// No client relies after this time on what another member has promised.
    pub(super) elsewhere: Time,
    /// Whether no other request can have had the lock since this one got its token.
    pub(super) unbroken: bool,
    /// The lock is lost, and the votes go back at this time: until then the client may rely on them, and may not have
    /// heard of the loss.
    pub(super) lost: Option<Time>,
    /// How often the request has moved from member to member.
    pub(super) moved: u32,
}

/// A vote that has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Counted {
    pub(super) voter: ProcessId,
    /// The lease that it hangs on.
    pub(super) epoch: Epoch,
    /// Which vote of its voter's it is.
    pub(super) number: u64,
    /// How far its voter is known to have come.
    pub(super) counter: u64,
    /// Whether it was given back: then it does not count, nor if word of it comes again.
    pub(super) yielded: bool,
}

impl<K> Candidate<K> {
    pub(super) fn new(lock: K) -> Self {
        let (asked, votes) = (ProcessSet::new(), Vec::new());
        let (token, inside, resumes, elsewhere, lost) = (None, false, None, Time::ZERO, None);
        let (unbroken, moved) = (false, 0);
        Self { lock, asked, votes, token, inside, resumes, elsewhere, unbroken, lost, moved }
    }

    /// Whether no other request can have had the lock since this one got its token. If not, only a client that has relied on
    /// the lock without a gap may go on; one that has not entered yet must not enter with this token.
    pub fn is_unbroken(&self) -> bool {
        self.inside && self.unbroken
    }

    /// How often the request has moved from member to member.
    pub fn moved(&self) -> u32 {
        self.moved
    }

    /// Whether it has the lock, here or through the member that it came from.
    pub(super) fn has_lock(&self) -> bool {
        self.inside || self.resumes.is_some()
    }

    /// Whether a client may rely on its votes: then they are not given back.
    pub(super) fn is_relied_on(&self) -> bool {
        self.has_lock() || self.lost.is_some()
    }

    /// The lock that it is for.
    pub fn lock(&self) -> &K {
        &self.lock
    }

    /// Its number, if it has the lock.
    pub fn token(&self) -> Option<u64> {
        self.token.filter(|_| self.inside)
    }

    /// A vote has come, perhaps again.
    pub(super) fn count(&mut self, vote: Counted) {
        match self.votes.iter_mut().find(|known| known.voter == vote.voter) {
            Some(known) if (known.epoch, known.number) >= (vote.epoch, vote.number) => {}
            Some(known) => *known = vote,
            None => self.votes.push(vote),
        }
    }

    /// Whether this very vote was given back.
    pub(super) fn has_given_back(&self, vote: Counted) -> bool {
        let same = |known: &Counted| {
            (known.voter, known.epoch, known.number) == (vote.voter, vote.epoch, vote.number)
        };
        self.votes.iter().any(|known| known.yielded && same(known))
    }

    /// A voter has come so far and still votes for this one.
    pub(super) fn raise(&mut self, voter: ProcessId, counter: u64) {
        let known = self.votes.iter_mut().find(|vote| vote.voter == voter);
        known.into_iter().for_each(|vote| vote.counter = vote.counter.max(counter));
    }

    /// The vote of this number goes back to its voter.
    pub(super) fn give_back(&mut self, voter: ProcessId, number: u64, epoch: Epoch) {
        let back = Counted { voter, epoch, number, counter: number, yielded: true };
        self.count(back);
        let known = self.votes.iter_mut().find(|vote| vote.voter == voter);
        let given = |vote: &&mut Counted| (vote.epoch, vote.number) == (epoch, number);
        known.into_iter().filter(given).for_each(|vote| vote.yielded = true);
        self.token = None;
    }

    /// Whether this voter's vote is here, whatever its lease.
    pub(super) fn has_vote_of(&self, voter: ProcessId) -> bool {
        self.votes.iter().any(|vote| vote.voter == voter && !vote.yielded)
    }
}
