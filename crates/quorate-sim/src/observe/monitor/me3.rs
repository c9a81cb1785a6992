//! ME3, order: if one request happened before another, it is granted first.
//!
//! Happened-before is decided with vector clocks that tick at requests and travel with every message, not with the
//! timestamps of the algorithm. These clocks change only when a request becomes known, so most messages carry a clock
//! that their receiver already has. Clocks are therefore shared, and compared by slot first. Cost: O(1) for such a
//! message, O(n) for a message with a new clock and for each entry.

use quorate_core::{ProcessSet, Property, VectorClock};

use super::violation::{Evidence, Violation, name_all};
use crate::engine::observer::Moment;
use crate::observe::mutex_event::MutexEvent;
use crate::scenario::plan::Memory;

/// Monitor of the property ME3.
#[derive(Clone, Debug)]
pub struct Me3 {
    clocks: Vec<Shared>,
    free: Vec<u32>,
    /// Slot of the clock of each process.
    known: Vec<u32>,
    /// Slot of the clock of each waiting process when it requested entry, and the moment of the request.
    requests: Vec<Option<(u32, Moment)>>,
    /// Number of requests of each process that were granted or given up.
    granted: Vec<u64>,
    down: ProcessSet,
    merges: u64,
    violation: Option<Violation>,
}

/// A clock and its reference count.
#[derive(Clone, Debug, Default)]
struct Shared {
    clock: VectorClock,
    holders: u32,
}

impl Me3 {
    /// Creates a monitor for n processes.
    pub fn new(n: usize) -> Self {
        let holders = u32::try_from(n).expect("a world has at most 2^32 processes");
        Self {
            clocks: vec![Shared { clock: VectorClock::new(), holders }],
            free: Vec::new(),
            known: vec![0; n],
            requests: vec![None; n],
            granted: vec![0; n],
            down: ProcessSet::new(),
            merges: 0,
            violation: None,
        }
    }

    /// Records that a message is sent. Returns the slot of the clock that it carries.
    pub fn sent(&mut self, from: usize) -> u32 {
        let slot = self.known[from];
        self.clocks[slot as usize].holders += 1;
        slot
    }

    /// Records the arrival of a message with the clock in this slot.
    pub fn received(&mut self, to: usize, slot: u32) {
        let mine = self.known[to];
        if slot != mine
            && !self.clocks[slot as usize].clock.is_within(&self.clocks[mine as usize].clock)
        {
            self.merges += 1;
            if self.clocks[mine as usize].clock.is_within(&self.clocks[slot as usize].clock) {
                self.clocks[slot as usize].holders += 1;
                self.replace(to, slot);
            } else {
                let mut merged = self.copy(mine);
                merged.merge(&self.clocks[slot as usize].clock);
                let slot = self.keep(merged);
                self.replace(to, slot);
            }
        }
        self.release(slot);
    }

    /// Records that the message with the clock in this slot is lost.
    pub fn lost(&mut self, slot: u32) {
        self.release(slot);
    }

    /// Processes an event of a process.
    pub fn observe(&mut self, at: Moment, event: MutexEvent) {
        let process = at.process.index();
        match event {
            MutexEvent::Requested => {
                let mut clock = self.copy(self.known[process]);
                clock.tick(at.process);
                let slot = self.keep(clock);
                self.clocks[slot as usize].holders += 1;
                self.replace(process, slot);
                self.requests[process] = Some((slot, at));
            }
            MutexEvent::Entered => {
                if let Some((slot, requested)) = self.requests[process].take() {
                    self.judge(slot, requested, at);
                    self.release(slot);
                    self.granted[process] += 1;
                }
            }
            MutexEvent::GaveUp => self.give_up(process),
            MutexEvent::Left | MutexEvent::Expelled => {}
            MutexEvent::Crashed => {
                self.down.insert(at.process);
            }
            MutexEvent::Recovered(memory) => {
                self.down.remove(at.process);
                if memory == Memory::Lost {
                    self.give_up(process);
                }
            }
        }
    }

    /// The first violation, if there is one.
    pub fn violation(&self) -> Option<&Violation> {
        self.violation.as_ref()
    }

