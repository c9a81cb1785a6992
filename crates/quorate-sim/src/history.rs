//! What users saw of a run, kept for drawing it.

use quorate_core::{ProcessId, Time};

use crate::monitor::Sighting;
use crate::observer::Moment;

/// How many entries are kept in order.
const ORDER_MOST: usize = 10_000;

/// Requests, entries, exits, crashes and recoveries in order, up to a bound.
#[derive(Clone, Debug)]
pub struct History {
    marks: Vec<(Time, ProcessId, Sighting)>,
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
    pub fn see(&mut self, at: Moment, sighting: Sighting) {
        if sighting == Sighting::Entered && self.order.len() < ORDER_MOST {
            self.order.push(at.process.number());
        }
        if self.marks.len() == self.most {
            self.left_out += 1;
        } else {
            self.marks.push((at.time, at.process, sighting));
        }
    }

    /// What was kept.
    pub fn marks(&self) -> &[(Time, ProcessId, Sighting)] {
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
