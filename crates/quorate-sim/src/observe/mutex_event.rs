//! The events of mutual exclusion, as monitors and measurements see them.

use crate::scenario::plan::Memory;

/// An event of a process in mutual exclusion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MutexEvent {
    /// The process has requested entry.
    Requested,
    /// The process has entered the critical section.
    Entered,
    /// The process has left the critical section.
    Left,
    /// The process has given up its request because no quorum is left.
    GaveUp,
    /// The process was inside and learns that it no longer is, because it crashed or its lease has ended.
    Expelled,
    /// The process has crashed.
    Crashed,
    /// The process has recovered, with or without memory.
    Recovered(Memory),
}
