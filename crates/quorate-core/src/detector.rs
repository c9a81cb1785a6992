//! What a failure detector tells the processes above it.

use crate::{Process, ProcessId};

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

/// A process whose outputs are beliefs, told again after a recovery: whatever stands over it hears them as its own detector's.
pub trait Detector: Process<Output = Belief> {}
