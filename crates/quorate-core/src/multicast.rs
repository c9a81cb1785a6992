//! Multicast: what a user asks and hears, whatever the algorithm.

use crate::{Process, ProcessId, ProcessSet};

/// What the user of a multicast asks of its process.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Command {
    /// Deliver this message to each of them.
    Multicast {
        /// Its number; those of one sender rise.
        id: u64,
        /// For whom it is.
        to: Group,
    },
}

/// For whom a message is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub enum Group {
    /// Everybody, the sender included.
    #[default]
    All,
    /// These; the sender need not be one of them.
    Only(ProcessSet),
}

impl Group {
    /// Whether the message is for this process.
    pub fn contains(&self, process: ProcessId) -> bool {
        match self {
            Self::All => true,
            Self::Only(members) => members.contains(process),
        }
    }

    /// The members among n processes.
    pub fn members(&self, n: usize) -> ProcessSet {
        match self {
            Self::All => ProcessSet::all(n),
            Self::Only(members) => members.clone(),
        }
    }

    /// How many members there are among n processes.
    pub fn size(&self, n: usize) -> usize {
        match self {
            Self::All => n,
            Self::Only(members) => members.len(),
        }
    }
}

/// What a multicast tells its user.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Output {
    /// A message has arrived for good.
    Delivered {
        /// Whose it is.
        origin: ProcessId,
        /// Its number.
        id: u64,
    },
}

/// A command that makes no sense now. Nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Misuse {
    /// A number that is not higher than the last.
    #[error("this process has multicast message {0} already, or a later one")]
    NumberUsed(u64),
}

/// A process that multicasts.
pub trait Multicast: Process<Command = Command, Output = Output, Misuse = Misuse> {}

impl<P: Process<Command = Command, Output = Output, Misuse = Misuse>> Multicast for P {}
