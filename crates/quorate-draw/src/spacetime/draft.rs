//! A diagram being made while the run goes on, so that nobody has to keep the trace.

use std::io;

use quorate_sim::trace::{Record, TraceSink, What};

use super::Diagram;
use super::story::Teller;

/// How much of a run a diagram remembers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DraftBounds {
    /// The most messages and signs together; about a hundred bytes each.
    pub parts: usize,
    /// How many messages are remembered with what they say.
    pub bodies: usize,
}

impl Default for DraftBounds {
    /// Everything.
    fn default() -> Self {
        Self { parts: usize::MAX, bodies: usize::MAX }
    }
}

/// A diagram of what has been heard so far.
#[derive(Clone, Debug)]
pub struct Draft {
    bounds: DraftBounds,
    teller: Teller,
    left_out: u64,
}

impl TraceSink for Draft {
    fn record(&mut self, record: &Record) -> io::Result<()> {
        self.hear(record);
        Ok(())
    }

    fn finish(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Draft {
    /// Of a run of so many processes.
    pub fn new(processes: usize, bounds: DraftBounds) -> Self {
        Self { bounds, teller: Teller::new(processes, bounds.bodies), left_out: 0 }
    }

    /// The next record. When there is no more room the run goes on without being drawn; only what is broken is told.
    pub fn hear(&mut self, record: &Record) {
        let is_full = self.teller.parts() >= self.bounds.parts;
        if is_full && !matches!(record.what, What::Violation { .. }) {
            self.left_out += 1;
        } else {
            self.teller.hear(record);
        }
    }

    /// What has been heard, to be drawn.
    pub fn diagram(self) -> Diagram {
        let Self { teller, left_out, .. } = self;
        Diagram { title: String::new(), story: teller.finish(), left_out }
    }
}
