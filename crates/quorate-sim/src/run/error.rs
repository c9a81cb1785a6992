//! Errors of a run: it does not fit into memory, it would never end, or its trace cannot be written.

use super::watch::TraceFailure;
use crate::observe::trace::Cancelled;

/// Why a run could not be completed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The processes do not fit into memory.
    #[error("{n} processes need about {needed} of memory, the bound is {bound}")]
    TooManyProcesses {
        /// Number of processes in the scenario.
        n: usize,
        /// Estimated memory that they need.
        needed: Bytes,
        /// The memory limit of the run.
        bound: Bytes,
    },
    /// The messages in flight would not fit into memory.
    #[error(
        "{messages} messages under way at once need about {needed} of memory, the bound is {bound}"
    )]
    TooManyMessages {
        /// Number of messages in flight.
        messages: u64,
        /// Estimated memory that they need.
        needed: Bytes,
        /// The memory limit of the run.
        bound: Bytes,
    },
    /// The algorithm needs more messages than the simulator supports.
    #[error(
        "{name} has {messages} messages under way or remembered at once ({formula} in all), and at most {most} are \
         simulated; use fewer processes or a smaller --faults"
    )]
    TooCostly {
        /// Name of the algorithm.
        name: &'static str,
        /// Number of messages in flight or stored at the same time.
        messages: u64,
        /// Formula for the total number of messages.
        formula: &'static str,
        /// Maximum number of messages at the same time.
        most: u64,
    },
    /// The processes never become quiescent and messages take no time, so virtual time would not advance.
    #[error(
        "{name} never becomes quiescent: with a message delay of zero, virtual time would not advance; set --delay"
    )]
    TimeStandsStill {
        /// Name of the algorithm.
        name: &'static str,
    },
    /// The trace could not be written.
    #[error("the trace could not be written: {0}")]
    Trace(#[from] std::io::Error),
    /// The trace sink cancelled the run.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
}

impl From<TraceFailure> for RunError {
    fn from(failure: TraceFailure) -> Self {
        match failure {
            TraceFailure::Write(error) => error.into(),
            TraceFailure::Cancelled(cancelled) => cancelled.into(),
        }
    }
}

/// A number of bytes that prints with a unit, such as `1.5 GiB`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bytes(pub u64);

impl std::fmt::Display for Bytes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        const UNITS: [(u64, &str); 3] = [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
        match UNITS.into_iter().find(|(size, _)| self.0 >= *size) {
            Some((size, unit)) => write!(f, "{:.1} {unit}", self.0 as f64 / size as f64),
            None => write!(f, "{} bytes", self.0),
        }
    }
}
