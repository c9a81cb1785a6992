//! The outputs of a failure detector to the processes above it.

use crate::{Process, ProcessId, Span};

/// A change of a failure detector's belief about a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Belief {
    /// The process is now believed to have crashed.
    Crashed(ProcessId),
    /// The process is believed alive again.
    Alive(ProcessId),
}

impl Belief {
    /// The process that the belief is about.
    pub const fn about(self) -> ProcessId {
        match self {
            Self::Crashed(process) | Self::Alive(process) => process,
        }
    }
}

/// A process whose outputs are beliefs. It reports them again after a recovery. The layer above receives them as the
/// beliefs of its own detector.
pub trait Detector: Process<Output = Belief> {
    /// Duration of one round of the detector. Its latency is reported in this unit.
    fn round(&self) -> Span;
}

/// Known bounds on message delays, from which a detector derives its pace. They are guesses if nothing is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DelayBounds {
    /// Usual delay of a message.
    pub delay: Span,
    /// Maximum time for a message to arrive and be handled.
    pub bound: Span,
}
