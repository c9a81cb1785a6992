//! Event reports of the child processes that are not applied yet. There is one queue per process, and the queues are
//! merged in an order that is consistent with vector clocks.
//!
//! All children read the same clock, so among the causally ready events the earliest one happened first. A silent
//! child may still report an earlier event. Until it reports its current time, the events of the others wait.

use std::collections::VecDeque;

use quorate_core::{ProcessId, VectorClock};

use super::protocol::{EventKind, EventReport};

pub(crate) struct CausalMerge {
    queues: Vec<ReportQueue>,
}

#[derive(Default)]
struct ReportQueue {
    waiting: VecDeque<EventReport>,
    /// All events before this time have been reported; `u64::MAX` after the process has ended.
    reported_until: u64,
    /// Number of its events that have been applied.
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

    /// Notes that a process has no events to report before `time`.
    pub(crate) fn advance(&mut self, process: ProcessId, time: u64) {
        let queue = &mut self.queues[process.index()];
        queue.reported_until = queue.reported_until.max(time);
    }

    /// Ends the queue of a killed process with a crash event.
    pub(crate) fn close(&mut self, process: ProcessId, time: u64) {
        let queue = &mut self.queues[process.index()];
        let time = queue.waiting.back().map_or(time, |last| last.time.max(time));
        let clock = VectorClock::new();
        queue.waiting.push_back(EventReport { time, clock, kind: EventKind::Crash });
        queue.reported_until = u64::MAX;
    }

    /// Reopens the queue of a restarted process, which has reported everything before `time`.
    pub(crate) fn reopen(&mut self, process: ProcessId, time: u64) {
        self.queues[process.index()].reported_until = time;
    }

    /// Vector clock of the last applied event of a process.
    pub(crate) fn clock(&self, process: ProcessId) -> VectorClock {
        self.queues[process.index()].clock.clone()
    }

    /// Whether all reports have been applied, and every process has reported its time since `time`.
    pub(crate) fn is_drained_since(&self, time: u64) -> bool {
        self.queues.iter().all(|queue| queue.waiting.is_empty() && queue.reported_until >= time)
    }

    pub(crate) fn is_empty(&self, process: ProcessId) -> bool {
        self.queues[process.index()].waiting.is_empty()
    }

    /// Removes and returns the next event, if it is certain which event is next.
    pub(crate) fn next(&mut self) -> Option<(ProcessId, EventReport)> {
        let ready = ProcessId::all(self.queues.len()).filter(|&process| self.is_ready(process));
        let time = |process: &ProcessId| self.queues[process.index()].waiting[0].time;
        let process = ready.min_by_key(|process| (time(process), process.index()))?;
        let bound = time(&process);
        // Start events all have time zero, so they wait for no other process.
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

    /// Whether all events that causally precede the first event of a queue have been applied.
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
