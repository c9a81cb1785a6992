//! Complete runs: from a scenario to the report, for every family of algorithms.
//!
//! A family adds its users and monitors to the world ([`family`], `users/`). The rest is common: the observer that feeds
//! the monitors, the memory budget, the broken assumptions, and the [`report`]. Files here may import everything else.

mod assumptions;
mod budget;
mod execute;
mod expectations;
pub mod family;
pub mod report;
mod users;
mod watch;

pub use assumptions::FaultLog;
pub use budget::{Bytes, MemoryFootprint};
pub use execute::{AlgorithmInfo, Conditions, Outcome, ProcessFactory, RunError};
pub use users::{
    AgreementUsers, ClockUsers, DetectorUsers, ElectionUsers, MulticastUsers, MutexUsers,
};
pub use watch::Watch;
