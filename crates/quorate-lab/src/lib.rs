//! Runs many scenarios and evaluates them: campaigns generated from seeds, experiments, and the analysis of quorum systems.

mod attempt;
pub mod campaign;
mod cause;
pub mod experiment;
pub mod quorums;
pub mod shard;
pub mod shard_file;
mod shrink;
mod topology;

pub use attempt::{Attempt, PANIC, attempt};
pub use cause::Cause;
pub use quorate_run::{
    CannotRun, Catalogue, CatalogueError, Entry, catalogue, check, exhaustive, nearest, run,
    run_driven,
};
pub use shrink::{Shrunk, shrink};
pub use topology::topology;
