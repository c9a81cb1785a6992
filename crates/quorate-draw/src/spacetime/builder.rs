//! Builds a diagram during the run, so that the trace need not be kept.

use std::io;

use quorate_sim::trace::{Record, RecordKind, TraceSink};

use super::Diagram;
use super::timeline::TimelineBuilder;

/// Limits on how much of a run a diagram stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DiagramBounds {
    /// Maximum number of messages and markers together; each takes about a hundred bytes.
    pub items: usize,
    /// Maximum number of messages stored with their bodies.
    pub bodies: usize,
}

impl Default for DiagramBounds {
    /// Returns bounds without any limit.
    fn default() -> Self {
        Self { items: usize::MAX, bodies: usize::MAX }
    }
}

/// Diagram of the records observed so far.
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
    /// Creates an empty diagram of a run of `processes` processes.
    pub fn new(processes: usize, bounds: DiagramBounds) -> Self {
        Self { bounds, timeline: TimelineBuilder::new(processes, bounds.bodies), left_out: 0 }
    }

    /// Adds the next record. After the limit is reached, only violations are added and other records are counted.
    pub fn observe(&mut self, record: &Record) {
        let is_full = self.timeline.items() >= self.bounds.items;
        if is_full && !matches!(record.kind, RecordKind::Violation { .. }) {
            self.left_out += 1;
        } else {
            self.timeline.observe(record);
        }
    }

    /// Returns the finished diagram.
    pub fn build(self) -> Diagram {
        let Self { timeline, left_out, .. } = self;
        Diagram { title: String::new(), timeline: timeline.finish(), left_out }
    }
}
