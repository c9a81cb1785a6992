//! Cancellation of a run.

/// The run was cancelled, because no caller waits for its result any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it was cancelled")]
pub struct Cancelled;
