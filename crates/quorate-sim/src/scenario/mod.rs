//! Scenarios: the complete description of a run, the notation of its parts, and everything that is drawn or derived from
//! it before the run starts.
//!
//! A scenario is read from a file ([`load()`]) or set by flags, and validated. Its faults become a [`plan`] of events at
//! fixed times. Files here import nothing but each other and [`crate::random`].

mod claims;
mod clocks;
mod delay;
mod description;
mod expect;
pub mod fault;
mod link_model;
mod load;
mod local_clock;
mod nearest;
pub mod notation;
mod oracle_model;
mod plain_words;
pub mod plan;
pub mod script;
mod timing;
pub mod traitor;
mod validate;
mod verdict;

pub use claims::{ClaimOf, ConflictsText, DEFAULT_CAPACITY, GivenClaim};
pub use clocks::Clocks;
pub use delay::{Arrival, DELAY_FILE_BYTES_MOST, Delay, DelaySampler, LinkDelay, Parameter};
pub use description::{DetectorChoice, Requesters, Scenario};
pub use expect::Expect;
pub use link_model::LinkModel;
pub use load::{FileError, file_error_at, load, parse};
pub use local_clock::LocalClock;
pub use nearest::nearest;
pub use notation::PROCESSES_MOST;
pub use oracle_model::OracleModel;
pub use timing::Timing;
pub use validate::Invalid;
pub use verdict::{Status, Verdict};
