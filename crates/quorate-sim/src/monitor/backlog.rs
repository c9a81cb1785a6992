//! What each member has yet to deliver of each sender: the notes that FIFO and causal order are judged by.
//!
//! Cost: O(log n) for a delivery in order, O(k log k) where k messages are missing before it.

use std::collections::{BTreeMap, BTreeSet};

use quorate_core::ProcessId;
use quorate_core::multicast::Group;

use crate::observer::Moment;

/// The messages of all senders, and what each member has of them. A message is known by its rank among those of its
/// sender.
#[derive(Clone, Debug, Default)]
pub(super) struct Backlog {
    sent: BTreeMap<ProcessId, Vec<SentMessage>>,
    progress: BTreeMap<(ProcessId, ProcessId), Progress>,
}

/// A message.
#[derive(Clone, Debug)]
pub(super) struct SentMessage {
    pub(super) at: Moment,
    pub(super) id: u64,
    to: Group,
}

/// What a member has of a sender: all before `next`, and these.
#[derive(Clone, Debug, Default)]
struct Progress {
    next: usize,
    ahead: BTreeSet<usize>,
}

impl Backlog {
    /// A message is multicast; its rank.
    pub(super) fn sent(&mut self, at: Moment, id: u64, to: Group) -> usize {
        let all = self.sent.entry(at.process).or_default();
        all.push(SentMessage { at, id, to });
        all.len() - 1
    }

    /// The rank of a message, if it was multicast.
    pub(super) fn rank(&self, origin: ProcessId, id: u64) -> Option<usize> {
        self.sent.get(&origin)?.binary_search_by_key(&id, |sent| sent.id).ok()
    }

    /// The message of that rank.
    pub(super) fn message(&self, origin: ProcessId, rank: usize) -> &SentMessage {
        &self.sent[&origin][rank]
    }

    /// A member has delivered a message.
    pub(super) fn delivered(&mut self, member: ProcessId, origin: ProcessId, rank: usize) {
        let progress = self.progress.entry((member, origin)).or_default();
        if rank >= progress.next {
            progress.ahead.insert(rank);
        }
        let all = self.sent.get(&origin).map_or(&[][..], Vec::as_slice);
        let passed = |rank: usize| all.get(rank).is_some_and(|sent| !sent.to.contains(member));
        while progress.ahead.remove(&progress.next) || passed(progress.next) {
            progress.next += 1;
        }
    }

    /// The first of a sender's messages before that rank which is for the member and which it has not delivered.
    pub(super) fn missing(
        &self,
        member: ProcessId,
        origin: ProcessId,
        before: usize,
    ) -> Option<&SentMessage> {
        let all = self.sent.get(&origin)?;
        let progress = self.progress.get(&(member, origin));
        let next = progress.map_or(0, |progress| progress.next);
        let lacks = |rank: &usize| {
            all[*rank].to.contains(member)
                && !progress.is_some_and(|progress| progress.ahead.contains(rank))
        };
        (next..before.min(all.len())).find(lacks).map(|rank| &all[rank])
    }
}
