//! What members say to each other.

use core::fmt::Debug;
use core::hash::Hash;

use quorate_core::{Kind, Message as CoreMessage, Time};

/// What a lock is called.
pub trait Name: Clone + Ord + Hash + Debug + Send + Sync {}

impl<K: Clone + Ord + Hash + Debug + Send + Sync> Name for K {}

/// One request for one lock. The earliest is the first in every queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Ticket {
    /// The logical time at which it was made.
    pub stamp: u64,
    /// Whose it is.
    pub session: u128,
    /// Which one of its session's.
    pub number: u64,
}

/// A member shows that it is alive: which life of it, and when by its own clock it said so.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Sign {
    /// Grows whenever the member starts again and has forgotten.
    pub life: u64,
    /// When, by its own clock.
    pub sent: Time,
}

/// All that a voter has lent to a member since this began hangs together: it lapses together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Epoch {
    /// Which life of the voter.
    pub life: u64,
    /// Which lease in it.
    pub lease: u32,
}

/// What a voter answers to a sign: it has extended the lease, counted from when the sign was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Extension {
    /// Which lease.
    pub epoch: Epoch,
    /// When the last sign was sent, by the clock of who sent it.
    pub echo: Time,
}

/// What members say.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message<K> {
    /// I am alive.
    Sign(Sign),
    /// Voter: what I have lent you is yours for longer.
    Extended(Extension),
    /// Candidate: I want this lock, for a request that has moved to me as the so-manyth member.
    Request(K, Ticket, Sign, u32),
    /// Voter: my vote of this number is yours.
    Vote(K, Ticket, u64, Extension),
    /// Voter: an earlier request is here; may I have the vote of this number back, that I gave under this lease?
    Inquire(K, Ticket, u64, Epoch),
    /// Candidate: have the vote of this number back, for now.
    Yield(K, Ticket, u64),
    /// Voter: others wait; do you still need my vote?
    Probe(K, Ticket),
    /// Candidate: I do not need your vote any more.
    Release(K, Ticket),
    /// Candidate: others have come further; let nobody after me have less than this.
    Raise(K, Ticket, u64),
    /// Voter: so be it, and my vote is still yours.
    Raised(K, Ticket, u64),
    /// I have forgotten my counters; how far have you come?
    HowFar,
    /// As far as this.
    SoFar(u64),
    /// Somebody who may do so wants this request to lose the lock.
    Expel(K, Ticket),
    /// Voter: my vote is another's, and you are so far back in my queue, the first being 1.
    Behind(Ticket, u32),
}

impl<K: Name> CoreMessage for Message<K> {
    const KINDS: &'static [Kind] = &[
        Kind::mutex("SIGN"),
        Kind::mutex("EXTENDED"),
        Kind::mutex("REQUEST"),
        Kind::mutex("VOTE"),
        Kind::mutex("INQUIRE"),
        Kind::mutex("YIELD"),
        Kind::mutex("PROBE"),
        Kind::mutex("RELEASE"),
        Kind::mutex("RAISE"),
        Kind::mutex("RAISED"),
        Kind::mutex("HOW-FAR"),
        Kind::mutex("SO-FAR"),
        Kind::mutex("EXPEL"),
        Kind::mutex("BEHIND"),
    ];

    fn kind(&self) -> usize {
        match self {
            Self::Sign(_) => 0,
            Self::Extended(_) => 1,
            Self::Request(..) => 2,
            Self::Vote(..) => 3,
            Self::Inquire(..) => 4,
            Self::Yield(..) => 5,
            Self::Probe(..) => 6,
            Self::Release(..) => 7,
            Self::Raise(..) => 8,
            Self::Raised(..) => 9,
            Self::HowFar => 10,
            Self::SoFar(_) => 11,
            Self::Expel(..) => 12,
            Self::Behind(..) => 13,
        }
    }
}