    /// Number of messages that brought a new clock. It measures the cost of the monitor.
    pub fn merges(&self) -> u64 {
        self.merges
    }

    /// Removes a request that was not granted. No other request has to wait for it any more.
    fn give_up(&mut self, process: usize) {
        if let Some((slot, _)) = self.requests[process].take() {
            self.release(slot);
            self.granted[process] += 1;
        }
    }

    fn judge(&mut self, slot: u32, requested: Moment, at: Moment) {
        if self.violation.is_some() {
            return;
        }
        let passed: ProcessSet = self.clocks[slot as usize]
            .clock
            .iter()
            .filter(|&(other, requests)| {
                other != at.process
                    && requests > self.granted[other.index()]
                    && !self.down.contains(other)
            })
            .map(|(other, _)| other)
            .collect();
        if passed.is_empty() {
            return;
        }
        let mut events: Vec<Evidence> = passed
            .iter()
            .filter_map(|other| self.requests[other.index()])
            .map(|(_, requested)| Evidence::new(requested, "asked to enter"))
            .collect();
        events.push(Evidence::new(requested, "asked to enter, knowing of that"));
        events.push(Evidence::new(at, "entered first"));
        let plural = if passed.len() == 1 { "" } else { "s" };
        self.violation = Some(Violation {
            property: Property::ME3,
            time: at.time,
            detail: format!(
                "{} entered at {} before {}, whose request{plural} happened before its own",
                at.process,
                at.time,
                name_all(&passed)
            ),
            events,
        });
    }

    fn copy(&self, slot: u32) -> VectorClock {
        self.clocks[slot as usize].clock.clone()
    }

    fn keep(&mut self, clock: VectorClock) -> u32 {
        let shared = Shared { clock, holders: 1 };
        match self.free.pop() {
            Some(slot) => {
                self.clocks[slot as usize] = shared;
                slot
            }
            None => {
                self.clocks.push(shared);
                (self.clocks.len() - 1) as u32
            }
        }
    }

    fn replace(&mut self, process: usize, slot: u32) {
        let old = std::mem::replace(&mut self.known[process], slot);
        self.release(old);
    }

    fn release(&mut self, slot: u32) {
        let shared = &mut self.clocks[slot as usize];
        shared.holders -= 1;
        if shared.holders == 0 {
            self.free.push(slot);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quorate_core::{ProcessId, Time};

    fn at(event: u64, process: u32) -> Moment {
        Moment { event, time: Time(event), process: ProcessId::new(process) }
    }

    #[test]
    fn an_entry_before_a_request_it_knew_of_is_a_violation() {
        let mut me3 = Me3::new(2);
        me3.observe(at(1, 0), MutexEvent::Requested);
        let word = me3.sent(0);
        me3.received(1, word);
        me3.observe(at(2, 1), MutexEvent::Requested);
        me3.observe(at(3, 1), MutexEvent::Entered);
        let violation = me3.violation().expect("p1 knew of p0's request");
        assert_eq!(
            violation.detail,
            "p1 entered at 3ns before p0, whose request happened before its own"
        );
        assert_eq!(violation.events.iter().map(|event| event.event).collect::<Vec<_>>(), [1, 2, 3]);
    }

    #[test]
    fn concurrent_requests_may_enter_in_any_order() {
        let mut me3 = Me3::new(2);
        me3.observe(at(1, 0), MutexEvent::Requested);
        me3.observe(at(2, 1), MutexEvent::Requested);
        let word = me3.sent(0);
        me3.received(1, word);
        me3.observe(at(3, 1), MutexEvent::Entered);
        assert_eq!(me3.violation(), None);
    }

    #[test]
    fn nobody_waits_for_the_crashed() {
        let mut me3 = Me3::new(2);
        me3.observe(at(1, 0), MutexEvent::Requested);
        let word = me3.sent(0);
        me3.received(1, word);
        me3.observe(at(2, 0), MutexEvent::Crashed);
        me3.observe(at(3, 1), MutexEvent::Requested);
        me3.observe(at(4, 1), MutexEvent::Entered);
        assert_eq!(me3.violation(), None);
    }
}
