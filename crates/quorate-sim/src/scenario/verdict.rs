//! The words for results, which a scenario uses to state its expectations and a report to state what happened.

use serde::{Deserialize, Serialize};

/// Outcome of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Every monitored property held, within the assumptions.
    Holds,
    /// A monitored property was violated.
    Violated,
    /// No property was violated, but the run broke an assumption of the algorithm.
    OutsideAssumptions,
}

/// Whether a property held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// The property held throughout the run.
    Holds,
    /// The property was violated.
    Violated,
    /// The property was not monitored, or the run ended before it could be judged.
    NotChecked,
}
