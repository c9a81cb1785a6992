//! Protocol between the coordinator and its children, over pipes.

use std::io::{self, Read, Write};

use quorate_core::{Belief, ProcessId, VectorClock};
use quorate_sim::plan::{FaultEvent, Memory};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// Maximum size of a frame in bytes.
const FRAME_MAX: usize = 256 << 20;

/// Messages to a child.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum ToChild {
    /// Specification of the process to run.
    Begin(Box<ChildSpec>),
    /// Listen addresses of all processes, and the running processes to connect to.
    Peers { addresses: Vec<String>, awaited: Vec<u32> },
    /// Start of the run, as a time of the machine's clock.
    Start { epoch: u64, stretch: u32 },
    /// Event that the coordinator causes.
    Instruct(Instruction),
}

/// Scenario, and the process that the child runs.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ChildSpec {
    pub(crate) scenario: String,
    pub(crate) me: ProcessId,
    pub(crate) incarnation: u32,
    pub(crate) cluster: u128,
    pub(crate) port: u16,
    /// Events of earlier incarnations. They are replayed because the user of the process keeps its memory.
    pub(crate) recorded: Vec<RecordedEvent>,
    pub(crate) clock: VectorClock,
    /// Times of crashes in the middle of a multicast, each with the number of sends before it.
    pub(crate) planned_crashes: Vec<(u64, u32)>,
}

/// Event that the coordinator causes in a child.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Instruction {
    Crashed(ProcessId),
    Alive(ProcessId),
    CrashMid(u32),
    RoundEnd(u64),
    Recover,
}

/// Event of an earlier incarnation that the child replays.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct RecordedEvent {
    pub(crate) time: u64,
    pub(crate) kind: RecordedKind,
}

impl RecordedEvent {
    /// Number of the round that the event ended, if any.
    pub(crate) const fn round_end(&self) -> Option<u64> {
        match &self.kind {
            RecordedKind::Instruction(Instruction::RoundEnd(number)) => Some(*number),
            _ => None,
        }
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum RecordedKind {
    Start,
    Scheduled,
    Arrival(ProcessId, Vec<u8>),
    Instruction(Instruction),
    Crash,
}

/// Messages from a child.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum FromChild {
    /// The child listens on this port.
    Listening(u16),
    /// The child is connected to all running processes.
    Ready,
    /// An event occurred in the process.
    Event(EventReport),
    /// No event occurred before this time.
    Idle(u64),
    /// The process crashed in the middle of a multicast, and the messages it had sent have arrived.
    CrashedMidMulticast,
    /// The child failed and cannot continue.
    Failed(String),
}

/// Event of a process.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct EventReport {
    pub(crate) time: u64,
    pub(crate) clock: VectorClock,
    pub(crate) kind: EventKind,
}

/// Kind of an event.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum EventKind {
    Start,
    /// The next scheduled event: a timer expired, the user gave a command, or a message to itself arrived.
    Scheduled,
    /// A message with this checksum arrived.
    Arrival {
        from: ProcessId,
        number: (u32, u64),
        check: u64,
    },
    /// The next instruction of the coordinator was applied.
    Instruction,
    /// A crash that the child knew in advance.
    PlannedCrash,
    /// The coordinator killed the process. Children do not report this.
    Crash,
}

/// Message between two children.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct TcpEnvelope {
    pub(crate) number: (u32, u64),
    pub(crate) clock: VectorClock,
    /// Number of rounds that had ended for the sender.
    pub(crate) round: u64,
    pub(crate) bytes: Vec<u8>,
}

impl Instruction {
    pub(crate) const fn belief(&self) -> Option<Belief> {
        match self {
            Self::Crashed(process) => Some(Belief::Crashed(*process)),
            Self::Alive(process) => Some(Belief::Alive(*process)),
            _ => None,
        }
    }

    pub(crate) const fn from_belief(belief: Belief) -> Self {
        match belief {
            Belief::Crashed(process) => Self::Crashed(process),
            Belief::Alive(process) => Self::Alive(process),
        }
    }

    /// The fault event that this instruction stands for, if any.
    pub(crate) const fn fault_event(&self, process: ProcessId) -> Option<FaultEvent> {
        match self {
            Self::CrashMid(sends) => Some(FaultEvent::CrashMid(process, *sends)),
            Self::Recover => Some(FaultEvent::Recover(process, Memory::Lost)),
            _ => None,
        }
    }
}

/// Checksum of a message (FNV-1a), to compare what arrived with what was sent.
pub(crate) fn checksum(bytes: &[u8]) -> u64 {
    let mix = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, mix)
}

/// Writes a frame in a single write.
pub(crate) fn write_frame(to: &mut impl Write, value: &impl Serialize) -> io::Result<()> {
    let mut bytes = vec![0; 4];
    bytes = postcard::to_extend(value, bytes).map_err(io::Error::other)?;
    let length = u32::try_from(bytes.len() - 4).map_err(io::Error::other)?;
    bytes[..4].copy_from_slice(&length.to_le_bytes());
    to.write_all(&bytes)?;
    to.flush()
}

/// Reads a frame; returns `None` when the pipe is closed.
pub(crate) fn read_frame<T: DeserializeOwned>(from: &mut impl Read) -> io::Result<Option<T>> {
    let mut length = [0; 4];
    match from.read_exact(&mut length) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        other => other?,
    }
    let length = u32::from_le_bytes(length) as usize;
    if length > FRAME_MAX {
        return Err(io::Error::other(format!("a frame of {length} bytes is too large")));
    }
    let mut bytes = vec![0; length];
    match from.read_exact(&mut bytes) {
        // The writer was killed in the middle of a frame, so the frame does not count.
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        other => other?,
    }
    postcard::from_bytes(&bytes).map(Some).map_err(io::Error::other)
}
