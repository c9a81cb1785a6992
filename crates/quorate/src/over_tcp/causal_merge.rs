//! What the players have reported and is not told yet: a lane for each, merged in an order that vector clocks allow.
//!
//! All players read the same clock, so that among the events that may come next the earliest is the one that did. A player
//! that says nothing may still report an earlier one; until it has said how late it is, the others wait.

use std::collections::VecDeque;

use quorate_core::{ProcessId, VectorClock};

use super::protocol::{EventKind, EventReport};

pub(crate) struct CausalMerge {
    queues: Vec<ReportQueue>,
}

#[derive(Default)]
struct ReportQueue {
    waiting: VecDeque<EventReport>,
    /// Everything before this time has been reported; no bound once it has gone.
    reported_until: u64,
    /// How many of its events have been told.
    applied: u64,
    clock: VectorClock,
}

impl CausalMerge {
    pub(crate) fn new(n: usize) -> Self {
        Self { queues: (0..n).map(|_| ReportQueue::default()).collect() }
    }

    pub(crate) fn push(&mut self, process: ProcessId, event: EventReport) {
        let queue = &mut self.queues[process.index()];
        queue.reported_until = queue.reported_until.max(event.time);
        queue.waiting.push_back(event);
    }

    /// A player has nothing to report before this time.
    pub(crate) fn advance(&mut self, process: ProcessId, time: u64) {
        let queue = &mut self.queues[process.index()];
        queue.reported_until = queue.reported_until.max(time);
    }

    /// A player is gone, and this is the last that is told of it for now.
    pub(crate) fn close(&mut self, process: ProcessId, time: u64) {
        let queue = &mut self.queues[process.index()];
        let time = queue.waiting.back().map_or(time, |last| last.time.max(time));
        let clock = VectorClock::new();
        queue.waiting.push_back(EventReport { time, clock, kind: EventKind::Crash });
        queue.reported_until = u64::MAX;
    }

    /// A player is back and has reported everything before this time.
    pub(crate) fn reopen(&mut self, process: ProcessId, time: u64) {
        self.queues[process.index()].reported_until = time;
    }

    /// What the process knew when its last event was told.
    pub(crate) fn clock(&self, process: ProcessId) -> VectorClock {
        self.queues[process.index()].clock.clone()
    }

    /// Whether everything that was reported has been told, and everybody has been heard since then.
    pub(crate) fn is_drained_since(&self, time: u64) -> bool {
        self.queues.iter().all(|queue| queue.waiting.is_empty() && queue.reported_until >= time)
    }

    pub(crate) fn is_empty(&self, process: ProcessId) -> bool {
        self.queues[process.index()].waiting.is_empty()
    }

    /// The next event, if it is certain which that is.
    pub(crate) fn next(&mut self) -> Option<(ProcessId, EventReport)> {
        let ready = ProcessId::all(self.queues.len()).filter(|&process| self.is_ready(process));
        let time = |process: &ProcessId| self.queues[process.index()].waiting[0].time;
        let process = ready.min_by_key(|process| (time(process), process.index()))?;
        let bound = time(&process);
        // Starts are all at time zero and wait for nobody.
        let certain = self
            .queues
            .iter()
            .all(|queue| !queue.waiting.is_empty() || queue.reported_until >= bound);
        if !certain {
            return None;
        }
        let queue = &mut self.queues[process.index()];
        let event = queue.waiting.pop_front()?;
        if !matches!(event.kind, EventKind::Crash) {
            queue.applied += 1;
            queue.clock = event.clock.clone();
        }
        Some((process, event))
    }

    /// Whether all that the first event of a lane knows of has been told.
    fn is_ready(&self, process: ProcessId) -> bool {
        let Some(event) = self.queues[process.index()].waiting.front() else { return false };
        event.clock.iter().all(|(other, count)| {
            let applied = self.queues.get(other.index()).map_or(0, |queue| queue.applied);
            count <= applied + u64::from(other == process)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn p(number: u32) -> ProcessId {
        ProcessId::new(number)
    }

    fn event(time: u64, known: &[(u32, u64)]) -> EventReport {
        let mut clock = VectorClock::new();
        for &(process, count) in known {
            (0..count).for_each(|_| clock.tick(p(process)));
        }
        EventReport { time, clock, kind: EventKind::Scheduled }
    }

    #[test]
    fn an_effect_waits_for_its_cause_whatever_the_times_say() {
        let mut merge = CausalMerge::new(2);
        merge.push(p(1), event(5, &[(0, 1), (1, 1)]));
        assert!(merge.next().is_none());
        merge.push(p(0), event(7, &[(0, 1)]));
        let order: Vec<_> = std::iter::from_fn(|| merge.next()).map(|(p, e)| (p, e.time)).collect();
        assert_eq!(order, [(p(0), 7), (p(1), 5)]);
    }

    #[test]
    fn nothing_is_certain_until_everybody_was_heard() {
        let mut merge = CausalMerge::new(2);
        merge.push(p(0), event(7, &[(0, 1)]));
        assert!(merge.next().is_none());
        merge.advance(p(1), 6);
        assert!(merge.next().is_none());
        merge.advance(p(1), 7);
        assert!(merge.next().is_some());
        assert!(merge.is_drained_since(7) && !merge.is_drained_since(8));
    }

    #[test]
    fn who_is_gone_holds_nobody_up() {
        let mut merge = CausalMerge::new(2);
        merge.push(p(0), event(7, &[(0, 1)]));
        merge.close(p(1), 9);
        let order: Vec<_> = std::iter::from_fn(|| merge.next()).map(|(p, e)| (p, e.time)).collect();
        assert_eq!(order, [(p(0), 7)]);
        merge.advance(p(0), 9);
        assert!(matches!(merge.next(), Some((_, EventReport { kind: EventKind::Crash, .. }))));
    }
}
