//! Multicast: what a user asks and hears, whatever the algorithm.
//!
//! A message is known by its sender and its number. It may have a body, which a layer above uses: a stamp to put
//! messages in order by, or a value to agree on.

use core::fmt::{self, Debug};
use core::hash::Hash;
use core::mem::size_of;

use crate::{Process, ProcessId, ProcessSet};

/// What the user of a multicast asks of its process.
#[derive(Clone, PartialEq, Eq, Hash)]
pub enum Command<B = ()> {
    /// Deliver this message to each of them.
    Multicast {
        /// Its number; those of one sender rise.
        id: u64,
        /// For whom it is.
        to: Group,
        /// What it says.
        body: B,
    },
}

/// What a message may say.
pub trait Body: Clone + Eq + Hash + Debug + Send + Sync {}

impl<B: Clone + Eq + Hash + Debug + Send + Sync> Body for B {}

/// For whom a message is.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Group {
    /// Everybody, the sender included.
    #[default]
    All,
    /// These; the sender need not be one of them.
    Only(ProcessSet),
}

impl Group {
    /// Whether the message is for this process.
    pub fn contains(&self, process: ProcessId) -> bool {
        match self {
            Self::All => true,
            Self::Only(members) => members.contains(process),
        }
    }

    /// The members among n processes.
    pub fn members(&self, n: usize) -> ProcessSet {
        match self {
            Self::All => ProcessSet::all(n),
            Self::Only(members) => members.clone(),
        }
    }

    /// How many members there are among n processes.
    pub fn size(&self, n: usize) -> usize {
        match self {
            Self::All => n,
            Self::Only(members) => members.len(),
        }
    }
}

/// What a multicast tells its user.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub enum Output<B = ()> {
    /// A message has arrived for good.
    Delivered {
        /// Whose it is.
        origin: ProcessId,
        /// Its number.
        id: u64,
        /// What it says.
        body: B,
    },
}

/// Traces do not speak of a body where there is none.
impl<B: Debug> Debug for Command<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self::Multicast { id, to, body } = self;
        let mut shown = f.debug_struct("Multicast");
        shown.field("id", id).field("to", to);
        if size_of::<B>() > 0 {
            shown.field("body", body);
        }
        shown.finish()
    }
}

impl<B: Debug> Debug for Output<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self::Delivered { origin, id, body } = self;
        let mut shown = f.debug_struct("Delivered");
        shown.field("origin", origin).field("id", id);
        if size_of::<B>() > 0 {
            shown.field("body", body);
        }
        shown.finish()
    }
}

/// A command that makes no sense now. Nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Misuse {
    /// A number that is not higher than the last.
    #[error("this process has multicast message {0} already, or a later one")]
    NumberUsed(u64),
    /// A group that is not everybody, which the algorithm cannot do.
    #[error("this multicast is for everybody, not for a group")]
    EverybodyOnly,
}

/// The last number that a user has given to a message: the next one must be higher.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct LastNumber(Option<u64>);

impl LastNumber {
    /// Takes a number, or refuses one that is not higher than the last.
    pub fn take(&mut self, id: u64) -> Result<(), Misuse> {
        if self.0.is_some_and(|last| id <= last) {
            return Err(Misuse::NumberUsed(id));
        }
        self.0 = Some(id);
        Ok(())
    }
}

/// A process that multicasts.
pub trait Multicast<B: Body = ()>:
    Process<Command = Command<B>, Output = Output<B>, Misuse = Misuse>
{
}

impl<B, P> Multicast<B> for P
where
    B: Body,
    P: Process<Command = Command<B>, Output = Output<B>, Misuse = Misuse>,
{
}
