//! Several sinks that receive the same records, for example to write and draw a trace at the same time.

use std::fmt;
use std::io;

use super::cancelled::Cancelled;
use super::record::Record;
use super::sink::{TraceSink, TracedState};

/// Forwards records and states to all of its sinks. A sink may get records of events that only another one wants.
#[derive(Default)]
pub struct Tee<'a>(pub Vec<&'a mut dyn TraceSink>);

impl fmt::Debug for Tee<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Tee of {} sinks", self.0.len())
    }
}

impl TraceSink for Tee<'_> {
    fn record(&mut self, record: &Record) -> io::Result<()> {
        self.0.iter_mut().try_for_each(|sink| sink.record(record))
    }

    fn wants(&mut self, event: u64, process: u32) -> Result<bool, Cancelled> {
        let mut wanted = false;
        for sink in &mut self.0 {
            wanted |= sink.wants(event, process)?;
        }
        Ok(wanted)
    }

    fn state(&mut self, event: u64, process: u32, state: &dyn TracedState) -> io::Result<()> {
        self.0.iter_mut().try_for_each(|sink| sink.state(event, process, state))
    }

    fn finish(&mut self) -> io::Result<()> {
        self.0.iter_mut().try_for_each(|sink| sink.finish())
    }
}
