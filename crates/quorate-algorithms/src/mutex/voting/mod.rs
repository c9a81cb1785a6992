//! Shared parts of the algorithms that vote.

mod ballot;
mod basis;
mod candidacy;
mod claim_queue;
mod views;

pub(super) use ballot::{Ballot, BallotReply, Claim};
pub(super) use basis::Basis;
pub(super) use candidacy::Ticket;
pub(super) use candidacy::{AttemptClaim, Candidacy, SentRequest};
use claim_queue::ClaimQueue;
pub(super) use views::Views;
