//! The receiver of a trace.

use std::fmt;
use std::io;

use quorate_core::{Permission, Process, ProcessSet};

use super::cancelled::Cancelled;
use super::record::Record;

/// State of a process, as shown to a [`TraceSink`].
pub trait TracedState: fmt::Debug {
    /// Processes for which the process waits.
    fn waits_for(&self) -> ProcessSet;

    /// Location of its vote or its token.
    fn permission(&self) -> Permission;
}

impl<P: Process> TracedState for P {
    fn waits_for(&self) -> ProcessSet {
        Process::waits_for(self)
    }

    fn permission(&self) -> Permission {
        Process::permission(self)
    }
}

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
    fn state(&mut self, event: u64, process: u32, state: &dyn TracedState) -> io::Result<()> {
        let _ = (event, process, state);
        Ok(())
    }

    /// Called after the last record.
    fn finish(&mut self) -> io::Result<()>;
}
