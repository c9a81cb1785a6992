//! What is known of crashes and recoveries, where it goes from mouth to mouth.
//!
//! Each process has a counter of its crashes and recoveries, odd while it is down. A higher counter is newer, whoever
//! tells it, so that news may arrive in any order and more than once.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use quorate_core::{Belief, ProcessId, ProcessSet};

/// No process crashes so often; only a liar says so.
const COUNTER_MAX: u32 = u32::MAX / 2;

/// What one process knows of all of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct StatusCounters {
    /// How often each process has crashed or come back.
    counters: BTreeMap<ProcessId, u32>,
    crashed: ProcessSet,
}

/// What a piece of news is to the one who hears it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CounterUpdate {
    /// Nobody can have said it.
    Impossible,
    /// It was known.
    Old,
    /// It was not known that something had changed; and perhaps this changes a belief.
    New(Option<Belief>),
    /// Others say that the hearer has crashed, which it contradicts.
    Contradicted,
}

impl StatusCounters {
    /// Those who are down, as far as is known here.
    pub(super) fn crashed(&self) -> &ProcessSet {
        &self.crashed
    }

    /// How often the process has crashed or come back.
    pub(super) fn of(&self, process: ProcessId) -> u32 {
        self.counters.get(&process).copied().unwrap_or(0)
    }

    /// Everything that ever changed.
    pub(super) fn all(&self) -> Vec<(ProcessId, u32)> {
        self.counters.iter().map(|(about, counter)| (*about, *counter)).collect()
    }

    /// One who was up is seen to be down, or the other way round: what is to be believed now.
    pub(super) fn toggle(&mut self, process: ProcessId) -> Option<Belief> {
        self.set(process, self.of(process) + 1)
    }

    /// Process `me` of n hears somebody's counter.
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
            // Whoever hears this is alive, whatever others say: an even number contradicts them.
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
