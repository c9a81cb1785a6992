#![doc = include_str!("../README.md")]
//!
//! # Main types
//!
//! - [`Scenario`] describes a run. [`parse`] and [`load()`] read it from a file, with its [`fault::Faults`].
//! - [`World`] drives any [`quorate_core::Process`], with a [`User`] that gives commands and an [`observer::Observer`].
//! - [`run_mutex`] and the like run a scenario of a family with its monitors, and return an [`Outcome`] with the
//!   [`Report`].
//! - [`monitor`] checks the properties, [`trace`] writes and reads traces.
//!
//! The folders of the source build on each other: `scenario/` describes a run, `engine/` is the world that runs, `observe/`
//! records and judges it, and `run/` combines them for each family. Imports point only from the later folders to the
//! earlier ones.

mod engine;
mod observe;
pub mod random;
mod run;
pub mod scenario;

pub use engine::{
    Agenda, Driver, Ending, ExternallyDriven, Limits, Misdelivery, OutgoingMessage, RunningClock,
    User, Wire, World, WorldModel, network, observer, queue,
};
pub use observe::trace::Cancelled;
pub use observe::{FaultLog, History, Mark, Overload, accounting, entry_delays, monitor, trace};
pub use run::family::agreement::{proposals, run_agreement};
pub use run::family::allocation::run_allocation;
pub use run::family::clock::{ClockRoles, run_clock};
pub use run::family::detection::{DetectionMonitors, run_detection};
pub use run::family::detector::run_detector;
pub use run::family::election::run_election;
pub use run::family::multicast::run_multicast;
pub use run::family::mutex::{ME3_PROCESSES_MOST, MutexWatch, observe_mutex, run_mutex};
pub use run::family::snapshot::{SnapshotMonitors, run_snapshot};
pub use run::family::{
    AgreementMonitors, AllocationMonitors, ClockMonitors, DetectorMonitors, ElectionMonitors,
    MulticastMonitors, MutexMonitors, ReplicationMonitors,
};
pub use run::report::Report;
pub use run::{
    AgreementUsers, AlgorithmInfo, AllocationUsers, Bytes, ClockUsers, Conditions, DetectorUsers,
    ElectionUsers, MemoryFootprint, MulticastUsers, MutexUsers, Outcome, ProcessFactory,
    ReplicationUsers, RunError, Watch, family, report,
};
#[cfg(not(test))]
pub use run::{
    run_erased_agreement, run_erased_allocation, run_erased_clock, run_erased_detection,
    run_erased_election, run_erased_multicast, run_erased_mutex, run_erased_replication,
    run_erased_snapshot,
};

pub use run::family::replication::run_replication;
pub use run::{DetectionUser, detection_commands};
pub use run::{ScriptedUser, ScriptedUsers, SnapshotUser, scripted_commands};
pub use scenario::{
    Arrival, Clocks, DELAY_FILE_BYTES_MOST, Delay, DelaySampler, Expect, FileError, Invalid,
    LinkDelay, LocalClock, OracleModel, Parameter, Scenario, Timing, fault, file_error_at, load,
    nearest, notation, parse, plan, script, traitor,
};
