//! Definitions of the properties: one function per property, over what users observe.
//!
//! The simulator's monitors and the explorer's users keep their own records, because one watches a run event by event and the
//! other compares whole states. Both ask the functions here what those records mean, so that `sim`, `campaign`, `check` and a
//! replayed counterexample give the same verdict. `cargo xtask mutants --properties` breaks each definition once and requires
//! that the tests of both drivers fail.
//!
//! ME2, ME3, the properties of failure detectors and those of clocks are judged by one driver only and are defined there.

pub mod agreement;
pub mod allocation;
pub mod detection;
pub mod election;
pub mod multicast;
pub mod mutex;
pub mod replication;
pub mod snapshot;
