//! Trace sinks that observe a run in progress.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

use quorate_draw::spacetime::DiagramBuilder;
use quorate_sim::Cancelled;
use quorate_sim::trace::{Record, TraceSink, TracedState};

use crate::recording::Recording;
use crate::step_index::StepIndex;

/// Forwards records to a sink. It ends the run once the client has disconnected or the sink needs nothing more.
pub(crate) struct Recorder<'a, S> {
    pub(crate) sink: S,
    wanted: &'a AtomicBool,
    done: bool,
}

/// Trace sink that can end a run early.
pub(crate) trait RecordingSink: TraceSink {
    /// Whether the sink needs no further records.
    fn is_done(&self) -> bool {
        false
    }
}

impl<'a, S: RecordingSink> Recorder<'a, S> {
    pub(crate) fn new(sink: S, wanted: &'a AtomicBool) -> Self {
        Self { sink, wanted, done: false }
    }

    /// Whether the run was ended because the sink was done.
    pub(crate) fn is_done(&self) -> bool {
        self.done
    }
}

impl<S: RecordingSink> TraceSink for Recorder<'_, S> {
    fn record(&mut self, record: &Record) -> io::Result<()> {
        self.sink.record(record)
    }

    fn wants(&mut self, event: u64, process: u32) -> Result<bool, Cancelled> {
        self.done |= self.sink.is_done();
        if self.done || !self.wanted.load(Ordering::Relaxed) {
            return Err(Cancelled);
        }
        self.sink.wants(event, process)
    }

    fn state(&mut self, event: u64, process: u32, state: &dyn TracedState) -> io::Result<()> {
        self.sink.state(event, process, state)
    }

    fn finish(&mut self) -> io::Result<()> {
        self.sink.finish()
    }
}

/// Observes a run for the first time: the recording of its beginning, its step index, and its diagram.
#[derive(Debug)]
pub(crate) struct FirstPass {
    pub(crate) recording: Recording,
    pub(crate) diagram: DiagramBuilder,
    pub(crate) step_index: StepIndex,
}

impl RecordingSink for FirstPass {}

impl TraceSink for FirstPass {
    fn record(&mut self, record: &Record) -> io::Result<()> {
        self.step_index.observe(record);
        self.diagram.observe(record);
        self.recording.record(record)
    }

    fn state(&mut self, event: u64, process: u32, state: &dyn TracedState) -> io::Result<()> {
        self.recording.state(event, process, state)
    }

    fn finish(&mut self) -> io::Result<()> {
        self.recording.finish()
    }
}

/// Observes a later part of a run that was run before, and stops after that part.
#[derive(Debug)]
pub(crate) struct SegmentPass<'r> {
    pub(crate) recording: &'r mut Recording,
}

impl RecordingSink for SegmentPass<'_> {
    fn is_done(&self) -> bool {
        self.recording.is_full()
    }
}

impl TraceSink for SegmentPass<'_> {
    fn record(&mut self, record: &Record) -> io::Result<()> {
        self.recording.record(record)
    }

    fn state(&mut self, event: u64, process: u32, state: &dyn TracedState) -> io::Result<()> {
        self.recording.state(event, process, state)
    }

    fn finish(&mut self) -> io::Result<()> {
        self.recording.finish()
    }
}
