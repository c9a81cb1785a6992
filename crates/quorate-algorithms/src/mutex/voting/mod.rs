//! Shared parts of the algorithms that vote.

mod ballot;
mod basis;
mod candidacy;
mod claim_queue;
mod gathering;
mod views;

pub(super) use ballot::{Ballot, BallotReply, Claim};
pub(super) use basis::{Agreement, Basis, ViewRule};
pub(super) use candidacy::Ticket;
pub(super) use candidacy::{AttemptClaim, Candidacy, SentRequest};
use claim_queue::ClaimQueue;
pub(super) use gathering::{Gathering, RoundMessage};
pub(super) use views::Views;

/// Reason why a measured synchronisation delay differs from 2.
pub(super) const SYNCHRONISATION_DIFFERS: &str = "2 is RELEASE and then REPLY: less where the voter that both share is \
    one of the two itself, more where a vote is first asked back";
