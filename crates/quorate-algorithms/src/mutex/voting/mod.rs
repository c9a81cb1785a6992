//! What algorithms that vote share.

mod ballot;
mod basis;
mod candidacy;
mod line;
mod views;

pub(super) use ballot::{Answer, Ballot, Claim};
pub(super) use basis::Basis;
pub(super) use candidacy::Ticket;
pub(super) use candidacy::{Asked, Candidacy, Vote};
use line::Line;
pub(super) use views::Views;
