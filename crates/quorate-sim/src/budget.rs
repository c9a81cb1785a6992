//! How much memory a run may take, and whether it fits: said before the memory is full.

use quorate_core::Process;

use crate::run::RunError;
use crate::scenario::Scenario;
use crate::world::World;

/// A number of bytes, for people.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bytes(pub u64);

impl std::fmt::Display for Bytes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        const UNITS: [(u64, &str); 3] = [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
        match UNITS.into_iter().find(|(size, _)| self.0 >= *size) {
            Some((size, unit)) => write!(f, "{:.1} {unit}", self.0 as f64 / size as f64),
            None => write!(f, "{} bytes", self.0),
        }
    }
}

/// What one process and one message under way take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryFootprint {
    /// The bytes of a process.
    process: usize,
    /// The bytes of a message in the queue.
    message: usize,
}

impl MemoryFootprint {
    /// The weight of such processes and their messages.
    pub const fn of<P: Process>() -> Self {
        Self { process: size_of::<P>(), message: World::<P, (), ()>::bytes_per_event() }
    }
}

/// The memory that a run may take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Budget {
    bytes: u64,
    per_process: u64,
    per_message: u64,
}

impl Budget {
    /// So many bytes. A message under way takes its place in the queue, with the room by which buffers grow
    /// ahead of need, and the place where its link remembers the last arrival.
    pub(crate) fn new(bytes: u64, footprint: MemoryFootprint, scenario: &Scenario) -> Self {
        let queued = 2 * footprint.message as u64;
        let link = if scenario.fifo && !scenario.delay.is_constant() { 8 } else { 0 };
        Self { bytes, per_process: footprint.process as u64, per_message: queued + link }
    }

    /// The process itself, what its driver keeps for it, its users, its books and its monitors.
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

    /// Better to say that what is under way at once does not fit than to fill the memory with it first.
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
