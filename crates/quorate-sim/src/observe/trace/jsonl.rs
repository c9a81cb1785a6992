//! JSON Lines: one object for each record, in order.

use std::io::{self, Write};

use super::record::Record;
use super::sink::TraceSink;

/// Writes one line for each record.
pub(super) struct JsonLines<W>(W);

impl<W: Write> JsonLines<W> {
    pub(super) fn new(out: W) -> Self {
        Self(out)
    }
}

impl<W: Write> TraceSink for JsonLines<W> {
    fn record(&mut self, record: &Record) -> io::Result<()> {
        serde_json::to_writer(&mut self.0, record)?;
        self.0.write_all(b"\n")
    }

    fn finish(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}
