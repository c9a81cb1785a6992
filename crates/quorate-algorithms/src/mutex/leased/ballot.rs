//! A voter's part in one lock: whose its vote is, who waits for it, and whose turn it was last.

use alloc::collections::BTreeMap;

use quorate_core::ProcessId;

use super::message::Ticket;

/// One lock, as a voter sees it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Ballot {
    /// Votes are numbered, and nobody who gets one has a smaller number than those before.
    pub(super) counter: u64,
    pub(super) vote: Option<Vote>,
    /// Who waits, and through which member.
    pub(super) queue: BTreeMap<Ticket, Home>,
}

/// Where a request is at home.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Home {
    pub(super) member: ProcessId,
    /// How often it has moved: word from a former home may come late.
    pub(super) moved: u32,
}

/// A vote that is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Vote {
    /// To this request.
    pub ticket: Ticket,
    /// Which has come through this member.
    pub home: ProcessId,
    pub(super) moved: u32,
    /// What the voter counted when it gave it.
    pub(super) number: u64,
    /// Whether it was asked back.
    pub(super) inquired: bool,
}

impl Ballot {
    /// One that nobody has used for a while.
    pub(super) fn new(counter: u64) -> Self {
        Self { counter, vote: None, queue: BTreeMap::new() }
    }

    /// The vote that is given, if it is.
    pub fn vote(&self) -> Option<Vote> {
        self.vote
    }

    /// Who waits, the first first, and through which member.
    pub fn queue(&self) -> impl ExactSizeIterator<Item = (Ticket, ProcessId)> + '_ {
        self.queue.iter().map(|(ticket, home)| (*ticket, home.member))
    }

    /// Whose vote it is, if it is this request's and comes from there.
    pub(super) fn has(&self, ticket: Ticket, home: ProcessId) -> bool {
        self.vote.is_some_and(|vote| vote.ticket == ticket && vote.home == home)
    }

    /// Forgets a request of this member; tells whether the vote has become free.
    pub(super) fn remove(&mut self, ticket: Ticket, home: ProcessId) -> bool {
        if self.has(ticket, home) {
            self.vote = None;
            return true;
        }
        if self.queue.get(&ticket).is_some_and(|of| of.member == home) {
            self.queue.remove(&ticket);
        }
        false
    }

    /// Forgets all requests of a member; tells whether the vote has become free.
    pub(super) fn remove_all_of(&mut self, home: ProcessId) -> bool {
        self.queue.retain(|_, of| of.member != home);
        let had = self.vote.is_some_and(|vote| vote.home == home);
        if had {
            self.vote = None;
        }
        had
    }

    /// Whom to ask for the vote, because an earlier one waits and nobody was asked yet.
    pub(super) fn asks_back(&mut self) -> Option<Vote> {
        let (first, _) = self.queue.first_key_value()?;
        let vote = self.vote.as_mut()?;
        if vote.inquired || vote.ticket < *first {
            return None;
        }
        vote.inquired = true;
        Some(*vote)
    }
}
