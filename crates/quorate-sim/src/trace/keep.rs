//! Keeps a trace in memory, for whoever draws it.

use std::fmt;
use std::io;

use super::{Record, TraceSink, What};

/// Records in the order in which things happened, up to a bound on their number.
#[derive(Clone, Debug)]
pub struct Keep {
    records: Vec<Record>,
    most: usize,
    left_out: u64,
}

impl Keep {
    /// Keeps at most so many.
    pub fn new(most: usize) -> Self {
        Self { records: Vec::new(), most, left_out: 0 }
    }

    /// What was kept: the first ones, and every violation.
    pub fn records(&self) -> &[Record] {
        &self.records
    }

    /// How many were not.
    pub fn left_out(&self) -> u64 {
        self.left_out
    }
}

impl TraceSink for Keep {
    fn record(&mut self, record: &Record) -> io::Result<()> {
        if self.records.len() < self.most || matches!(record.what, What::Violation { .. }) {
            self.records.push(record.clone());
        } else {
            self.left_out += 1;
        }
        Ok(())
    }

    fn finish(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Two that hear the same.
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
