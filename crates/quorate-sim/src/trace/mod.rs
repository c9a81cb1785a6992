//! Traces: every event of a run with its cause, written in one of several formats as it happens, and read again.

mod jsonl;
mod perfetto;
mod read;
mod shiviz;
mod tee;

use std::borrow::Cow;
use std::fmt;
use std::io::{self, Write};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::history::Mark;
use crate::monitor::Evidence;
use crate::notation::NotationError;

pub use read::{RECORDS_MOST, ReadError, read};

/// One thing that happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// The event during which it happened: an input that a process handled, or a deed that befell it.
    pub event: u64,
    /// The time in nanoseconds.
    pub time: u64,
    /// Whose event it is.
    pub process: u32,
    /// What happened.
    #[serde(flatten)]
    pub kind: RecordKind,
    /// The event that caused it, if it was not this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<u64>,
}

/// What can happen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum RecordKind {
    /// A process starts.
    Start,
    /// A user asks something.
    Command {
        /// What.
        command: String,
        /// What users see of it.
        #[serde(flatten)]
        annotation: Annotation,
    },
    /// A message leaves.
    Send(TraceEnvelope),
    /// A message leaves a second time.
    Duplicate(TraceEnvelope),
    /// A message arrives.
    Deliver(TraceEnvelope),
    /// A message does not arrive.
    Lose {
        /// Which.
        #[serde(flatten)]
        envelope: TraceEnvelope,
        /// Why.
        why: Cow<'static, str>,
    },
    /// A timer runs out.
    Timer {
        /// Which.
        timer: String,
    },
    /// A detector changes its mind.
    Belief {
        /// About whom.
        about: u32,
        /// What it now believes.
        crashed: bool,
    },
    /// A round is over.
    RoundEnd {
        /// Which.
        round: u64,
    },
    /// A process is back.
    Recover {
        /// Whether it remembers.
        memory: bool,
    },
    /// A process tells its user something.
    Output {
        /// What.
        output: String,
        /// What users see of it.
        #[serde(flatten)]
        annotation: Annotation,
    },
    /// A command is refused.
    Refuse {
        /// Which.
        command: String,
        /// Why.
        why: String,
    },
    /// An input is ignored.
    Ignore {
        /// Why.
        why: Cow<'static, str>,
    },
    /// A process crashes.
    Crash,
    /// Groups can no longer reach each other.
    Partition {
        /// Who is still with whom. Whoever is in none of them is with the others left out.
        groups: Vec<Vec<u32>>,
    },
    /// Everybody can reach everybody again.
    Heal,
    /// Something else goes wrong.
    Fault {
        /// What.
        fault: String,
        /// Whom it befalls.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        processes: Vec<u32>,
    },
    /// A property was broken. What else happened stands before it.
    Violation {
        /// Which.
        property: Cow<'static, str>,
        /// When, in nanoseconds.
        moment: u64,
        /// How, in a sentence.
        detail: String,
        /// What led there.
        events: Vec<Evidence>,
    },
}

/// What users see of a command or of an output, whatever the algorithm.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Annotation {
    /// What it is to them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mark: Option<Mark>,
    /// More about it in a word or two: a leader, a decision, a message.
    #[serde(rename = "says", default, skip_serializing_if = "String::is_empty")]
    pub text: String,
}

/// A message in a trace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TraceEnvelope {
    /// Its number; both copies of a duplicate have it.
    pub message: u64,
    /// Who sent it.
    pub from: u32,
    /// To whom.
    pub to: u32,
    /// Its kind.
    pub kind: Cow<'static, str>,
    /// Its layer.
    pub layer: Cow<'static, str>,
    /// What it says.
    pub body: String,
}

impl Record {
    /// About how many bytes it takes.
    pub fn bytes(&self) -> usize {
        let texts = match &self.kind {
            RecordKind::Command { command, annotation } => command.len() + annotation.text.len(),
            RecordKind::Send(envelope)
            | RecordKind::Duplicate(envelope)
            | RecordKind::Deliver(envelope) => envelope.body.len(),
            RecordKind::Lose { envelope, .. } => envelope.body.len(),
            RecordKind::Timer { timer } => timer.len(),
            RecordKind::Output { output, annotation } => output.len() + annotation.text.len(),
            RecordKind::Refuse { command, why } => command.len() + why.len(),
            RecordKind::Fault { fault, .. } => fault.len(),
            _ => 0,
        };
        size_of::<Self>() + texts
    }
}

