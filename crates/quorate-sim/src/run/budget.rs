//! Memory budget of a run. A run that cannot fit is refused before it fills the memory.

use quorate_core::Process;

use super::error::{Bytes, RunError};
use crate::engine::World;
use crate::scenario::Scenario;

/// Size of one process and of one message in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryFootprint {
    /// Size of a process in bytes.
    process: usize,
    /// Size of a queued message in bytes.
    message: usize,
}

impl MemoryFootprint {
    /// Footprint of processes of type `P` and of their messages.
    pub const fn of<P: Process>() -> Self {
        Self { process: size_of::<P>(), message: World::<P, (), ()>::bytes_per_event() }
    }
}

/// Memory limit of a run, and the size of the parts that count against it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Budget {
    bytes: u64,
    per_process: u64,
    per_message: u64,
}

impl Budget {
    /// Creates a budget of `bytes`. A message in flight takes one queue item. The size is doubled because buffers grow
    /// ahead of need. If links keep order, the link also stores its last arrival time.
    pub(crate) fn new(bytes: u64, footprint: MemoryFootprint, scenario: &Scenario) -> Self {
        let queued = 2 * footprint.message as u64;
        let link = if scenario.fifo && !scenario.delay.is_constant() { 8 } else { 0 };
        Self { bytes, per_process: footprint.process as u64, per_message: queued + link }
    }

    /// Fails if the processes do not fit. A process counts with its own size, 400 bytes for its driver, its users, its
    /// counts and its monitors, and `extra_per_process`.
    pub(crate) fn check_processes(self, n: usize, extra_per_process: u64) -> Result<(), RunError> {
        let each = (self.per_process + 400).saturating_add(extra_per_process);
        let needed = (n as u64).saturating_mul(each);
        if needed > self.bytes {
            return Err(RunError::TooManyProcesses {
                n,
                needed: Bytes(needed),
                bound: Bytes(self.bytes),
            });
        }
        Ok(())
    }

    /// Fails if the messages that are in flight at the same time do not fit, before the run fills the memory with them.
    pub(crate) fn check_burst(self, messages: u64) -> Result<(), RunError> {
        if messages.saturating_mul(self.per_message) > self.bytes {
            return Err(self.too_many_messages(messages));
        }
        Ok(())
    }

    pub(crate) fn most_messages(self) -> usize {
        usize::try_from(self.bytes / self.per_message).unwrap_or(usize::MAX)
    }

    pub(crate) fn too_many_messages(self, messages: u64) -> RunError {
        let needed = Bytes(messages.saturating_mul(self.per_message));
        RunError::TooManyMessages { messages, needed, bound: Bytes(self.bytes) }
    }
}
