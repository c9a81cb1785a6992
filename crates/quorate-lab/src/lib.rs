//! Many runs and what to make of them: campaigns drawn from seeds, experiments, and the analysis of quorum systems.

pub mod campaign;
pub mod experiment;
pub mod quorums;
mod topology;

pub use topology::topology;

pub use quorate_run::{CannotRun, check, exhaustive, nearest, run};
