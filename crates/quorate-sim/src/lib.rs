//! A deterministic discrete-event world for distributed algorithms.
//!
//! A run is a function of a [`Scenario`] and nothing else: integer virtual time, seeded chance, a fixed
//! order of events. [`World`] drives any [`quorate_core::Process`]; monitors watch it, books are kept, a
//! trace is written if somebody asks. [`run_mutex`] does all of it for a scenario.

pub mod accounting;
mod assumptions;
mod budget;
mod delay;
pub mod delays;
mod engine;
mod expect;
pub mod fault;
mod history;
mod load;
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

pub use assumptions::Incidents;
pub use budget::Bytes;
pub use delay::{Delay, Delays, LinkDelay};
pub use expect::Expect;
pub use history::History;
pub use load::{FileError, load, misfit, parse};
pub use oracle::OracleModel;
pub use report::Report;
pub use run::{Conditions, ME3_PROCESSES_MOST, Outcome, RunError, Subject, run_mutex};
pub use scenario::Scenario;
pub use timing::Timing;
pub use user::{Agenda, MutexUsers, User};
pub use validate::Invalid;
pub use watch::MutexWatch;
pub use world::{Ending, Limits, World, WorldModel};
