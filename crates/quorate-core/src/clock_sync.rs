//! Synchronisation of physical clocks: the commands and outputs that all such algorithms share.

use crate::{Drift, Offset, Process, ProcessId, Span, Time};

/// A command of the user to a process that synchronises its clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Command {
    /// Synchronise the clock now.
    Synchronise,
}

/// An output of a clock synchronisation algorithm to its user.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Output {
    /// The clock has been adjusted. The machine's own clock is unchanged; only the offset that is added to it has changed.
    Adjusted {
        /// Reading of the machine's own clock.
        own: Time,
        /// Reading of the corrected clock at the same moment.
        shown: Time,
        /// Maximum deviation of the corrected clock from its standard at that moment. From then on it grows as
        /// the machine's clock drifts.
        error: Span,
        /// The standard to which the clock was set.
        standard: Standard,
    },
    /// No trustworthy answer arrived.
    Failed,
}

/// The standard to which a clock is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Standard {
    /// The true time, as opposed to the time of another process.
    TrueTime,
    /// The time that a master computed in one of its rounds. It advances with the master's own clock.
    Agreed {
        /// The process that computed the time.
        master: ProcessId,
        /// The number of the master's round.
        round: u64,
    },
}

/// A command that is invalid in the present state. The state has not changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Misuse {
    /// A synchronisation is already under way.
    #[error("this process is setting its clock already")]
    UnderWay,
}

/// A process that synchronises its clock with the clocks of other processes.
pub trait ClockSync: Process<Command = Command, Output = Output, Misuse = Misuse> {}

impl<P: Process<Command = Command, Output = Output, Misuse = Misuse>> ClockSync for P {}

/// Bounds on clocks and links that are known before any measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Limits {
    /// Minimum delay of a message.
    pub delay_min: Span,
    /// Maximum drift of any clock.
    pub drift: Drift,
}

/// A remote clock reading. The remote clock showed `theirs` at some moment between the request and the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Reading {
    /// Estimate of how far the remote clock was ahead of the local clock when the answer was received.
    pub offset: Offset,
    /// Maximum error of the estimate.
    pub error: Span,
}

impl Reading {
    /// Cristian's estimate: half of the round trip has passed since the remote clock was read. Request and answer each
    /// took at least the minimum delay, so the true value is within half of the rest.
    pub fn new(asked: Time, heard: Time, theirs: Time, limits: Limits) -> Self {
        let trip = heard - asked;
        // The local clock may be slow and have shown too little for the round trip.
        let trip = trip + limits.drift.uncertainty(trip);
        let half = Span(trip.0.div_ceil(2));
        Self {
            offset: (theirs + half).ahead_of(heard),
            error: Span(half.0.saturating_sub(limits.delay_min.0)),
        }
    }

    /// The same reading after the local clock has advanced by `by`. The error grows with the drift.
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
        // Sent at 100, answered at 140. The remote clock was at 1000 when it was read 10 to 30 ago, so it is at
        // 1020 ± 10 now.
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
