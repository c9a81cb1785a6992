//! What nodes say to each other.

use crate::keeper::Moving;
use crate::lease::{LeaseId, Leased};
use quorate_algorithms::detector::VcubeDiagnosis;
use quorate_algorithms::mutex::leased::Locks;
use quorate_core::{Process, Stack};
use quorate_protocol::{About, Answer, Change, Cursor, Name};
use serde::{Deserialize, Serialize};

/// Locks over a detector.
pub(crate) type Member = Stack<Locks<Name>, VcubeDiagnosis>;

/// What nodes say to each other. Variants are only ever appended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PeerMessage {
    /// Of the algorithms.
    Process(<Member as Process>::Message),
    /// A question, with the number that its answer has.
    Question(u64, Question),
    /// An answer.
    Reply(u64, Reply),
    /// Clients here watch names that begin so: tell what changes.
    Watching(Vec<String>),
    /// Something has changed that you watch.
    Changed(Change),
    /// Clients reach me here.
    Door(String),
    /// A client of mine asks for this of a lease that you have. The answer has the same number.
    Relay(u64, LeaseId, Leased),
    /// The answer to that.
    Relayed(u64, Answer),
    /// The prefixes that clients here watch have changed.
    Interest(Interest),
}

/// A change of what clients of a node watch.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Interest {
    /// Everything told before is void.
    pub reset: bool,
    /// Prefixes that are watched from now on.
    pub add: Vec<String>,
    /// Prefixes that are not watched any longer.
    pub remove: Vec<String>,
}

/// Requests that are wanted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Selection {
    /// What names begin with.
    pub prefix: String,
    /// Whether names are exactly this.
    pub exact: bool,
    /// Only requests after this place.
    pub after: Option<Cursor>,
}

impl Selection {
    pub(crate) fn names(&self, name: &str) -> bool {
        if self.exact { name == self.prefix } else { name.starts_with(self.prefix.as_str()) }
    }

    /// Whether a request is selected.
    pub(crate) fn has(&self, about: &About) -> bool {
        let after = self.after.as_ref();
        self.names(about.name.text()) && after.is_none_or(|after| Cursor::of(about) > *after)
    }
}

/// What a node asks all others.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Question {
    /// Who has and wants what through you, of names that begin so, and at most so many.
    Requests(String, u32),
    /// How far have you come with this lock?
    Counter(Name),
    /// Take this lock away from whoever has it through you, for this reason.
    Expel(Name, String),
    /// Have you heard what I said before?
    Heard,
    /// I leave: have this session.
    TakeOver(Box<Moving>),
    /// Have you this lease?
    HasLease(LeaseId),
    /// Which leases of this client have you?
    Leases(String),
    /// The first of the selected requests through this node, at most this number.
    Page(Selection, u32),
}

/// What a node answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Reply {
    /// These.
    Requests(Vec<About>),
    /// So far; none if it does not vote.
    Counter(Option<u64>),
    /// Whether somebody had it.
    Expelled(bool),
    /// Yes.
    Heard,
    /// Whether I have it.
    TakenOver(bool),
    /// Whether I have it.
    HasLease(bool),
    /// These.
    Leases(Vec<i64>),
    /// These, and whether there are more.
    Page(Vec<About>, bool),
}
