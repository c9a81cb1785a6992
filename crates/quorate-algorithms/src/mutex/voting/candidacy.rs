//! The candidate's side of quorum algorithms whose quorums change: whom it has asked, and what they said.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use quorate_core::{ProcessId, ProcessSet, Stamp};

use super::Claim;

/// What a candidate knows. Only voters believed alive are in its sets.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(in crate::mutex) struct Candidacy {
    pub(in crate::mutex) request: SentRequest,
    pub(in crate::mutex) quorum: ProcessSet,
    pub(in crate::mutex) votes: ProcessSet,
    /// Voters who prefer another.
    pub(in crate::mutex) failed: ProcessSet,
    /// Voters who want their vote back, and have not got it yet.
    pub(in crate::mutex) inquiries: ProcessSet,
}

/// A request and whom it was sent to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(in crate::mutex) struct SentRequest {
    time: u64,
    pub(in crate::mutex) voters: ProcessSet,
    /// How often the request to a voter was taken back, where it was.
    attempts: BTreeMap<ProcessId, u32>,
}

/// Which request a message is about: its time, and which attempt at this voter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Ticket {
    /// The time of the request.
    pub time: u64,
    /// How often it was taken back from this voter before.
    pub attempt: u32,
}

impl Ticket {
    /// The request as its voter knows it.
    pub(in crate::mutex) const fn of(self, process: ProcessId) -> AttemptClaim {
        AttemptClaim { stamp: Stamp { time: self.time, process }, attempt: self.attempt }
    }
}

/// A request as its voter knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(in crate::mutex) struct AttemptClaim {
    stamp: Stamp,
    attempt: u32,
}

impl AttemptClaim {
    pub(in crate::mutex) const fn ticket(self) -> Ticket {
        Ticket { time: self.stamp.time, attempt: self.attempt }
    }
}

impl Claim for AttemptClaim {
    fn process(&self) -> ProcessId {
        self.stamp.process
    }
}

impl SentRequest {
    /// What the request to this voter is known by.
    pub(in crate::mutex) fn ticket(&self, voter: ProcessId) -> Ticket {
        let attempt = self.attempts.get(&voter).copied().unwrap_or(0);
        Ticket { time: self.time, attempt }
    }

    /// What the request is known by at every voter, unless it was ever taken back.
    pub(in crate::mutex) fn only_ticket(&self) -> Option<Ticket> {
        self.attempts.is_empty().then_some(Ticket { time: self.time, attempt: 0 })
    }

    /// These voters, grouped by what they know the request by.
    pub(in crate::mutex) fn by_ticket(
        &self,
        voters: &ProcessSet,
    ) -> impl Iterator<Item = (ProcessSet, Ticket)> {
        let again = self.attempts.keys().copied().filter(|voter| voters.contains(*voter));
        let again: ProcessSet = again.collect();
        let first = voters - &again;
        let first = (!first.is_empty()).then_some((first, Ticket { time: self.time, attempt: 0 }));
        let one = |voter| (ProcessSet::from_iter([voter]), self.ticket(voter));
        first.into_iter().chain(again.iter().map(one).collect::<Vec<_>>())
    }

    /// The request to this voter is over; under `fresh` the next one gets a new number.
    pub(in crate::mutex) fn withdraw_from(&mut self, voter: ProcessId, fresh: bool) {
        if self.voters.remove(voter) && fresh {
            *self.attempts.entry(voter).or_insert(0) += 1;
        }
    }
}

impl Candidacy {
    /// A request at this time, of which nobody knows yet.
    pub(in crate::mutex) fn new(time: u64) -> Self {
        let none = ProcessSet::new;
        let request = SentRequest { time, ..SentRequest::default() };
        Self { request, quorum: none(), votes: none(), failed: none(), inquiries: none() }
    }

    /// Nothing that this voter has said counts any more.
    pub(in crate::mutex) fn discount(&mut self, voter: ProcessId) {
        self.votes.remove(voter);
        self.failed.remove(voter);
        self.inquiries.remove(voter);
    }

    /// The votes to give back: one who cannot win for now gives up what is asked for; one who may still win keeps it.
    pub(in crate::mutex) fn give_back(&mut self) -> ProcessSet {
        if self.failed.is_empty() || self.inquiries.is_disjoint(&self.votes) {
            return ProcessSet::new();
        }
        let back = &self.inquiries & &self.votes;
        self.inquiries.subtract(&back);
        self.votes.subtract(&back);
        self.failed.union_with(&back);
        back
    }
}
