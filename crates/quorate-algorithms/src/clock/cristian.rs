//! Cristian's clock synchronisation: a client asks a time server and assumes that half of the round trip has passed
//! since the server answered.
//!
//! - **Source**: Cristian, "Probabilistic Clock Synchronization", Distributed Computing 3(3), 1989; Marzullo and
//!   Owicki, "Maintaining the Time in a Distributed System", PODC 1983, for answers of several servers.
//! - **Assumes**: the servers' clocks are right; clock drift is bounded, and the bound is known. If one answer is used,
//!   all processes are honest; if several are used, fewer than half of the servers waited for lie. Messages may be
//!   lost, late or out of order.
//! - **Guarantees**: the error bound: when the clock is set, it is off by at most round trip / 2 - least delay + drift
//!   during the round trip and since. From then on the bound grows by the drift bound times the elapsed time. If too
//!   few servers answer, the synchronisation fails with [`Output::Failed`] and leaves the clock unchanged.
//! - **Costs**: 2km messages for k probes of m servers.
//! - **Departs from the paper**: a probe goes to all servers at the same time and ends with the first `replies`
//!   answers, so that a crashed server need not delay it. The next probe starts immediately after, and the best reading
//!   of each server is kept.
//!
//! Several answers are intersected. Of m answers, f = (m - 1) / 2, rounded down, may be lies. The result is the
//! interval from the lowest to the highest point that lies in at least m - f of the intervals. The true time is in it.

use alloc::vec::Vec;

use quorate_core::clock_sync::{Command, Limits, Misuse, Output, Reading, Standard};
use quorate_core::{
    Assumption, Cost, Effects, Kind, Layer, Process, ProcessId, ProcessSet, Profile, Property,
    SortedMap, Span, Time,
};

use crate::{Algorithm, Setup, Shape, Sound};

/// One process of Cristian's algorithm: a time server, or a client that sets its clock by the servers.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Cristian {
    id: ProcessId,
    servers: ProcessSet,
    /// Number of servers whose answers end a probe.
    replies: usize,
    probes: u32,
    limits: Limits,
    timeout: Span,
    /// The number of the last probe.
    number: u64,
    attempt: Option<Attempt>,
}

/// A synchronisation in progress.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Attempt {
    /// Number of probes still to be sent.
    left: u32,
    /// When the current probe was sent.
    asked: Time,
    /// The servers that have answered the current probe.
    heard: ProcessSet,
    /// The best reading of each server, and when it was taken.
    best: SortedMap<ProcessId, (Reading, Time)>,
}

/// The messages of Cristian's algorithm.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// Asks a server for the time.
    Request {
        /// The number of the probe.
        number: u64,
    },
    /// Reports the time of a server.
    Reply {
        /// The number of the probe.
        number: u64,
        /// The server's clock when it answered.
        time: Time,
    },
}

/// The timer of a probe. When it expires, the probe is over.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Timeout;

impl Cristian {
    fn probe(&mut self, out: &mut Effects<Self>) {
        let Some(attempt) = &mut self.attempt else { return };
        // The time makes the number unique even if the process has lost its state and forgotten the numbers it used.
        self.number = (self.number + 1).max(out.now().0);
        attempt.left -= 1;
        attempt.asked = out.now();
        attempt.heard.clear();
        out.multicast(self.servers.clone(), Message::Request { number: self.number });
        out.set_timer(Timeout, self.timeout);
    }

    fn begin(&mut self, out: &mut Effects<Self>) {
        let (asked, heard) = (out.now(), ProcessSet::new());
        self.attempt = Some(Attempt { left: self.probes, asked, heard, best: SortedMap::new() });
        self.probe(out);
    }

