//! What algorithms that vote share.

mod ballot;

pub(super) use ballot::{Answer, Ballot};
