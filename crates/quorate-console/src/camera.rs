//! What watches a run while it goes on.

use std::fmt;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

use quorate_draw::spacetime::Draft;
use quorate_sim::trace::{Record, TraceSink};

use crate::film::Film;
use crate::timetable::Timetable;

/// Watches as long as anybody waits for it, and as long as there is anything to be seen.
pub(crate) struct Camera<'a, L> {
    pub(crate) lens: L,
    wanted: &'a AtomicBool,
    done: bool,
}

/// What a camera sees.
pub(crate) trait Lens: TraceSink {
    /// Whether it has seen enough.
    fn is_done(&self) -> bool {
        false
    }
}

impl<'a, L: Lens> Camera<'a, L> {
    pub(crate) fn new(lens: L, wanted: &'a AtomicBool) -> Self {
        Self { lens, wanted, done: false }
    }

    /// Whether it has ended the run because it had seen enough.
    pub(crate) fn is_done(&self) -> bool {
        self.done
    }
}

impl<L: Lens> TraceSink for Camera<'_, L> {
    fn record(&mut self, record: &Record) -> io::Result<()> {
        self.lens.record(record)
    }

    fn wants(&mut self, event: u64, process: u32) -> io::Result<bool> {
        self.done |= self.lens.is_done();
        if self.done || !self.wanted.load(Ordering::Relaxed) {
            return Err(io::ErrorKind::Interrupted.into());
        }
        self.lens.wants(event, process)
    }

    fn state(&mut self, event: u64, process: u32, state: &dyn fmt::Debug) -> io::Result<()> {
        self.lens.state(event, process, state)
    }

    fn finish(&mut self) -> io::Result<()> {
        self.lens.finish()
    }
}

/// Sees a run for the first time: how it begins, when everything happens, and what it looks like from afar.
#[derive(Debug)]
pub(crate) struct First {
    pub(crate) film: Film,
    pub(crate) draft: Draft,
    pub(crate) timetable: Timetable,
}

impl Lens for First {}

impl TraceSink for First {
    fn record(&mut self, record: &Record) -> io::Result<()> {
        self.timetable.hear(record);
        self.draft.hear(record);
        self.film.record(record)
    }

    fn state(&mut self, event: u64, process: u32, state: &dyn fmt::Debug) -> io::Result<()> {
        self.film.state(event, process, state)
    }

    fn finish(&mut self) -> io::Result<()> {
        self.film.finish()
    }
}

/// Sees a part of a run that was seen before, and nothing after it.
#[derive(Debug)]
pub(crate) struct Part<'f> {
    pub(crate) film: &'f mut Film,
}

impl Lens for Part<'_> {
    fn is_done(&self) -> bool {
        self.film.is_full()
    }
}

impl TraceSink for Part<'_> {
    fn record(&mut self, record: &Record) -> io::Result<()> {
        self.film.record(record)
    }

    fn state(&mut self, event: u64, process: u32, state: &dyn fmt::Debug) -> io::Result<()> {
        self.film.state(event, process, state)
    }

    fn finish(&mut self) -> io::Result<()> {
        self.film.finish()
    }
}
