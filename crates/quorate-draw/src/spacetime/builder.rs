//! A diagram being made while the run goes on, so that nobody has to keep the trace.

use std::io;

use quorate_sim::trace::{Record, RecordKind, TraceSink};

use super::Diagram;
use super::timeline::TimelineBuilder;

/// How much of a run a diagram remembers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DiagramBounds {
    /// The most messages and signs together; about a hundred bytes each.
    pub items: usize,
    /// How many messages are remembered with what they say.
    pub bodies: usize,
}

impl Default for DiagramBounds {
    /// Everything.
    fn default() -> Self {
        Self { items: usize::MAX, bodies: usize::MAX }
    }
}

/// A diagram of what has been heard so far.
#[derive(Clone, Debug)]
pub struct DiagramBuilder {
    bounds: DiagramBounds,
    timeline: TimelineBuilder,
    left_out: u64,
}

impl TraceSink for DiagramBuilder {
    fn record(&mut self, record: &Record) -> io::Result<()> {
        self.observe(record);
        Ok(())
    }

    fn finish(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl DiagramBuilder {
    /// Of a run of so many processes.
    pub fn new(processes: usize, bounds: DiagramBounds) -> Self {
        Self { bounds, timeline: TimelineBuilder::new(processes, bounds.bodies), left_out: 0 }
    }

    /// The next record. When there is no more room the run goes on without being drawn; only what is broken is told.
    pub fn observe(&mut self, record: &Record) {
        let is_full = self.timeline.items() >= self.bounds.items;
        if is_full && !matches!(record.kind, RecordKind::Violation { .. }) {
            self.left_out += 1;
        } else {
            self.timeline.observe(record);
        }
    }

    /// What has been heard, to be drawn.
    pub fn build(self) -> Diagram {
        let Self { timeline, left_out, .. } = self;
        Diagram { title: String::new(), timeline: timeline.finish(), left_out }
    }
}