    fn on_reply(&mut self, server: ProcessId, number: u64, time: Time, out: &mut Effects<Self>) {
        let current = self.number == number && self.servers.contains(server);
        let Some(attempt) = self.attempt.as_mut().filter(|_| current) else {
            return out.ignored("an answer that nobody waits for");
        };
        if !attempt.heard.insert(server) {
            return out.ignored("a second answer");
        }
        let reading = Reading::new(attempt.asked, out.now(), time, self.limits);
        let age = |(kept, at): &(Reading, Time)| kept.aged(out.now() - *at, self.limits);
        let better = |kept| reading.error < age(kept).error;
        if attempt.best.get(&server).is_none_or(better) {
            attempt.best.insert(server, (reading, out.now()));
        }
        if attempt.heard.len() >= self.replies {
            self.next_probe(out);
        }
    }

    /// Ends the current probe: sends the next one, or concludes after the last.
    fn next_probe(&mut self, out: &mut Effects<Self>) {
        match &self.attempt {
            None => {}
            Some(attempt) if attempt.left > 0 => self.probe(out),
            Some(_) => self.conclude(out),
        }
    }

    fn conclude(&mut self, out: &mut Effects<Self>) {
        let Some(attempt) = self.attempt.take() else { return };
        out.cancel_timer(Timeout);
        let now = out.now();
        let aged = attempt.best.into_values();
        let readings: Vec<Reading> =
            aged.map(|(reading, at)| reading.aged(now - at, self.limits)).collect();
        let found = match self.replies {
            1 => readings.into_iter().min_by_key(|reading| reading.error),
            replies if readings.len() >= replies => intersect(&readings),
            _ => None,
        };
        out.output(match found {
            None => Output::Failed,
            Some(Reading { offset, error }) => Output::Adjusted {
                own: now,
                shown: now + offset,
                error,
                standard: Standard::TrueTime,
            },
        });
    }
}

/// The smallest interval that contains every point allowed by enough of the readings.
fn intersect(readings: &[Reading]) -> Option<Reading> {
    let enough = readings.len() - (readings.len() - 1) / 2;
    let ends = |reading: &Reading| {
        let (middle, error) = (i128::from(reading.offset.0), i128::from(reading.error.0));
        (middle - error, middle + error)
    };
    let allowed =
        |point: i128| readings.iter().map(ends).filter(|(l, h)| (*l..=*h).contains(&point)).count();
    // The lowest such point is the start of an interval, the highest is the end of one.
    let low =
        readings.iter().map(|reading| ends(reading).0).filter(|p| allowed(*p) >= enough).min()?;
    let high =
        readings.iter().map(|reading| ends(reading).1).filter(|p| allowed(*p) >= enough).max()?;
    let middle = (low + high).div_euclid(2);
    Some(Reading {
        offset: quorate_core::Offset(i64::try_from(middle).ok()?),
        error: Span(u64::try_from(high - middle).ok()?),
    })
}

impl Process for Cristian {
    type Command = Command;
    type Message = Message;
    type Timer = Timeout;
    type Output = Output;
    type Misuse = Misuse;

    fn on_command(
        &mut self,
        Command::Synchronise: Command,
        out: &mut Effects<Self>,
    ) -> Result<(), Misuse> {
        if self.attempt.is_some() {
            return Err(Misuse::UnderWay);
        }
        if self.servers.contains(self.id) {
            // A server's clock is the reference and is never adjusted.
            let (own, shown) = (out.now(), out.now());
            let (error, standard) = (Span::ZERO, Standard::TrueTime);
            out.output(Output::Adjusted { own, shown, error, standard });
        } else {
            self.begin(out);
        }
        Ok(())
    }

    fn on_message(&mut self, from: ProcessId, message: Message, out: &mut Effects<Self>) {
        match message {
            Message::Request { number } if self.servers.contains(self.id) => {
                out.send(from, Message::Reply { number, time: out.now() });
            }
            Message::Request { .. } => out.ignored("a question for a server"),
            Message::Reply { number, time } => self.on_reply(from, number, time, out),
        }
    }

    fn on_timer(&mut self, Timeout: Timeout, out: &mut Effects<Self>) {
        self.next_probe(out);
    }

    fn on_recovery(&mut self, out: &mut Effects<Self>) {
        if self.attempt.is_some() {
            self.begin(out);
        }
    }

