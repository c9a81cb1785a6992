//! The candidate side of quorum algorithms whose quorums change: the voters that were asked, and their answers.

use alloc::vec::Vec;

use quorate_core::{ProcessId, ProcessSet, SortedMap, Stamp};

use super::Claim;

/// The state of a candidate. Its sets contain only voters believed alive.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(in crate::mutex) struct Candidacy {
    pub(in crate::mutex) request: SentRequest,
    pub(in crate::mutex) quorum: ProcessSet,
    pub(in crate::mutex) votes: ProcessSet,
}

/// A request and the voters to which it was sent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(in crate::mutex) struct SentRequest {
    time: u64,
    pub(in crate::mutex) voters: ProcessSet,
    /// Number of times that the request was withdrawn from a voter, if it was.
    attempts: SortedMap<ProcessId, u32>,
}

/// Identifies the request that a message is about: its time and its attempt at this voter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Ticket {
    /// The time of the request.
    pub time: u64,
    /// Number of times that the request was withdrawn from this voter before.
    pub attempt: u32,
}

impl Ticket {
    /// The claim by which a voter knows this request of the process.
    pub(in crate::mutex) const fn of(self, process: ProcessId) -> AttemptClaim {
        AttemptClaim { stamp: Stamp { time: self.time, process }, attempt: self.attempt }
    }
}

/// A request as known to a voter.
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
    /// The ticket of the request at this voter.
    pub(in crate::mutex) fn ticket(&self, voter: ProcessId) -> Ticket {
        let attempt = self.attempts.get(&voter).copied().unwrap_or(0);
        Ticket { time: self.time, attempt }
    }

    /// The ticket of the request at all voters. `None` if the request was ever withdrawn from a voter.
    pub(in crate::mutex) fn only_ticket(&self) -> Option<Ticket> {
        self.attempts.is_empty().then_some(Ticket { time: self.time, attempt: 0 })
    }

    /// Groups these voters by their tickets.
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

    /// Ends the request at this voter. With `fresh`, the next request to it has a new attempt number.
    pub(in crate::mutex) fn withdraw_from(&mut self, voter: ProcessId, fresh: bool) {
        if self.voters.remove(voter) && fresh {
            *self.attempts.entry(voter).or_insert(0) += 1;
        }
    }
}

impl Candidacy {
    /// Creates a request with this time that was not sent to any voter yet.
    pub(in crate::mutex) fn new(time: u64) -> Self {
        let none = ProcessSet::new;
        let request = SentRequest { time, ..SentRequest::default() };
        Self { request, quorum: none(), votes: none() }
    }
}
