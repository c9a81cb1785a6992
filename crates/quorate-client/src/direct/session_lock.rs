//! One lock that a direct session waits for or holds, and the guards that share it.

use quorate_algorithms::mutex::leased_quorum::{Electorate, RequestId, ToCandidate};
use quorate_core::{ProcessId, ProcessSet, SortedSet, Time};
use quorate_protocol::{Failure, Name};

/// Number of one call for a lock, and of the guard that results from it. Assigned by the session.
pub(crate) type Ticket = u64;

/// A session's view of one lock: one request at the voters, shared by any number of guards.
#[derive(Debug)]
pub(super) struct SessionLock {
    pub(super) request: RequestId,
    /// The token, once the lock is held.
    pub(super) token: Option<u64>,
    /// The end of validity that was last announced to the guards.
    pub(super) announced: Time,
    /// All calls that wait for the lock, and all guards that hold it.
    pub(super) tickets: SortedSet<Ticket>,
    /// The calls among `tickets` that take the lock only if it is free.
    pub(super) tries: SortedSet<Ticket>,
    /// Text shown to other clients.
    pub(super) why: String,
    /// Voters that have answered the request.
    answered: ProcessSet,
    /// Voters at which the request waits behind another one.
    behind: ProcessSet,
}

impl SessionLock {
    pub(super) fn new(request: RequestId, why: String) -> Self {
        Self {
            request,
            token: None,
            announced: Time::ZERO,
            tickets: SortedSet::new(),
            tries: SortedSet::new(),
            why,
            answered: ProcessSet::new(),
            behind: ProcessSet::new(),
        }
    }

    /// Records the answer of a voter to the request.
    pub(super) fn on_answer(&mut self, voter: ProcessId, message: &ToCandidate<Name>) {
        match message {
            ToCandidate::Vote { .. } => {
                self.answered.insert(voter);
                self.behind.remove(voter);
            }
            // A vote that the voter recalls for an older request is not available to this one until that request has ended.
            ToCandidate::Behind { .. } | ToCandidate::Inquire { .. } => {
                self.answered.insert(voter);
                self.behind.insert(voter);
            }
            _ => {}
        }
    }

    /// Whether a quorum of voters has answered.
    pub(super) fn is_answered(&self, electorate: &Electorate) -> bool {
        electorate.is_quorum(&self.answered)
    }

    /// Whether the lock is not free: the voters at which the request is not behind another contain no quorum.
    pub(super) fn is_behind(&self, electorate: &Electorate) -> bool {
        self.token.is_none() && !electorate.is_quorum(&(&electorate.all() - &self.behind))
    }

    /// Failure of a call that takes the lock only if it is free, when its timeout passes.
    pub(super) fn failure(&self, electorate: &Electorate) -> Failure {
        if self.is_answered(electorate) { Failure::Busy } else { Failure::NoQuorum }
    }
}

/// The request that a voter's message refers to.
pub(super) fn request_of(message: &ToCandidate<Name>) -> Option<RequestId> {
    match message {
        ToCandidate::Vote { claim, .. }
        | ToCandidate::Behind { claim, .. }
        | ToCandidate::Inquire { claim, .. } => Some(claim.request),
        _ => None,
    }
}
