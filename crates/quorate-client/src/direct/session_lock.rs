//! One lock that a direct session waits for or holds, and the guards that share it.

use std::collections::BTreeSet;

use quorate_algorithms::mutex::leased_quorum::{Electorate, RequestId, ToCandidate};
use quorate_core::{ProcessId, ProcessSet, Time};
use quorate_protocol::{Failure, Name};

use super::driver::Ticket;

/// What a session has of one lock: one request at the voters, however many guards share it.
#[derive(Debug)]
pub(super) struct SessionLock {
    pub(super) request: RequestId,
    /// The token, once the client is inside.
    pub(super) token: Option<u64>,
    /// Validity that the guards were last told.
    pub(super) announced: Time,
    /// Every call that waits for the lock, and every guard that holds it.
    pub(super) tickets: BTreeSet<Ticket>,
    /// Calls among them that take the lock only if it is free.
    pub(super) tries: BTreeSet<Ticket>,
    /// Text for others to see.
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
            tickets: BTreeSet::new(),
            tries: BTreeSet::new(),
            why,
            answered: ProcessSet::new(),
            behind: ProcessSet::new(),
        }
    }

    /// Notes how a voter has answered the request.
    pub(super) fn on_answer(&mut self, voter: ProcessId, message: &ToCandidate<Name>) {
        match message {
            ToCandidate::Vote { .. } => {
                self.answered.insert(voter);
                self.behind.remove(voter);
            }
            // A vote that an older request asks back is lost to this one until that one has ended.
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

    /// Whether the lock is not free: the voters at which the request does not wait contain no quorum.
    pub(super) fn is_behind(&self, electorate: &Electorate) -> bool {
        self.token.is_none() && !electorate.is_quorum(&(&electorate.all() - &self.behind))
    }

    /// Failure of a call that takes the lock only if it is free, and could not within its time.
    pub(super) fn failure(&self, electorate: &Electorate) -> Failure {
        if self.is_answered(electorate) { Failure::Busy } else { Failure::NoQuorum }
    }
}

/// The request that a voter's message is about.
pub(super) fn request_of(message: &ToCandidate<Name>) -> Option<RequestId> {
    match message {
        ToCandidate::Vote { claim, .. }
        | ToCandidate::Behind { claim, .. }
        | ToCandidate::Inquire { claim, .. } => Some(claim.request),
        _ => None,
    }
}
