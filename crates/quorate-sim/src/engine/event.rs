//! The pending events of a world: messages in flight, timers, commands, beliefs and faults.

use quorate_core::{Belief, Process, ProcessId};

use crate::scenario::plan::FaultEvent;

/// A queued item: a message, or the slot of a scheduled event in `Engine::scheduled`.
#[derive(Debug)]
pub(crate) enum Item<M> {
    Message(M),
    Scheduled(u32),
}

/// An event that is rarer than a message and may be larger. Such events live in a slab, which keeps queued items small.
#[derive(Debug)]
pub(crate) enum ScheduledEvent<P: Process> {
    /// A message whose receiver has spent the handling time.
    Handled(Envelope<P::Message>),
    Timer {
        process: ProcessId,
        generation: u32,
        set_in: u64,
        timer: P::Timer,
    },
    Command(PendingCommand<P::Command>),
    Belief {
        observer: ProcessId,
        belief: Belief,
        because_of: u64,
        epoch: u32,
    },
    Fault(FaultEvent),
}

/// A message in flight.
#[derive(Debug)]
pub(crate) struct Envelope<M> {
    pub(crate) from: ProcessId,
    pub(crate) to: ProcessId,
    /// The tag that the observer attached to the message.
    pub(crate) tag: u32,
    pub(crate) message: M,
}

/// A command that a user gives to a process.
#[derive(Debug)]
pub(crate) struct PendingCommand<C> {
    pub(crate) process: ProcessId,
    pub(crate) command: C,
    /// The event that caused the user to give the command.
    pub(crate) because_of: Option<u64>,
    /// The incarnation of the process that the command is for. None if
    /// it was planned from the start: then it is for any incarnation.
    pub(crate) incarnation: Option<u32>,
}
