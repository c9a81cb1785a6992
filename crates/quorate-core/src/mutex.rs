//! Mutual exclusion: the commands and outputs that all mutex algorithms share.

use crate::{Process, ProcessId, ProcessSet};

/// A command of the user to a process that takes part in mutual exclusion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Command {
    /// Request to enter the critical section.
    Acquire,
    /// Leave the critical section.
    Release,
}

/// An output of a mutex algorithm to its user.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Output {
    /// The user has entered the critical section. Every other process is outside.
    Entered,
    /// The token of the entry that follows at once, if the algorithm has fencing tokens. It is greater than all earlier ones, so
    /// that a resource can refuse users that are not inside any more.
    Token(u64),
    /// The process has given up the request because no quorum is alive.
    NoQuorum,
    /// The user was inside and is not any more, so another process may be inside. Its process went down
    /// or its lease expired.
    Expelled,
}

/// A command that is invalid in the present state. The state has not changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Misuse {
    /// `Acquire` while the process waits or is inside.
    #[error("this process has already asked to enter")]
    AlreadyAsked,
    /// `Release` while the process is not inside.
    #[error("this process is not inside the critical section")]
    NotInside,
}

/// A process that runs a mutual exclusion algorithm.
pub trait Mutex: Process<Command = Command, Output = Output, Misuse = Misuse> {}

impl<P: Process<Command = Command, Output = Output, Misuse = Misuse>> Mutex for P {}

/// The voters among n processes in algorithms where only some vote: the last three, or all if there are fewer.
pub fn voters(n: usize) -> ProcessSet {
    ProcessId::all(n).skip(n.saturating_sub(3)).collect()
}
