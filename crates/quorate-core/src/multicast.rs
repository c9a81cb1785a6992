//! Multicast: the commands and outputs that all multicast algorithms share.
//!
//! A message is identified by its sender and its number. Its body is the content that the user sends, or data of a layer
//! above: a stamp by which messages are ordered, or a value to agree on.

use core::fmt::{self, Debug};
use core::hash::Hash;

use crate::message::UNCONDITIONAL_LIE;
use crate::{Process, ProcessId, ProcessSet};

/// A command of the user to a process that multicasts.
#[derive(Clone, PartialEq, Eq, Hash)]
pub enum Command<B = Content> {
    /// Deliver this message to each member of a group.
    Multicast {
        /// The number of the message. Numbers of one sender increase.
        id: u64,
        /// The group of recipients.
        to: Group,
        /// The content of the message.
        body: B,
    },
}

/// Bounds on the body of a message.
pub trait Body: Clone + Eq + Hash + Debug + Send + Sync {
    /// Whether traces show the body. The content that a correct sender gave to a message is left out, to keep traces short.
    fn is_shown(&self) -> bool {
        true
    }
}

/// The content of a message, as far as observers tell contents apart.
///
/// A correct sender gives each message one content, [`Content::TRUE`]. A Byzantine process may give the same message
/// other contents, and different ones to different receivers. Algorithms that assume honest processes need not send it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Content(pub u8);

impl Content {
    /// The content of a message of a correct sender.
    pub const TRUE: Self = Self(0);

    /// The content that a Byzantine process sends instead of this one. An odd choice flips the lowest bit, an even choice
    /// keeps the content. From [`UNCONDITIONAL_LIE`] on the result is one of two contents, independent of this one.
    #[must_use]
    pub const fn forged(self, choice: u64) -> Self {
        let content = if choice >= UNCONDITIONAL_LIE { 0 } else { self.0 };
        Self(content ^ (choice & 1) as u8)
    }
}

impl Body for Content {
    fn is_shown(&self) -> bool {
        *self != Self::TRUE
    }
}

/// The group of recipients of a message.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Group {
    /// All processes, including the sender.
    #[default]
    All,
    /// The members of this set, which need not include the sender.
    Only(ProcessSet),
}

impl Group {
    /// Returns `true` if the process is a member of the group.
    pub fn contains(&self, process: ProcessId) -> bool {
        match self {
            Self::All => true,
            Self::Only(members) => members.contains(process),
        }
    }

    /// The members of the group among n processes.
    pub fn members(&self, n: usize) -> ProcessSet {
        match self {
            Self::All => ProcessSet::all(n),
            Self::Only(members) => members.clone(),
        }
    }

    /// Number of members among n processes.
    pub fn size(&self, n: usize) -> usize {
        match self {
            Self::All => n,
            Self::Only(members) => members.len(),
        }
    }
}

/// An output of a multicast algorithm to its user.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub enum Output<B = Content> {
    /// A message is delivered. A delivery is final.
    Delivered {
        /// The sender of the message.
        origin: ProcessId,
        /// The number that the sender gave to the message.
        id: u64,
        /// The content of the message.
        body: B,
    },
}

impl<B: Body> Debug for Command<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self::Multicast { id, to, body } = self;
        let mut shown = f.debug_struct("Multicast");
        shown.field("id", id).field("to", to);
        if body.is_shown() {
            shown.field("body", body);
        }
        shown.finish()
    }
}

impl<B: Body> Debug for Output<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self::Delivered { origin, id, body } = self;
        let mut shown = f.debug_struct("Delivered");
        shown.field("origin", origin).field("id", id);
        if body.is_shown() {
            shown.field("body", body);
        }
        shown.finish()
    }
}

/// A command that is invalid in the present state. The state has not changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Misuse {
    /// The number is not greater than the last number of this process.
    #[error("this process has multicast message {0} already, or a later one")]
    NumberUsed(u64),
    /// The algorithm delivers only to all processes, not to a smaller group.
    #[error("this multicast goes to all processes, not to a group")]
    EverybodyOnly,
}

/// The last number that the user has given to a message. The next one must be greater.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct LastNumber(Option<u64>);

impl LastNumber {
    /// Records a number. Fails if it is not greater than the last number.
    pub fn take(&mut self, id: u64) -> Result<(), Misuse> {
        if self.0.is_some_and(|last| id <= last) {
            return Err(Misuse::NumberUsed(id));
        }
        self.0 = Some(id);
        Ok(())
    }
}

/// A process that runs a multicast algorithm.
pub trait Multicast<B: Body = Content>:
    Process<Command = Command<B>, Output = Output<B>, Misuse = Misuse>
{
}

impl<B, P> Multicast<B> for P
where
    B: Body,
    P: Process<Command = Command<B>, Output = Output<B>, Misuse = Misuse>,
{
}
