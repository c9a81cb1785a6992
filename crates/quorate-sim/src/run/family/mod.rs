//! Families of algorithms: the parts of a run that differ between, for example, a mutex and a detector.
//!
//! The world, the message counts, the fault log, the trace and the skeleton of the report are common (`execute.rs`). A
//! family adds users, monitors with their findings, and its own part of the report. Each family has a file here, which
//! no other family imports.

pub(crate) mod agreement;
pub(crate) mod allocation;
pub(crate) mod clock;
pub(crate) mod detection;
pub(crate) mod detector;
pub(crate) mod election;
pub(crate) mod multicast;
pub(crate) mod mutex;
pub(crate) mod replication;
pub(crate) mod snapshot;

pub use agreement::AgreementMonitors;
pub use allocation::AllocationMonitors;
pub use clock::ClockMonitors;
pub use detection::DetectionMonitors;
pub use detector::DetectorMonitors;
pub use election::ElectionMonitors;
pub use multicast::MulticastMonitors;
pub use mutex::MutexMonitors;
pub use replication::ReplicationMonitors;
pub use snapshot::SnapshotMonitors;

pub use super::monitors::{Finding, Monitors, ReportContext, RunEnd};
