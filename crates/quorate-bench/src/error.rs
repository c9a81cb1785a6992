//! Error of a benchmark.

/// Error message of a benchmark.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{0}")]
pub struct BenchError(pub String);

impl BenchError {
    /// Converts an error to its message.
    pub fn new(what: impl ToString) -> Self {
        Self(what.to_string())
    }
}
