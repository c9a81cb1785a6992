//! The log format that ShiViz reads with its default expression: a line that describes the event, then a line with the
//! process and its vector clock.

use std::io::{self, Write};

use quorate_core::ProcessId;

use super::logical_clocks::LogicalClocks;
use super::record::Record;
use super::sink::TraceSink;

/// Writes two lines for each record.
pub(super) struct ShiViz<W> {
    out: W,
    clocks: LogicalClocks,
}

impl<W: Write> ShiViz<W> {
    pub(super) fn new(n: usize, out: W) -> Self {
        Self { out, clocks: LogicalClocks::new(n) }
    }
}

impl<W: Write> TraceSink for ShiViz<W> {
    fn record(&mut self, record: &Record) -> io::Result<()> {
        // Every record counts as an event, because ShiViz expects a clock of its own for every line.
        let Some(stamp) = self.clocks.stamp(record) else { return Ok(()) };
        let process = ProcessId::new(record.process);
        let entry = |(process, count)| format!("\"{process}\":{count}");
        let entries: Vec<String> = stamp.vector.iter().map(entry).collect();
        writeln!(self.out, "{} at {}", record.kind, quorate_core::Time(record.time))?;
        writeln!(self.out, "{process} {{{}}}", entries.join(", "))
    }

    fn finish(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
