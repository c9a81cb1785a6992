//! The state that a candidate keeps about one voter.

use alloc::vec::Vec;

use quorate_core::SortedMap;

use super::super::id::{Epoch, RequestId};
use super::super::message::{Entry, Part};

/// A voter as the candidate sees it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct View<K> {
    pub(super) epoch: Option<Epoch>,
    /// Version of the last complete list.
    pub(super) version: Option<u64>,
    /// The last complete list.
    pub(super) listed: SortedMap<RequestId, Entry<K>>,
    /// A list of which the first parts have arrived: version, index of the next part, entries.
    pub(super) arriving: Option<(u64, u32, Vec<Entry<K>>)>,
    /// The newest beat of the client's incarnation that the voter has echoed in this epoch.
    pub(super) beat: Option<u64>,
    /// Whether the voter knows that the session is continuous in this epoch.
    pub(super) continuous: bool,
    /// Whether this candidate has confirmed that it is.
    pub(super) confirmed: bool,
    /// The first beat that began after the candidate had heard of this epoch.
    pub(super) counts_from: u64,
    pub(super) clock: u64,
    /// Whether the voter is unreachable or does not vote.
    pub(super) avoided: bool,
}

impl<K> Default for View<K> {
    fn default() -> Self {
        Self {
            epoch: None,
            version: None,
            listed: SortedMap::new(),
            arriving: None,
            beat: None,
            continuous: false,
            confirmed: false,
            counts_from: 0,
            clock: 0,
            avoided: false,
        }
    }
}

impl<K> View<K> {
    /// Returns `true` if the voter has answered and the session is not known to be continuous there.
    pub(super) fn is_unconfirmed(&self) -> bool {
        self.version.is_some() && !self.continuous && !self.confirmed
    }

    /// Epoch and version of the last complete list, from which the voter decides whether to send a new one.
    pub(super) fn seen(&self) -> Option<(Epoch, u64)> {
        Some((self.epoch?, self.version?))
    }

    /// Handles a part of a list. Returns `true` if the candidate now has the list of this version. An echo whose list
    /// the candidate lacks has no effect.
    pub(super) fn take_list(
        &mut self,
        version: u64,
        part: Option<Part>,
        entries: Vec<Entry<K>>,
    ) -> bool {
        let Some(part) = part else { return self.version == Some(version) };
        if self.version.is_some_and(|known| known > version) {
            return false;
        }
        let (of, next, mut list) = self.arriving.take().unwrap_or((version, 0, Vec::new()));
        if part.index == 0 {
            list = Vec::new();
        } else if of != version || next != part.index {
            return false;
        }
        list.extend(entries);
        if !part.is_last {
            self.arriving = Some((version, part.index + 1, list));
            return false;
        }
        self.listed = list.into_iter().map(|entry| (entry.claim.request, entry)).collect();
        self.version = Some(version);
        true
    }
}
