//! A deterministic discrete-event simulator for distributed algorithms.
//!
//! A run is a function of its [`Scenario`] and nothing else: virtual time is an integer, randomness is seeded, and the
//! order of events is fixed. [`World`] drives any [`quorate_core::Process`]. Monitors check its properties, messages
//! are counted, and a trace is written on request. [`run_mutex`] and its counterparts for the other families do all of
//! this for a scenario.

pub mod accounting;
mod assumptions;
mod beliefs;
mod budget;
mod delay;
mod detection;
mod engine;
pub mod entry_delays;
mod expect;
mod external_queues;
mod externally_driven;
pub mod family;
pub mod fault;
mod followers;
mod history;
mod load;
mod local_clock;
pub mod monitor;
pub mod network;
mod node;
pub mod notation;
pub mod observer;
mod oracle;
pub mod plan;
pub mod queue;
pub mod random;
pub mod report;
mod run;
pub mod scenario;
mod slab;
mod timing;
pub mod trace;
pub mod traitor;
mod user;
mod validate;
mod watch;
mod world;

pub use assumptions::FaultLog;
pub use budget::{Bytes, MemoryFootprint};
pub use delay::{Delay, DelaySampler, LinkDelay};
pub use expect::Expect;
pub use externally_driven::{Driver, ExternallyDriven, Misdelivery, OutgoingMessage, Wire};
pub use family::agreement::{proposals, run_agreement};
pub use family::clock::{ClockRoles, run_clock};
pub use family::detector::run_detector;
pub use family::election::run_election;
pub use family::multicast::run_multicast;
pub use family::mutex::{ME3_PROCESSES_MOST, MutexWatch, run_mutex};
pub use family::{
    AgreementMonitors, ClockMonitors, DetectorMonitors, ElectionMonitors, MulticastMonitors,
    MutexMonitors,
};
pub use history::{History, Mark};
pub use load::{FileError, file_error_at, load, parse};
pub use local_clock::{Clocks, LocalClock};
pub use oracle::OracleModel;
pub use report::Report;
pub use run::{AlgorithmInfo, Conditions, Outcome, ProcessFactory, RunError};
pub use scenario::Scenario;
pub use timing::Timing;
pub use user::{
    Agenda, AgreementUsers, ClockUsers, DetectorUsers, ElectionUsers, MulticastUsers, MutexUsers,
    User,
};
pub use validate::Invalid;
pub use watch::Watch;
pub use world::{Ending, Limits, World, WorldModel};
