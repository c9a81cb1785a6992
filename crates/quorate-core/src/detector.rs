//! What a failure detector tells the processes above it.

use crate::{Process, ProcessId, Span};

/// A change of what a failure detector believes about a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Belief {
    /// The process is now believed to have crashed.
    Crashed(ProcessId),
    /// The process is believed alive again.
    Alive(ProcessId),
}

impl Belief {
    /// Whom it is about.
    pub const fn about(self) -> ProcessId {
        match self {
            Self::Crashed(process) | Self::Alive(process) => process,
        }
    }
}

/// A process whose outputs are beliefs, told again after a recovery: whatever stands over it hears them as its own
/// detector's.
pub trait Detector: Process<Output = Belief> {
    /// How long one round of its work takes: the unit in which its latency is told.
    fn round(&self) -> Span;
}

/// What is known about time, from which a detector takes its pace; a guess where nothing is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DelayBounds {
    /// How long a message usually takes.
    pub delay: Span,
    /// The longest that it takes to arrive and be handled.
    pub bound: Span,
}
