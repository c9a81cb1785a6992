#![doc = include_str!("../README.md")]
//!
//! # Main items
//!
//! - [`campaign`] runs scenarios that are drawn from seeds, and [`shrink()`] makes a violating one smaller.
//! - [`experiment`] contains the experiments.
//! - [`shard`] runs a part of a campaign or an experiment on each of several machines.

mod attempt;
pub mod campaign;
mod cause;
pub mod experiment;
pub mod logical_time;
pub mod shard;
pub mod shard_file;
mod shrink;
mod topology;

pub use attempt::{Attempt, CONFORMANCE, PANIC, attempt, attempt_in_model};
pub use cause::Cause;
pub use quorate_run::{
    CannotRun, Catalogue, CatalogueError, Entry, catalogue, check, conformance, exhaustive,
    has_model, run, run_driven,
};
pub use shrink::{Shrunk, shrink};
pub use topology::topology;
