//! What the players have reported and is not told yet: a lane for each, merged in an order that vector clocks allow.
//!
//! All players read the same clock, so that among the events that may come next the earliest is the one that did. A player
//! that says nothing may still report an earlier one; until it has said how late it is, the others wait.

use std::collections::VecDeque;

use quorate_core::{ProcessId, VectorClock};

use super::talk::{Entry, What};

pub(crate) struct Lanes {
    lanes: Vec<Lane>,
}

#[derive(Default)]
struct Lane {
    waiting: VecDeque<Entry>,
    /// Everything before this time has been reported; no bound once it has gone.
    heard: u64,
    /// How many of its events have been told.
    told: u64,
    clock: VectorClock,
}

impl Lanes {
    pub(crate) fn new(n: usize) -> Self {
        Self { lanes: (0..n).map(|_| Lane::default()).collect() }
    }

    pub(crate) fn add(&mut self, process: ProcessId, entry: Entry) {
        let lane = &mut self.lanes[process.index()];
        lane.heard = lane.heard.max(entry.time);
        lane.waiting.push_back(entry);
    }

    /// A player has nothing to report before this time.
    pub(crate) fn heard(&mut self, process: ProcessId, time: u64) {
        let lane = &mut self.lanes[process.index()];
        lane.heard = lane.heard.max(time);
    }

    /// A player is gone, and this is the last that is told of it for now.
    pub(crate) fn close(&mut self, process: ProcessId, time: u64) {
        let lane = &mut self.lanes[process.index()];
        let time = lane.waiting.back().map_or(time, |last| last.time.max(time));
        let clock = VectorClock::new();
        lane.waiting.push_back(Entry { time, clock, what: What::Crash });
        lane.heard = u64::MAX;
    }

    /// A player is back and has reported everything before this time.
    pub(crate) fn reopen(&mut self, process: ProcessId, time: u64) {
        self.lanes[process.index()].heard = time;
    }

    /// What the process knew when its last event was told.
    pub(crate) fn clock(&self, process: ProcessId) -> VectorClock {
        self.lanes[process.index()].clock.clone()
    }

    /// Whether everything that was reported has been told, and everybody has been heard since then.
    pub(crate) fn are_empty_since(&self, time: u64) -> bool {
        self.lanes.iter().all(|lane| lane.waiting.is_empty() && lane.heard >= time)
    }

    pub(crate) fn is_empty(&self, process: ProcessId) -> bool {
        self.lanes[process.index()].waiting.is_empty()
    }

    /// The next event, if it is certain which that is.
    pub(crate) fn next(&mut self) -> Option<(ProcessId, Entry)> {
        let ready = ProcessId::all(self.lanes.len()).filter(|&process| self.is_ready(process));
        let time = |process: &ProcessId| self.lanes[process.index()].waiting[0].time;
        let process = ready.min_by_key(|process| (time(process), process.index()))?;
        let bound = time(&process);
        // Starts are all at time zero and wait for nobody.
        let certain = self.lanes.iter().all(|lane| !lane.waiting.is_empty() || lane.heard >= bound);
        if !certain {
            return None;
        }
        let lane = &mut self.lanes[process.index()];
        let entry = lane.waiting.pop_front()?;
        if !matches!(entry.what, What::Crash) {
            lane.told += 1;
            lane.clock = entry.clock.clone();
        }
        Some((process, entry))
    }

    /// Whether all that the first event of a lane knows of has been told.
    fn is_ready(&self, process: ProcessId) -> bool {
        let Some(entry) = self.lanes[process.index()].waiting.front() else { return false };
        entry.clock.iter().all(|(other, count)| {
            let told = self.lanes.get(other.index()).map_or(0, |lane| lane.told);
            count <= told + u64::from(other == process)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn p(number: u32) -> ProcessId {
        ProcessId::new(number)
    }

    fn entry(time: u64, known: &[(u32, u64)]) -> Entry {
        let mut clock = VectorClock::new();
        for &(process, count) in known {
            (0..count).for_each(|_| clock.tick(p(process)));
        }
        Entry { time, clock, what: What::Errand }
    }

    #[test]
    fn an_effect_waits_for_its_cause_whatever_the_times_say() {
        let mut lanes = Lanes::new(2);
        lanes.add(p(1), entry(5, &[(0, 1), (1, 1)]));
        assert!(lanes.next().is_none());
        lanes.add(p(0), entry(7, &[(0, 1)]));
        let order: Vec<_> = std::iter::from_fn(|| lanes.next()).map(|(p, e)| (p, e.time)).collect();
        assert_eq!(order, [(p(0), 7), (p(1), 5)]);
    }

    #[test]
    fn nothing_is_certain_until_everybody_was_heard() {
        let mut lanes = Lanes::new(2);
        lanes.add(p(0), entry(7, &[(0, 1)]));
        assert!(lanes.next().is_none());
        lanes.heard(p(1), 6);
        assert!(lanes.next().is_none());
        lanes.heard(p(1), 7);
        assert!(lanes.next().is_some());
        assert!(lanes.are_empty_since(7) && !lanes.are_empty_since(8));
    }

    #[test]
    fn who_is_gone_holds_nobody_up() {
        let mut lanes = Lanes::new(2);
        lanes.add(p(0), entry(7, &[(0, 1)]));
        lanes.close(p(1), 9);
        let order: Vec<_> = std::iter::from_fn(|| lanes.next()).map(|(p, e)| (p, e.time)).collect();
        assert_eq!(order, [(p(0), 7)]);
        lanes.heard(p(0), 9);
        assert!(matches!(lanes.next(), Some((_, Entry { what: What::Crash, .. }))));
    }
}
