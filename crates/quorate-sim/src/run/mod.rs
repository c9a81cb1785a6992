//! Complete runs: from a scenario to the report, for every family of algorithms.
//!
//! A family adds its users and monitors to the world ([`family`], `users/`). The rest is common: the observer that feeds
//! the monitors, the memory budget, the broken assumptions, and the [`report`]. Files here may import everything else.

mod algorithm_info;
mod assumptions;
mod budget;
// Unit tests run no type-erased processes, and these worlds take half of the time to compile this crate.
#[cfg(not(test))]
mod erased;
mod error;
mod execute;
mod expectations;
pub mod family;
mod monitors;
pub mod report;
mod users;
mod watch;

pub use algorithm_info::AlgorithmInfo;
pub use budget::MemoryFootprint;
#[cfg(not(test))]
pub use erased::{
    run_erased_agreement, run_erased_allocation, run_erased_clock, run_erased_detection,
    run_erased_election, run_erased_multicast, run_erased_mutex, run_erased_replication,
    run_erased_snapshot,
};
pub use error::{Bytes, RunError};
pub use execute::{Conditions, Outcome, ProcessFactory};
pub use users::{
    AgreementUsers, AllocationUsers, ClockUsers, DetectorUsers, ElectionUsers, MulticastUsers,
    MutexUsers, ReplicationUsers,
};
pub use users::{DetectionUser, detection_commands};
pub use users::{ScriptedUser, ScriptedUsers, SnapshotUser, scripted_commands};
pub use watch::Watch;