    fn waits_for(&self) -> ProcessSet {
        match &self.attempt {
            Some(attempt) => &self.servers - &attempt.heard,
            None => ProcessSet::new(),
        }
    }
}

impl quorate_core::Message for Message {
    const KINDS: &'static [Kind] = &[Kind::clock("REQUEST"), Kind::clock("REPLY")];

    fn kind(&self) -> usize {
        match self {
            Self::Request { .. } => 0,
            Self::Reply { .. } => 1,
        }
    }

    fn bytes(&self) -> Option<u64> {
        Some(match self {
            Self::Request { .. } => 9,
            Self::Reply { .. } => 17,
        })
    }

    /// A lying server is 0.1 to 0.8 seconds ahead.
    fn forged(&self, choice: u64) -> Self {
        match self {
            Self::Request { .. } => self.clone(),
            Self::Reply { number, time } => {
                let lie = Span::from_millis(100 * (1 + choice % 8));
                Self::Reply { number: *number, time: *time + lie }
            }
        }
    }
}

impl Algorithm for Cristian {
    const PROFILE: Profile = Profile {
        name: "cristian",
        layer: Layer::Clock,
        summary: "ask a time server; half of the round trip has passed since it answered",
        source: "Cristian, Distributed Computing 3(3), 1989",
        specimen: None,
        assumes: &[Assumption::TrueServers, Assumption::BoundedDrift, Assumption::Honesty],
        guarantees: &[Property::ClockError],
        cost: "2km messages for k probes of m servers",
        never_quiescent: false,
    };

    const SHAPE: Shape = Shape::Server;

    const ASKS_SERVERS: bool = true;

    fn profile(setup: &Setup) -> Profile {
        match setup.clock.replies {
            1 => Self::PROFILE,
            _ => Profile {
                assumes: &[
                    Assumption::TrueServers,
                    Assumption::BoundedDrift,
                    Assumption::HonestMajority,
                ],
                ..Self::PROFILE
            },
        }
    }

    fn build(setup: &Setup, id: ProcessId) -> Self {
        let clock = &setup.clock;
        // Twice the maximum round trip. Correctness does not depend on this value.
        let timeout = Span(setup.delay_bounds.bound.0.saturating_mul(4)).max(Span(1));
        Self {
            id,
            servers: clock.servers.clone(),
            replies: clock.replies,
            probes: clock.probes,
            limits: clock.limits,
            timeout,
            number: 0,
            attempt: None,
        }
    }

    fn cost(setup: &Setup) -> Cost {
        let (probes, servers) = (u64::from(setup.clock.probes), setup.clock.servers.len() as u64);
        Cost::exact("2km", 2 * probes * servers).with_delays(2 * probes..=2 * probes, 0..=0)
    }
}

impl Sound for Cristian {}

#[cfg(test)]
mod tests {
    use super::*;
    use quorate_core::Offset;

    fn readings(intervals: &[(i64, i64)]) -> Vec<Reading> {
        let reading = |&(low, high): &(i64, i64)| Reading {
            offset: Offset((low + high) / 2),
            error: Span(((high - low) / 2) as u64),
        };
        intervals.iter().map(reading).collect()
    }

    #[test]
    fn a_liar_is_outvoted_by_two() {
        let found = intersect(&readings(&[(0, 10), (4, 14), (1000, 1002)]));
        assert_eq!(found, Some(Reading { offset: Offset(7), error: Span(3) }));
    }

    #[test]
    fn a_lie_that_overlaps_widens_the_answer_but_keeps_the_truth() {
        // The true value is 9. The lie makes 0 to 4 as well supported as 8 to 10.
        let found = intersect(&readings(&[(0, 10), (8, 20), (0, 4)]));
        assert_eq!(found, Some(Reading { offset: Offset(5), error: Span(5) }));
    }

    #[test]
    fn two_who_contradict_each_other_are_not_believed() {
        assert_eq!(intersect(&readings(&[(0, 10), (20, 30)])), None);
    }
}
