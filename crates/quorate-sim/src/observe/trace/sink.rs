//! The receiver of a trace.

use std::fmt;
use std::io;

use super::cancelled::Cancelled;
use super::record::Record;

/// Receives the records of a run one by one. An error of a sink ends the run.
pub trait TraceSink {
    /// Receives the next record.
    fn record(&mut self, record: &Record) -> io::Result<()>;

    /// Whether the sink wants records of this event. Checked before a record is created, because that takes time. Not
    /// checked for commands, outputs and violations. An error ends the run.
    fn wants(&mut self, event: u64, process: u32) -> Result<bool, Cancelled> {
        let _ = (event, process);
        Ok(true)
    }

    /// Receives the state of the process after an event, following the records of the event.
    fn state(&mut self, event: u64, process: u32, state: &dyn fmt::Debug) -> io::Result<()> {
        let _ = (event, process, state);
        Ok(())
    }

    /// Called after the last record.
    fn finish(&mut self) -> io::Result<()>;
}
