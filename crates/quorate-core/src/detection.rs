//! Detection of stable properties: the commands and outputs that all algorithms share that observe a computation and announce that it
//! has terminated, or that it is in a deadlock.
//!
//! A property is stable if it stays true once it is true. The computation is driven by users: they decide when a process sends a message,
//! rests or waits.

use crate::{Process, ProcessId, ProcessSet};

/// The property that an algorithm detects, and thereby the computation that it observes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum StableProperty {
    /// Every process is passive, and no message is in flight. A passive process becomes active only when a message arrives.
    #[default]
    Termination,
    /// Deadlock by resources: a process that waits needs the grants of all processes that it waits for, and grants nothing meanwhile.
    /// Processes that wait for each other in a cycle wait forever.
    AndDeadlock,
    /// Deadlock by communication: a process that waits needs a message of one of the processes that it waits for, and sends nothing
    /// meanwhile. Processes wait forever if all processes wait that they directly or indirectly wait for.
    OrDeadlock,
}

/// A command of the user to a process of the computation.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Command {
    /// Begin a computation: become active. Only for the process that detects termination.
    Start,
    /// Send a message to another process. Only an active process may do so.
    Send(ProcessId),
    /// Become passive. Only an active process may do so.
    Rest,
    /// Wait for grants of all of these processes, or for a message of one of them, depending on the computation.
    Wait(ProcessSet),
    /// Grant what another process waits for: the one with the least number whose request has arrived.
    Grant,
}

/// An output to the user.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Output {
    /// A message of the computation has arrived. If the property is termination, the process is active now. In a deadlock by resources the
    /// message is a grant.
    Received(ProcessId),
    /// Another process waits for a grant of this one.
    Requested(ProcessId),
    /// The process no longer waits.
    Unblocked,
    /// The property holds: the computation has terminated, or this process is in a deadlock.
    Announced,
}

/// A command that is invalid in the present state. The state has not changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Misuse {
    /// The command belongs to another kind of computation.
    #[error("this computation has no such step")]
    WrongComputation,
    /// Only one process begins computations, and this is another one.
    #[error("only the process that detects termination begins a computation")]
    NotRoot,
    /// A passive or waiting process does nothing.
    #[error("the process is not active")]
    NotActive,
    /// A process sends to others only, and waits for others only.
    #[error("a step names at least one other process, and only others")]
    NotAnother,
    /// No request of another process has arrived.
    #[error("no process waits for a grant of this one")]
    NothingToGrant,
}

/// A process that runs a detection algorithm.
pub trait Detection: Process<Command = Command, Output = Output, Misuse = Misuse> {}

impl<P: Process<Command = Command, Output = Output, Misuse = Misuse>> Detection for P {}
