//! Messages of each sender that a member has not delivered yet. FIFO order and causal order are judged by it.
//!
//! Cost: O(log n) for a delivery in order, O(k log k) if k messages before it are missing.

use quorate_core::definition::multicast::first_missing;
use quorate_core::multicast::Group;
use quorate_core::{ProcessId, SortedMap, SortedSet};

use crate::engine::observer::Moment;

/// Messages of all senders, and the progress of each member. A message
/// is identified by its rank among the messages of its sender.
#[derive(Clone, Debug, Default)]
pub(super) struct Backlog {
    sent: SortedMap<ProcessId, Vec<SentMessage>>,
    progress: SortedMap<(ProcessId, ProcessId), Progress>,
}

/// A message that was multicast.
#[derive(Clone, Debug)]
pub(super) struct SentMessage {
    pub(super) at: Moment,
    pub(super) id: u64,
    to: Group,
}

/// Deliveries of one sender by one member: all ranks below `next`, and the ranks in `ahead`.
#[derive(Clone, Debug, Default)]
struct Progress {
    next: usize,
    ahead: SortedSet<usize>,
}

impl Backlog {
    /// Records a multicast and returns its rank.
    pub(super) fn sent(&mut self, at: Moment, id: u64, to: Group) -> usize {
        let all = self.sent.entry(at.process).or_default();
        all.push(SentMessage { at, id, to });
        all.len() - 1
    }

    /// The rank of a message; none if it was never multicast.
    pub(super) fn rank(&self, origin: ProcessId, id: u64) -> Option<usize> {
        self.sent.get(&origin)?.binary_search_by_key(&id, |sent| sent.id).ok()
    }

    /// The message of this rank.
    pub(super) fn message(&self, origin: ProcessId, rank: usize) -> &SentMessage {
        &self.sent[&origin][rank]
    }

    /// Records that a member has delivered a message.
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

    /// The first message of a sender below rank `before` that is addressed to the member and that it has not delivered.
    pub(super) fn missing(
        &self,
        member: ProcessId,
        origin: ProcessId,
        before: usize,
    ) -> Option<&SentMessage> {
        let all = self.sent.get(&origin)?;
        let progress = self.progress.get(&(member, origin));
        let next = progress.map_or(0, |progress| progress.next);
        let addressed = |rank: usize| all[rank].to.contains(member);
        let delivered =
            |rank: usize| progress.is_some_and(|progress| progress.ahead.contains(&rank));
        first_missing(next..before.min(all.len()), addressed, delivered).map(|rank| &all[rank])
    }
}
