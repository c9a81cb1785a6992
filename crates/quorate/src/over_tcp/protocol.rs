//! What the stage and its players say to each other, over pipes.

use std::io::{self, Read, Write};

use quorate_core::{Belief, ProcessId, VectorClock};
use quorate_sim::plan::{FaultEvent, Memory};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// More than this is not said at once.
const FRAME_MAX: usize = 256 << 20;

/// What a player is told.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum ToChild {
    /// What to play.
    Begin(Box<ChildSpec>),
    /// Where everybody listens, and who is there.
    Peers { addresses: Vec<String>, awaited: Vec<u32> },
    /// Begin at this time of the machine's clock.
    Start { epoch: u64, stretch: u32 },
    /// Something happens to the process.
    Instruct(Instruction),
}

/// Which process of what.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ChildSpec {
    pub(crate) scenario: String,
    pub(crate) me: ProcessId,
    pub(crate) incarnation: u32,
    pub(crate) cluster: u128,
    pub(crate) port: u16,
    /// What has happened to it in earlier lives: its user remembers.
    pub(crate) recorded: Vec<RecordedEvent>,
    pub(crate) clock: VectorClock,
    /// When it is to crash in the middle of a multicast, and after how many sends.
    pub(crate) planned_crashes: Vec<(u64, u32)>,
}

/// Something that the stage decides.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Instruction {
    Crashed(ProcessId),
    Alive(ProcessId),
    CrashMid(u32),
    RoundEnd(u64),
    Recover,
}

/// Something that happened to a process that is to play it again.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct RecordedEvent {
    pub(crate) time: u64,
    pub(crate) kind: RecordedKind,
}

impl RecordedEvent {
    /// Which round was over then, if one was.
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

/// What a player reports.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum FromChild {
    /// It listens at this port.
    Listening(u16),
    /// It is connected to everybody.
    Ready,
    /// Something happened to it.
    Event(EventReport),
    /// Nothing has happened until this time.
    Idle(u64),
    /// It crashed in the middle of a multicast, and what it did send has arrived.
    CrashedMidMulticast,
    /// It cannot go on.
    Failed(String),
}

/// An event of a process.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct EventReport {
    pub(crate) time: u64,
    pub(crate) clock: VectorClock,
    pub(crate) kind: EventKind,
}

/// What happened to it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum EventKind {
    Start,
    /// It did its next errand: a timer ran out, its user asked something, a message to itself arrived.
    Scheduled,
    /// A message arrived whose bytes have this checksum.
    Arrival {
        from: ProcessId,
        number: (u32, u64),
        check: u64,
    },
    /// It was told the next thing that the stage had told it.
    Instruction,
    /// What it knew beforehand would befall it does.
    PlannedCrash,
    /// The stage killed it; players do not report this.
    Crash,
}

/// A message between players.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct TcpEnvelope {
    pub(crate) number: (u32, u64),
    pub(crate) clock: VectorClock,
    /// How many rounds were over for the sender.
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

    /// As something that befalls the process, if it is that.
    pub(crate) const fn fault_event(&self, process: ProcessId) -> Option<FaultEvent> {
        match self {
            Self::CrashMid(sends) => Some(FaultEvent::CrashMid(process, *sends)),
            Self::Recover => Some(FaultEvent::Recover(process, Memory::Lost)),
            _ => None,
        }
    }
}

/// A checksum of a message, to compare what arrived with what was sent (FNV-1a).
pub(crate) fn checksum(bytes: &[u8]) -> u64 {
    let mix = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, mix)
}

/// Says something, in one write.
pub(crate) fn write_frame(to: &mut impl Write, value: &impl Serialize) -> io::Result<()> {
    let mut bytes = vec![0; 4];
    bytes = postcard::to_extend(value, bytes).map_err(io::Error::other)?;
    let length = u32::try_from(bytes.len() - 4).map_err(io::Error::other)?;
    bytes[..4].copy_from_slice(&length.to_le_bytes());
    to.write_all(&bytes)?;
    to.flush()
}

/// Hears something; none when the other side has gone.
pub(crate) fn read_frame<T: DeserializeOwned>(from: &mut impl Read) -> io::Result<Option<T>> {
    let mut length = [0; 4];
    match from.read_exact(&mut length) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        other => other?,
    }
    let length = u32::from_le_bytes(length) as usize;
    if length > FRAME_MAX {
        return Err(io::Error::other("more than is ever said at once"));
    }
    let mut bytes = vec![0; length];
    match from.read_exact(&mut bytes) {
        // It was killed in the middle of a word: it has not said it.
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        other => other?,
    }
    postcard::from_bytes(&bytes).map(Some).map_err(io::Error::other)
}
