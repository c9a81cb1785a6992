//! The clock of a process, which may be wrong and may change its rate.

use quorate_core::{Drift, ProcessId, Span, Time};

use crate::scenario::Clocks;

/// A clock that showed some time at one moment and has run at a constant rate since then.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RunningClock {
    since: Time,
    shown: Time,
    rate: f64,
}

impl Default for RunningClock {
    fn default() -> Self {
        Self { since: Time::ZERO, shown: Time::ZERO, rate: 1.0 }
    }
}

impl RunningClock {
    /// Creates a clock that shows this time at the start of a run.
    pub fn new(shown: Time, drift: Drift) -> Self {
        let rate = 1.0 + drift.0 as f64 / Drift::ONE as f64;
        Self { since: Time::ZERO, shown, rate }
    }

    /// The clock of a process at the start of a run.
    pub fn of(clocks: &Clocks, process: ProcessId) -> Self {
        let wrong = clocks.wrong.iter().rfind(|clock| clock.process == process);
        let (offset, drift) = wrong.map(|clock| (clock.offset, clock.drift)).unwrap_or_default();
        Self::new(clocks.start + offset, drift)
    }

    /// Time that the clock shows at this moment of virtual time.
    pub fn show(&self, now: Time) -> Time {
        self.shown + scaled(now.since(self.since), self.rate)
    }

    /// Changes the rate of the clock from now on.
    pub fn set_rate(&mut self, rate: f64, now: Time) {
        *self = Self { since: now, shown: self.show(now), rate };
    }

    /// The rate of the clock: 1 if it runs as fast as virtual time.
    pub fn rate(&self) -> f64 {
        self.rate
    }
}

/// Multiplies a span, in whole nanoseconds. Floating-point multiplication rounds the same way on every machine.
pub(super) fn scaled(span: Span, factor: f64) -> Span {
    if factor == 1.0 { span } else { Span((span.0 as f64 * factor) as u64) }
}
