//! Mutual exclusion: what a user asks and hears, whatever the algorithm.

use crate::{Process, ProcessId, ProcessSet};

/// What the user of a mutex asks of its process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Command {
    /// Let me into the critical section when it is my turn.
    Acquire,
    /// I have left the critical section.
    Release,
}

/// What a mutex tells its user.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Output {
    /// You are inside; everyone else is outside.
    Entered,
    /// No quorum is left alive: the request is given up.
    NoQuorum,
    /// You were inside and are no longer: others may be. Your process went down, or its lease has ended.
    Expelled,
}

/// A command that makes no sense now. Nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Misuse {
    /// Acquire while waiting or inside.
    #[error("this process has already asked to enter")]
    AlreadyAsked,
    /// Release while not inside.
    #[error("this process is not inside the critical section")]
    NotInside,
}

/// A process that is a mutex.
pub trait Mutex: Process<Command = Command, Output = Output, Misuse = Misuse> {}

impl<P: Process<Command = Command, Output = Output, Misuse = Misuse>> Mutex for P {}

/// The voters among n processes where only some vote: the last three, or all if there are fewer.
pub fn voters(n: usize) -> ProcessSet {
    ProcessId::all(n).skip(n.saturating_sub(3)).collect()
}