/// A trace format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// A JSON object a line, one for each record.
    JsonLines,
    /// The log that ShiViz reads: an event and its vector clock.
    ShiViz,
    /// The Chrome trace format, which Perfetto reads too.
    Perfetto,
}

impl Format {
    /// The format that a file's name asks for.
    pub fn of_file(name: &str) -> Self {
        match name.rsplit_once('.').map(|(_, ending)| ending) {
            Some("shiviz" | "log") => Self::ShiViz,
            Some("json" | "perfetto") => Self::Perfetto,
            _ => Self::JsonLines,
        }
    }

    /// A writer of this format for a run of n processes.
    pub fn writer<'w>(self, n: usize, out: impl Write + 'w) -> Box<dyn TraceSink + 'w> {
        match self {
            Self::JsonLines => Box::new(jsonl::JsonLines::new(out)),
            Self::ShiViz => Box::new(shiviz::ShiViz::new(n, out)),
            Self::Perfetto => Box::new(perfetto::Perfetto::new(n, out)),
        }
    }
}

impl FromStr for Format {
    type Err = NotationError;
    fn from_str(text: &str) -> Result<Self, NotationError> {
        match text {
            "jsonl" => Ok(Self::JsonLines),
            "shiviz" => Ok(Self::ShiViz),
            "perfetto" => Ok(Self::Perfetto),
            _ => Err(NotationError::new("a trace format: jsonl, shiviz or perfetto", text)),
        }
    }
}

/// Takes the records of a run one by one. One that fails ends the run.
pub trait TraceSink {
    /// The next record.
    fn record(&mut self, record: &Record) -> io::Result<()>;

    /// Whether it wants a record of this event. It is asked before each, what was broken apart: making one takes time.
    fn wants(&mut self, event: u64, process: u32) -> io::Result<bool> {
        let _ = (event, process);
        Ok(true)
    }

    /// What the process of this event has become by it; told after the records of the event.
    fn state(&mut self, event: u64, process: u32, state: &dyn fmt::Debug) -> io::Result<()> {
        let _ = (event, process, state);
        Ok(())
    }

    /// That was the last one.
    fn finish(&mut self) -> io::Result<()>;
}

/// In words, for people: `REQUEST from p0`.
impl fmt::Display for RecordKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Start => f.write_str("start"),
            Self::Command { command, .. } => write!(f, "asked: {command}"),
            Self::Send(envelope) => write!(f, "{} to p{}", envelope.kind, envelope.to),
            Self::Duplicate(envelope) => write!(f, "{} to p{}, again", envelope.kind, envelope.to),
            Self::Deliver(envelope) => write!(f, "{} from p{}", envelope.kind, envelope.from),
            Self::Lose { envelope, why } => {
                write!(
                    f,
                    "{} from p{} to p{} does not arrive: {why}",
                    envelope.kind, envelope.from, envelope.to
                )
            }
            Self::Timer { timer } => write!(f, "timer {timer}"),
            Self::Belief { about, crashed: true } => {
                write!(f, "believes that p{about} has crashed")
            }
            Self::Belief { about, crashed: false } => write!(f, "believes that p{about} is alive"),
            Self::RoundEnd { round } => write!(f, "round {round} is over"),
            Self::Recover { memory: true } => f.write_str("back"),
            Self::Recover { memory: false } => f.write_str("back without memory"),
            Self::Output { output, .. } => write!(f, "says: {output}"),
            Self::Refuse { command, why } => write!(f, "refuses {command}: {why}"),
            Self::Ignore { why } => write!(f, "ignores {why}"),
            Self::Crash => f.write_str("crash"),
            Self::Partition { groups } => {
                let name = |process: &u32| format!("p{process}");
                let group = |group: &Vec<u32>| {
                    format!("{{{}}}", group.iter().map(name).collect::<Vec<_>>().join(", "))
                };
                let groups: Vec<String> = groups.iter().map(group).collect();
                write!(f, "partition into {}", groups.join(" "))
            }
            Self::Heal => f.write_str("the partition heals"),
            Self::Fault { fault, .. } => f.write_str(fault),
            Self::Violation { property, detail, .. } => write!(f, "{property} violated: {detail}"),
        }
    }
}
