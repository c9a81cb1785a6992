//! The log format that ShiViz reads with its default expression: a line that describes the event, then a line with the
//! process and its vector clock.

use std::collections::BTreeMap;
use std::io::{self, Write};

use quorate_core::{ProcessId, VectorClock};

use super::record::{Record, RecordKind};
use super::sink::TraceSink;

/// Writes two lines for each record.
pub(super) struct ShiViz<W> {
    out: W,
    clocks: Vec<VectorClock>,
    /// Vector clock of the sender of each message when it was sent.
    carried: BTreeMap<u64, VectorClock>,
}

impl<W: Write> ShiViz<W> {
    pub(super) fn new(n: usize, out: W) -> Self {
        Self { out, clocks: vec![VectorClock::new(); n], carried: BTreeMap::new() }
    }
}

impl<W: Write> TraceSink for ShiViz<W> {
    fn record(&mut self, record: &Record) -> io::Result<()> {
        let process = ProcessId::new(record.process);
        let clock = &mut self.clocks[process.index()];
        if let RecordKind::Deliver(envelope) = &record.kind
            && let Some(carried) = self.carried.get(&envelope.message)
        {
            clock.merge(carried);
        }
        clock.tick(process);
        if let RecordKind::Send(envelope) = &record.kind {
            self.carried.insert(envelope.message, clock.clone());
        }
        let entries: Vec<String> =
            clock.iter().map(|(process, count)| format!("\"{process}\":{count}")).collect();
        writeln!(self.out, "{} at {}", record.kind, quorate_core::Time(record.time))?;
        writeln!(self.out, "{process} {{{}}}", entries.join(", "))
    }

    fn finish(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
