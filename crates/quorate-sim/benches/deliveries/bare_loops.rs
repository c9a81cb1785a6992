//! The baseline: Ricart-Agrawala written by hand over a binary heap and over a timing wheel, without any framework.
//! Every process requests once at time zero. Delays are uniform. Links do not keep order.
//!
//! The cost of a simulator beyond these loops is the price of faults, of monitors, and of support for any algorithm.
//! The loops are plain code, written for this purpose only. They use the same integers as the simulator: 64-bit times
//! and clocks, 32-bit processes. A wheel that gives those up (events of 12 bytes with 32-bit clocks, slots sized in
//! advance for the workload) is about half as fast again.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use quorate_sim::random::{Random, Stream};

/// Work done by a loop, to check that all loops did the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) deliveries: u64,
    pub(crate) entries: u64,
}

/// The workload: n processes, delays from `low` to `high` ticks, `section` ticks inside.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Workload {
    pub(crate) n: usize,
    pub(crate) low: u64,
    pub(crate) high: u64,
    pub(crate) section: u64,
    pub(crate) seed: u64,
}

/// Runs the workload over the standard library's heap, keyed by time and order of sending.
pub(crate) fn heap(workload: Workload) -> Tally {
    let mut run = Run::new(workload, Heap { events: BinaryHeap::new(), sent: 0 });
    while let Some(Reverse(Timed { time, event, .. })) = run.queue.events.pop() {
        run.now = time;
        run.handle(event);
    }
    run.tally
}

/// Runs the workload over a wheel with a slot for each tick, and more slots than the longest delay.
pub(crate) fn wheel(workload: Workload) -> Tally {
    let slots = (workload.high.max(workload.section) as usize + 1).next_power_of_two().max(64);
    let wheel = Wheel { slots: vec![Vec::new(); slots], filled: vec![0; slots / 64], queued: 0 };
    let mut run = Run::new(workload, wheel);
    let mut batch = Vec::new();
    while run.queue.queued > 0 {
        run.now = run.queue.take_slot(run.now, &mut batch);
        for event in batch.drain(..) {
            run.handle(event);
        }
    }
    run.tally
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Event {
    from: u32,
    to: u32,
    kind: EventKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum EventKind {
    Request(u64),
    Reply,
    Leave,
}

trait Queue {
    fn push(&mut self, time: u64, event: Event);
}

struct Heap {
    events: BinaryHeap<Reverse<Timed>>,
    sent: u64,
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Timed {
    time: u64,
    sent: u64,
    event: Event,
}

impl Queue for Heap {
    fn push(&mut self, time: u64, event: Event) {
        self.sent += 1;
        self.events.push(Reverse(Timed { time, sent: self.sent, event }));
    }
}

struct Wheel {
    slots: Vec<Vec<Event>>,
    /// One bit for each slot, set if the slot holds events, to skip empty ticks 64 at a time.
    filled: Vec<u64>,
    queued: usize,
}

impl Wheel {
    /// Swaps the events of the first non-empty tick from `now` on with the empty batch. Returns the tick.
    fn take_slot(&mut self, mut now: u64, batch: &mut Vec<Event>) -> u64 {
        loop {
            let slot = now as usize & (self.slots.len() - 1);
            let rest = self.filled[slot / 64] >> (slot % 64);
            if rest != 0 {
                let skip = rest.trailing_zeros() as usize;
                self.filled[slot / 64] &= !(1 << (slot % 64 + skip));
                std::mem::swap(&mut self.slots[slot + skip], batch);
                self.queued -= batch.len();
                return now + skip as u64;
            }
            now = (now | 63) + 1;
        }
    }
}

impl Queue for Wheel {
    fn push(&mut self, time: u64, event: Event) {
        let slot = time as usize & (self.slots.len() - 1);
        self.filled[slot / 64] |= 1 << (slot % 64);
        self.slots[slot].push(event);
        self.queued += 1;
    }
}

#[derive(Clone, Default)]
struct Process {
    clock: u64,
    /// Timestamp of its own request, until it has left.
    mine: Option<(u64, u32)>,
    missing: usize,
    deferred: Vec<u32>,
}

struct Run<Q> {
    workload: Workload,
    queue: Q,
    random: Random,
    processes: Vec<Process>,
    now: u64,
    tally: Tally,
}

impl<Q: Queue> Run<Q> {
    fn new(workload: Workload, queue: Q) -> Self {
        let random = Random::new(workload.seed, Stream::Delays);
        let processes = vec![Process::default(); workload.n];
        let mut run = Self { workload, queue, random, processes, now: 0, tally: Tally::default() };
        for id in 0..workload.n as u32 {
            run.ask(id);
        }
        run
    }

    fn send(&mut self, from: u32, to: u32, kind: EventKind) {
        let delay = self.random.between(self.workload.low, self.workload.high);
        self.queue.push(self.now + delay, Event { from, to, kind });
    }

    fn ask(&mut self, id: u32) {
        let process = &mut self.processes[id as usize];
        process.clock += 1;
        let clock = process.clock;
        process.mine = Some((clock, id));
        process.missing = self.workload.n - 1;
        for to in (0..self.workload.n as u32).filter(|&to| to != id) {
            self.send(id, to, EventKind::Request(clock));
        }
    }

    fn handle(&mut self, Event { from, to, kind }: Event) {
        let process = &mut self.processes[to as usize];
        match kind {
            EventKind::Request(clock) => {
                self.tally.deliveries += 1;
                process.clock = process.clock.max(clock);
                if process.mine.is_some_and(|mine| mine < (clock, from)) {
                    process.deferred.push(from);
                } else {
                    self.send(to, from, EventKind::Reply);
                }
            }
            EventKind::Reply => {
                self.tally.deliveries += 1;
                process.missing -= 1;
                if process.missing == 0 {
                    self.tally.entries += 1;
                    let leave = Event { from: to, to, kind: EventKind::Leave };
                    self.queue.push(self.now + self.workload.section, leave);
                }
            }
            EventKind::Leave => {
                process.mine = None;
                for waiting in std::mem::take(&mut process.deferred) {
                    self.send(to, waiting, EventKind::Reply);
                }
            }
        }
    }
}
