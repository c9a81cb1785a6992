//! The records of a trace, and their descriptions in words.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::observe::history::Mark;
use crate::observe::monitor::Evidence;

/// A record of a trace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// Number of the event during which it happened: an input that a process handled, or a fault.
    pub event: u64,
    /// Time of the record in nanoseconds.
    pub time: u64,
    /// The process of the event.
    pub process: u32,
    /// The contents of the record.
    #[serde(flatten)]
    pub kind: RecordKind,
    /// The event that caused it, if it is not this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<u64>,
}

/// The contents of a record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum RecordKind {
    /// A process starts at time zero.
    Start,
    /// A user gives a command.
    Command {
        /// The command in debug format.
        command: String,
        /// The observable meaning of the command.
        #[serde(flatten)]
        annotation: Annotation,
    },
    /// A message is sent.
    Send(TraceEnvelope),
    /// The network sends a second copy of a message.
    Duplicate(TraceEnvelope),
    /// A message is delivered.
    Deliver(TraceEnvelope),
    /// A message is lost.
    Lose {
        /// The message that is lost.
        #[serde(flatten)]
        envelope: TraceEnvelope,
        /// The reason for the loss.
        why: Cow<'static, str>,
    },
    /// A timer of a process expires.
    Timer {
        /// The timer in debug format.
        timer: String,
    },
    /// A detector changes its belief.
    Belief {
        /// The process that the belief is about.
        about: u32,
        /// Whether the process is now believed to have crashed.
        crashed: bool,
    },
    /// A synchronous round ends.
    RoundEnd {
        /// Number of the round.
        round: u64,
    },
    /// A process recovers from a crash.
    Recover {
        /// Whether the process has kept its memory.
        memory: bool,
    },
    /// A process produces an output for its user.
    Output {
        /// The output in debug format.
        output: String,
        /// The observable meaning of the output.
        #[serde(flatten)]
        annotation: Annotation,
    },
    /// A process refuses a command.
    Refuse {
        /// The command in debug format.
        command: String,
        /// The reason for the refusal.
        why: String,
    },
    /// A process ignores an input.
    Ignore {
        /// The reason why it is ignored.
        why: Cow<'static, str>,
    },
    /// A process crashes and stops.
    Crash,
    /// The network is partitioned.
    Partition {
        /// The groups of the partition. All processes that are in no group form one more group.
        groups: Vec<Vec<u32>>,
    },
    /// The network partition ends.
    Heal,
    /// A fault of another kind.
    Fault {
        /// Description of the fault in words.
        fault: String,
        /// The affected processes; empty if the fault affects the whole network.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        processes: Vec<u32>,
    },
    /// A property was violated. Violations follow all other records.
    Violation {
        /// Identifier of the property.
        property: Cow<'static, str>,
        /// Time of the violation in nanoseconds.
        moment: u64,
        /// Description of the violation in a sentence.
        detail: String,
        /// Events that led to the violation.
        events: Vec<Evidence>,
    },
}

impl RecordKind {
    /// Whether it is an event of logical time: a message is sent or delivered, or the user and the process communicate.
    pub const fn is_event(&self) -> bool {
        matches!(
            self,
            Self::Send(_) | Self::Deliver(_) | Self::Command { .. } | Self::Output { .. }
        )
    }
}

/// The observable meaning of a command or an output, independent of the algorithm.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Annotation {
    /// The mark of the command or output, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mark: Option<Mark>,
    /// Short text with more detail: a leader, a decision or a message.
    #[serde(rename = "says", default, skip_serializing_if = "String::is_empty")]
    pub text: String,
}

/// A message in a trace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TraceEnvelope {
    /// Number of the message; both copies of a duplicate have the same number.
    pub message: u64,
    /// The sender of the message.
    pub from: u32,
    /// The receiver of the message.
    pub to: u32,
    /// Name of the message kind.
    pub kind: Cow<'static, str>,
    /// Name of the layer of the message.
    pub layer: Cow<'static, str>,
    /// Contents of the message in debug format.
    pub body: String,
}

impl Record {
    /// Approximate memory size of the record in bytes.
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

/// Describes the record in words: `REQUEST from p0`.
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
