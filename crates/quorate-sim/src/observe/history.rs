//! History of the events that users can observe, kept for drawing.

use quorate_core::{ProcessId, Time};
use serde::{Deserialize, Serialize};

use crate::engine::observer::Moment;
use crate::scenario::plan::Memory;

/// An event of a process that users can observe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mark {
    /// The process requested something, such as entry to the critical section.
    Requested,
    /// The process entered the critical section.
    Entered,
    /// The process left the critical section or gave up its request.
    Left,
    /// The process sent a multicast.
    Sent,
    /// The process delivered a multicast.
    Delivered,
    /// The process took part in an election.
    TakesPart,
    /// The process was elected leader.
    Leads,
    /// The process learned of its leader.
    Follows,
    /// The process proposed a value.
    Proposed,
    /// The process decided on a value.
    Decided,
    /// The process cannot decide at present.
    Blocked,
    /// The process began to suspect another one.
    Suspected,
    /// The process withdrew a suspicion.
    Trusted,
    /// The process set its clock.
    Set,
    /// The process failed to set its clock.
    Failed,
    /// The process recorded its state for a snapshot.
    Recorded,
    /// The process completed its part of a snapshot.
    Completed,
    /// The process became active.
    Works,
    /// The process became passive.
    Rests,
    /// The process announced that a stable property holds.
    Announced,
    /// The process was handed a command of a client.
    Submitted,
    /// The process applied a command of its log.
    Applied,
    /// The process deleted entries of its log.
    Truncated,
    /// The process has crashed.
    Crashed,
    /// The process recovered, with or without memory.
    Recovered(Memory),
}

/// Initial capacity, enough for the marks of a short run.
const INITIAL_CAPACITY: usize = 64;

/// Maximum number of entries into the critical section that are kept in order.
const ORDER_MOST: usize = 10_000;

/// Marks in order, up to a limit.
#[derive(Clone, Debug)]
pub struct History {
    marks: Vec<(Time, ProcessId, Mark)>,
    most: usize,
    left_out: u64,
    order: Vec<u32>,
}

impl History {
    /// Creates a history that keeps at most `most` marks.
    pub fn new(most: usize) -> Self {
        Self { marks: Vec::new(), most, left_out: 0, order: Vec::new() }
    }

    /// Records a mark of a process.
    pub fn observe(&mut self, at: Moment, mark: Mark) {
        if self.marks.capacity() == 0 {
            self.marks.reserve(self.most.min(INITIAL_CAPACITY));
            self.order.reserve(self.most.min(INITIAL_CAPACITY) / 2);
        }
        if mark == Mark::Entered && self.order.len() < ORDER_MOST {
            self.order.push(at.process.number());
        }
        if self.marks.len() == self.most {
            self.left_out += 1;
        } else {
            self.marks.push((at.time, at.process, mark));
        }
    }

    /// The marks that were kept, in order.
    pub fn marks(&self) -> &[(Time, ProcessId, Mark)] {
        &self.marks
    }

    /// Number of marks beyond the limit.
    pub fn left_out(&self) -> u64 {
        self.left_out
    }

    /// Processes that entered the critical section, in order, up to a limit.
    pub fn order(&self) -> &[u32] {
        &self.order
    }
}
