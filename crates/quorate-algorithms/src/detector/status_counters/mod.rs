//! Knowledge of crashes and recoveries, for detectors that spread it by gossip.
//!
//! Each process has a counter of its crashes and recoveries, which is odd while the process is down. A higher counter
//! is newer, whichever process reports it. So updates are idempotent and may arrive in any order.

use alloc::vec::Vec;

use quorate_core::{Belief, ProcessId, ProcessSet, SortedMap};

/// Limit of a counter. No process crashes this often, so only a lying process sends a counter that reaches it.
const COUNTER_MAX: u32 = u32::MAX / 2;

/// The counters of all processes, as known by one process.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct StatusCounters {
    /// Number of crashes and recoveries of each process. Processes without an entry have never crashed.
    counters: SortedMap<ProcessId, u32>,
    crashed: ProcessSet,
}

/// The result of merging a received counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CounterUpdate {
    /// The counter cannot be genuine: the process does not exist, or the counter is too high.
    Impossible,
    /// The counter was known, or is older than the known one.
    Old,
    /// The counter is new. The belief is present if it has changed.
    New(Option<Belief>),
    /// The sender believes that this process has crashed. This process has raised its own counter to contradict.
    Contradicted,
}

impl StatusCounters {
    /// The processes that are down, as far as known.
    pub(super) fn crashed(&self) -> &ProcessSet {
        &self.crashed
    }

    /// Number of crashes and recoveries of a process.
    pub(super) fn of(&self, process: ProcessId) -> u32 {
        self.counters.get(&process).copied().unwrap_or(0)
    }

    /// The counters of all processes that have ever changed.
    pub(super) fn all(&self) -> Vec<(ProcessId, u32)> {
        self.counters.iter().map(|(about, counter)| (*about, *counter)).collect()
    }

    /// Records that a process was observed to crash or to recover. Returns the changed belief.
    pub(super) fn toggle(&mut self, process: ProcessId) -> Option<Belief> {
        self.set(process, self.of(process) + 1)
    }

    /// Merges a counter that process `me` of `n` has received.
    pub(super) fn update(
        &mut self,
        n: usize,
        me: ProcessId,
        about: ProcessId,
        counter: u32,
    ) -> CounterUpdate {
        if about.index() >= n || counter >= COUNTER_MAX {
            CounterUpdate::Impossible
        } else if counter <= self.of(about) {
            CounterUpdate::Old
        } else if about != me {
            CounterUpdate::New(self.set(about, counter))
        } else {
            // This process is alive, whatever the others believe. An even counter contradicts them.
            self.counters.insert(me, counter + counter % 2);
            if counter % 2 == 1 { CounterUpdate::Contradicted } else { CounterUpdate::New(None) }
        }
    }

    fn set(&mut self, about: ProcessId, counter: u32) -> Option<Belief> {
        self.counters.insert(about, counter);
        if counter % 2 == 1 {
            self.crashed.insert(about).then_some(Belief::Crashed(about))
        } else {
            self.crashed.remove(about).then_some(Belief::Alive(about))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn news_may_come_late_and_twice() {
        let (me, other) = (ProcessId::new(0), ProcessId::new(1));
        let mut counters = StatusCounters::default();
        assert_eq!(
            counters.update(2, me, other, 1),
            CounterUpdate::New(Some(Belief::Crashed(other)))
        );
        assert_eq!(
            counters.update(2, me, other, 2),
            CounterUpdate::New(Some(Belief::Alive(other)))
        );
        assert_eq!(counters.update(2, me, other, 1), CounterUpdate::Old);
        assert_eq!(counters.update(2, me, ProcessId::new(2), 1), CounterUpdate::Impossible);
        assert_eq!(counters.update(2, me, other, u32::MAX), CounterUpdate::Impossible);
        assert!(counters.crashed().is_empty());
    }

    #[test]
    fn nobody_believes_in_its_own_crash() {
        let me = ProcessId::new(0);
        let mut counters = StatusCounters::default();
        assert_eq!(counters.update(2, me, me, 3), CounterUpdate::Contradicted);
        assert_eq!(counters.of(me), 4);
    }
}
