//! Synchronisation of physical clocks: what a user asks and hears, whatever the algorithm.

use crate::{Drift, Offset, Process, ProcessId, Span, Time};

/// What the user of a clock asks of its process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Command {
    /// Set the clock right.
    Synchronise,
}

/// What a clock tells its user.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Output {
    /// The clock has been set. The machine's own clock runs on as it did; what is added to it has changed.
    Adjusted {
        /// What the machine's own clock shows.
        own: Time,
        /// What the corrected clock shows at that moment.
        shown: Time,
        /// By how much the corrected clock may differ from its standard at that moment. From then on this grows as the
        /// machine's clock drifts.
        error: Span,
        /// What it was set by.
        standard: Standard,
    },
    /// Nobody answered that could be believed.
    Failed,
}

/// What a clock is set by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Standard {
    /// The true time.
    TrueTime,
    /// The time that a master found in this round of its: it runs as the master's own clock does.
    Agreed {
        /// The master.
        master: ProcessId,
        /// Its round.
        round: u64,
    },
}

/// A command that makes no sense now. Nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Misuse {
    /// It is setting its clock already.
    #[error("this process is setting its clock already")]
    UnderWay,
}

/// A process that sets its clock by others'.
pub trait ClockSync: Process<Command = Command, Output = Output, Misuse = Misuse> {}

impl<P: Process<Command = Command, Output = Output, Misuse = Misuse>> ClockSync for P {}

/// What is known of clocks and links before anything is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Limits {
    /// The least time that a message takes.
    pub delay_min: Span,
    /// No clock gains or loses more than this.
    pub drift: Drift,
}

/// Another clock, read from afar: it said `theirs` at some moment between asking and hearing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Reading {
    /// By how much the other clock was ahead of one's own when the answer was heard, as near as can be told.
    pub offset: Offset,
    /// By how much that may be wrong.
    pub error: Span,
}

impl Reading {
    /// Cristian's estimate: half of the round trip has passed since. The answer took the least time at least, and so did
    /// the question, so the truth is within half of the rest.
    pub fn new(asked: Time, heard: Time, theirs: Time, limits: Limits) -> Self {
        let trip = heard - asked;
        // One's own clock may have shown too little for the trip.
        let trip = trip + limits.drift.uncertainty(trip);
        let half = Span(trip.0.div_ceil(2));
        Self {
            offset: (theirs + half).ahead_of(heard),
            error: Span(half.0.saturating_sub(limits.delay_min.0)),
        }
    }

    /// The same reading so much later by one's own clock.
    #[must_use]
    pub fn aged(self, by: Span, limits: Limits) -> Self {
        Self { error: self.error + limits.drift.uncertainty(by), ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits { delay_min: Span(10), drift: Drift::NONE };

    #[test]
    fn half_of_the_round_trip_has_passed() {
        // Asked at 100, heard at 140: the other clock, read 10 to 30 before, was at 1000, and is at 1020 give or take 10.
        let reading = Reading::new(Time(100), Time(140), Time(1000), LIMITS);
        assert_eq!(reading, Reading { offset: Offset(1020 - 140), error: Span(10) });
    }

    #[test]
    fn a_trip_of_the_least_time_leaves_no_doubt_but_drift() {
        let reading = Reading::new(Time(100), Time(120), Time(50), LIMITS);
        assert_eq!(reading, Reading { offset: Offset(60 - 120), error: Span::ZERO });
        let drifting = Limits { drift: Drift(1_000_000), ..LIMITS };
        assert_eq!(reading.aged(Span(1_000_000), drifting).error, Span(1_003));
    }
}
