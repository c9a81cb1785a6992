//! Agreement: what a user asks and hears, whatever the algorithm.

use alloc::vec::Vec;
use core::fmt;

use crate::Process;

/// Something to agree on. For generals 0 is to retreat and 1 to attack; for a transaction 0 is to abort and 1 to commit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Value(pub u64);

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// What the user of an agreement asks of its process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Command {
    /// Take part with this value: a proposal, an order of the commander, or a vote.
    Propose(Value),
}

/// What an agreement tells its user.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Output {
    /// This was decided, for good.
    Decided(Decision),
    /// Nothing can be decided until somebody who has crashed comes back.
    Blocked,
}

/// What was decided.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Decision {
    /// One value.
    Value(Value),
    /// A value for each process, in order; none where all agree that there is none.
    Vector(Vec<Option<Value>>),
}

/// A command that makes no sense now. Nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Misuse {
    /// It has proposed before.
    #[error("this process has proposed already")]
    AlreadyProposed,
}

/// A process that agrees with others.
pub trait Agreement: Process<Command = Command, Output = Output, Misuse = Misuse> {}

impl<P: Process<Command = Command, Output = Output, Misuse = Misuse>> Agreement for P {}
