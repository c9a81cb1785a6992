//! A request for the findings of an experiment: its options, its progress, and the cells that it covers.

use std::cell::RefCell;

use serde_json::Value;

use super::error::ExperimentError;
use crate::CannotRun;
use crate::shard::Shard;

/// Input of an experiment: the options with all defaults filled in.
pub(super) struct Request<'p> {
    pub(super) seeds: u64,
    pub(super) up_to: usize,
    pub(super) ours_up_to: usize,
    pub(super) threads: usize,
    pub(super) progress: &'p dyn ExperimentProgress,
    pub(super) scope: Scope,
}

/// Observer of the progress of an experiment.
pub trait ExperimentProgress: Sync {
    /// Called at the start of a sweep with the number of cells.
    fn begin(&self, cells: usize);

    /// Called after each cell, from any thread.
    fn step(&self);

    /// Called at the end of a sweep.
    fn end(&self);

    /// Whether the result is still wanted. If not, the remaining cells are not run.
    fn should_continue(&self) -> bool {
        true
    }
}

/// Ignores all progress reports.
impl ExperimentProgress for () {
    fn begin(&self, _: usize) {}
    fn step(&self) {}
    fn end(&self) {}
}

/// Cells that a sweep runs.
pub(super) enum Scope {
    /// All cells of the experiment.
    Whole,
    /// Every k-th cell, for k shards. The answers are collected by sweep.
    Shard(Shard, RefCell<Vec<Vec<Value>>>),
    /// No cell. The answers are given by shard and by sweep, together with the number of sweeps made so far.
    Merged(Vec<Vec<Vec<Value>>>, RefCell<usize>),
}

/// Reason why there are no findings.
pub(super) enum SweepError {
    /// The experiment cannot be run.
    Failed(ExperimentError),
    /// Only a shard was run.
    Partial,
}

impl From<ExperimentError> for SweepError {
    fn from(error: ExperimentError) -> Self {
        Self::Failed(error)
    }
}

impl From<CannotRun> for SweepError {
    fn from(cannot: CannotRun) -> Self {
        Self::Failed(cannot.into())
    }
}
