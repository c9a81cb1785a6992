//! Election: what a user asks and hears, whatever the algorithm.

use core::fmt;

use crate::{Process, ProcessId};

/// What the user of an election asks of its process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Command {
    /// Begin an election: the coordinator seems to have failed, or there is none yet.
    Elect,
    /// From the next election on, stand with this identifier: a load or a battery that has changed. An election that
    /// is under way keeps the old one.
    Identify(u64),
}

/// With what a process stands for election: the greatest wins. Equal values are told apart by the processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Identifier {
    /// The value; compared first.
    pub value: u64,
    /// Whose it is; decides between equal values.
    pub process: ProcessId,
}

impl fmt::Display for Identifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.value, self.process)
    }
}

/// What an election tells its user.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Output {
    /// It takes part in an election, and until that is over knows no leader.
    Undecided,
    /// The election is over for this process, and this is the leader.
    Elected(Identifier),
}

/// A command that makes no sense now. Nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Misuse {
    /// It takes part in an election already.
    #[error("this process takes part in an election already")]
    UnderWay,
}

/// A process that elects.
pub trait Election: Process<Command = Command, Output = Output, Misuse = Misuse> {}

impl<P: Process<Command = Command, Output = Output, Misuse = Misuse>> Election for P {}
