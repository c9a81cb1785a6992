//! Two sinks that receive the same records, for example to write and draw a trace at the same time.

use std::fmt;
use std::io;

use super::record::Record;
use super::sink::TraceSink;

/// Forwards records and states to both sinks.
impl<A: TraceSink + ?Sized, B: TraceSink + ?Sized> TraceSink for (&mut A, &mut B) {
    fn record(&mut self, record: &Record) -> io::Result<()> {
        self.0.record(record)?;
        self.1.record(record)
    }

    fn state(&mut self, event: u64, process: u32, state: &dyn fmt::Debug) -> io::Result<()> {
        self.0.state(event, process, state)?;
        self.1.state(event, process, state)
    }

    fn finish(&mut self) -> io::Result<()> {
        self.0.finish()?;
        self.1.finish()
    }
}
