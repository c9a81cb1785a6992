//! What users saw of a run, kept for drawing it.

use quorate_core::{ProcessId, Time};
use serde::{Deserialize, Serialize};

use crate::observer::Moment;
use crate::plan::Memory;

/// Something that users saw of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mark {
    /// It asked to enter.
    Requested,
    /// It was inside.
    Entered,
    /// It left, or gave up.
    Left,
    /// It multicast something.
    Sent,
    /// It delivered something.
    Delivered,
    /// It took part in an election.
    TakesPart,
    /// It was elected.
    Leads,
    /// It learnt who leads.
    Follows,
    /// It proposed something.
    Proposed,
    /// It decided.
    Decided,
    /// It cannot decide.
    Blocked,
    /// It began to suspect somebody.
    Suspected,
    /// It took a suspicion back.
    Trusted,
    /// It set its clock.
    Set,
    /// It could not.
    Failed,
    /// It crashed.
    Crashed,
    /// It came back.
    Recovered(Memory),
}

/// Room for as many marks as a short run leaves.
const INITIAL_CAPACITY: usize = 64;

/// How many entries are kept in order.
const ORDER_MOST: usize = 10_000;

/// Marks in order, up to a bound.
#[derive(Clone, Debug)]
pub struct History {
    marks: Vec<(Time, ProcessId, Mark)>,
    most: usize,
    left_out: u64,
    order: Vec<u32>,
}

impl History {
    /// Keeps at most so many marks.
    pub fn new(most: usize) -> Self {
        Self { marks: Vec::new(), most, left_out: 0, order: Vec::new() }
    }

    /// Sees something of a process.
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

    /// What was kept.
    pub fn marks(&self) -> &[(Time, ProcessId, Mark)] {
        &self.marks
    }

    /// How much was not.
    pub fn left_out(&self) -> u64 {
        self.left_out
    }

    /// Who entered, in order, as far as it was kept.
    pub fn order(&self) -> &[u32] {
        &self.order
    }
}
