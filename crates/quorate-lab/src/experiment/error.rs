//! Errors of experiments.

use quorate_run::CannotRun;
use quorate_sim::Cancelled;

/// Reason why an experiment has no findings.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExperimentError {
    /// An option is not supported, or the parts of the experiment do not fit together.
    #[error("{0}")]
    Option(String),
    /// A run that was to be measured did not end as required.
    #[error("{algorithm} with {processes} processes and seed {seed} cannot be measured: {problem}")]
    Unmeasurable {
        /// Name of the algorithm.
        algorithm: String,
        /// Number of processes in the run.
        processes: usize,
        /// Seed of the run.
        seed: u64,
        /// Description of the problem.
        problem: String,
    },
    /// The experiment was cancelled, because no caller waits for its findings any more.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
    /// A run or a search could not be made.
    #[error(transparent)]
    CannotRun(#[from] CannotRun),
}
