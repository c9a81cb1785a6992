//! Berkeley clock synchronisation: a master polls all clocks, averages the clocks that agree, and sends corrections.
//!
//! - **Source**: Gusella and Zatti, "The Accuracy of the Clock Synchronization Achieved by TEMPO in Berkeley UNIX
//!   4.3BSD", IEEE Transactions on Software Engineering 15(7), 1989.
//! - **Assumes**: clock drift is bounded, and the bound is known; all processes are honest. No message is lost, crashed
//!   processes do not recover, and the detector suspects exactly the crashed ones. If one of these three is violated, a
//!   process may wait forever, but precision still holds.
//! - **Guarantees**: precision: two clocks i and j set in the same round, at the times ti and tj, differ by at most
//!   e(i) + e(j) + r |ti - tj|, where r is the bound on drift and e = round trip / 2 - least delay, plus at most 4r
//!   times the time from poll to correction. From then on the bound grows by 2r times the elapsed time. No clock
//!   needs to be right.
//! - **Costs**: 3(n - 1) messages per round; one more if a process other than the master requests the round.
//! - **Departs from the paper**: a round starts when a user requests it, not every few minutes. In the paper the slaves
//!   elect a new master. Here the next live process in the order of numbers succeeds, according to the failure
//!   detector, and starts a round immediately.
//!
//! The average leaves outliers out, as the paper's "fault-tolerant average" does: it is taken over the largest set of
//! clocks that differ from each other by at most a given span. Outliers are left out of the average but are corrected too.

use alloc::vec::Vec;
use core::convert::Infallible;

use quorate_core::clock_sync::{Command, Limits, Misuse, Output, Reading, Standard};
use quorate_core::{
    Assumption, Belief, Cost, Effects, Kind, Layer, Offset, Process, ProcessId, ProcessSet,
    Profile, Property, SortedMap, Span, Time,
};

use crate::{Algorithm, Setup, Shape, Sound};

/// One process of the Berkeley algorithm. Any process may become the master.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Berkeley {
    id: ProcessId,
    n: usize,
    /// The master as long as no process has crashed.
    first: ProcessId,
    limits: Limits,
    /// Maximum difference between clocks that are averaged.
    outlier: Span,
    crashed: ProcessSet,
    /// Offset that is added to the machine's clock.
    correction: Offset,
    /// Whether the user waits for a synchronisation.
    requested: bool,
    /// The number of the last round that this process started as master.
    round: u64,
    poll: Option<Poll>,
    /// The last poll that was answered and not yet followed by a correction.
    answered: Option<AnsweredPoll>,
}

/// A round in progress, as seen by its master.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Poll {
    asked: Time,
    /// The master's correction when the round began. The other clocks are compared with the clock corrected by this.
    correction: Offset,
    silent: ProcessSet,
    read: SortedMap<ProcessId, Reading>,
}

/// A round in progress, as seen by a polled process.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct AnsweredPoll {
    master: ProcessId,
    round: u64,
    /// Time of the answer by the machine's clock. `correction` is the correction at that time.
    at: Time,
    correction: Offset,
}

/// The messages of the Berkeley algorithm.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// From the master: asks for the time.
    Poll {
        /// The number of the master's round.
        round: u64,
    },
    /// To the master: reports the sender's time.
    Time {
        /// The number of the master's round.
        round: u64,
        /// The sender's corrected clock.
        time: Time,
    },
    /// From the master: corrects the receiver's clock.
    Correct {
        /// The number of the master's round.
        round: u64,
        /// Offset to add to the clock.
        by: Offset,
        /// Maximum error of the master's reading, without the drift since then.
        error: Span,
    },
    /// To the master: requests a round.
    Ask,
}

impl Berkeley {
    /// The first live process in the order of succession, which begins at the first master.
    fn master(&self) -> ProcessId {
        let from = |ahead| ProcessId::from_index((self.first.index() + ahead) % self.n);
        let mut candidates = (0..self.n).map(from);
        candidates.find(|candidate| !self.crashed.contains(*candidate)).unwrap_or(self.id)
    }

    /// The position of a process in the order of succession.
    fn rank(&self, process: ProcessId) -> usize {
        (process.index() + self.n - self.first.index()) % self.n
    }

    /// Starts a round if this process is the master, else asks the master for one.
    fn request_round(&mut self, out: &mut Effects<Self>) {
        match self.master() {
            master if master == self.id => self.begin(out),
            master => out.send(master, Message::Ask),
        }
    }

    fn begin(&mut self, out: &mut Effects<Self>) {
        if self.poll.is_some() {
            return;
        }
        // The time makes the number unique even if the process has lost its state and forgotten the numbers it used.
        self.round = (self.round + 1).max(out.now().0);
        let mut others = ProcessSet::others(self.n, self.id);
        others.subtract(&self.crashed);
        out.multicast(others.clone(), Message::Poll { round: self.round });
        let (asked, correction) = (out.now(), self.correction);
        self.poll = Some(Poll { asked, correction, silent: others, read: SortedMap::new() });
        self.conclude_if_complete(out);
    }

    fn read(&mut self, from: ProcessId, time: Time, out: &mut Effects<Self>) {
        let Some(poll) = self.poll.as_mut().filter(|poll| poll.silent.contains(from)) else {
            return out.ignored("an answer that nobody waits for");
        };
        poll.silent.remove(from);
        let (asked, heard) = (poll.asked + poll.correction, out.now() + poll.correction);
        // The remote clock drifts during the round trip as well.
        let reading = Reading::new(asked, heard, time, self.limits);
        poll.read.insert(from, reading.aged(heard - asked, self.limits));
        self.conclude_if_complete(out);
    }

    fn conclude_if_complete(&mut self, out: &mut Effects<Self>) {
        if self.poll.as_ref().is_some_and(|poll| poll.silent.is_empty()) {
            self.conclude(out);
        }
    }

    fn conclude(&mut self, out: &mut Effects<Self>) {
        let Some(poll) = self.poll.take() else { return };
        let offsets = poll.read.values().map(|reading| reading.offset);
        let agreed = average(offsets.chain([Offset::ZERO]).collect(), self.outlier);
        for (process, Reading { offset, error }) in poll.read {
            let by = agreed - offset;
            out.send(process, Message::Correct { round: self.round, by, error });
        }
        let standard = Standard::Agreed { master: self.id, round: self.round };
        self.set(poll.correction + agreed, Span::ZERO, standard, out);
    }

    fn answer(&mut self, master: ProcessId, round: u64, out: &mut Effects<Self>) {
        if self.answered.as_ref().is_some_and(|last| (last.master, last.round) == (master, round)) {
            return out.ignored("a second poll of the same round");
        }
        if self.answered.as_ref().is_some_and(|last| self.rank(last.master) > self.rank(master)) {
            return out.ignored("a late poll of a master that has been succeeded");
        }
        let (at, correction) = (out.now(), self.correction);
        out.send(master, Message::Time { round, time: at + correction });
        self.answered = Some(AnsweredPoll { master, round, at, correction });
    }

    fn correct(
        &mut self,
        from: ProcessId,
        (round, by, error): (u64, Offset, Span),
        out: &mut Effects<Self>,
    ) {
        let own = |answered: &mut AnsweredPoll| (answered.master, answered.round) == (from, round);
        let Some(answered) = self.answered.take_if(own) else {
            return out.ignored("a correction of an older reading");
        };
        // Both this clock and the agreed one have drifted since the reading.
        let uncertainty = self.limits.drift.uncertainty(out.now() - answered.at);
        let standard = Standard::Agreed { master: from, round };
        self.set(answered.correction + by, error + uncertainty + uncertainty, standard, out);
    }

    fn set(
        &mut self,
        correction: Offset,
        error: Span,
        standard: Standard,
        out: &mut Effects<Self>,
    ) {
        self.correction = correction;
        self.requested = false;
        let own = out.now();
        out.output(Output::Adjusted { own, shown: own + correction, error, standard });
    }
}

/// The mean of the largest set of clocks that are all within the span of each other. Ties go to the set that contains
/// the master's clock (offset zero), then to the lowest set.
fn average(mut offsets: Vec<Offset>, within: Span) -> Offset {
    offsets.sort_unstable();
    let near = |first: usize| {
        let low = i128::from(offsets[first].0);
        let near = offsets[first..].iter();
        near.take_while(|offset| i128::from(offset.0) - low <= i128::from(within.0)).count()
    };
    let mut best = &offsets[..near(0)];
    for first in 1..offsets.len() {
        let found = &offsets[first..first + near(first)];
        let has_master = |set: &[Offset]| set.contains(&Offset::ZERO);
        if (found.len(), has_master(found)) > (best.len(), has_master(best)) {
            best = found;
        }
    }
    let sum: i128 = best.iter().map(|offset| i128::from(offset.0)).sum();
    Offset((sum / best.len().max(1) as i128) as i64)
}

impl Process for Berkeley {
    type Command = Command;
    type Message = Message;
    type Timer = Infallible;
    type Output = Output;
    type Misuse = Misuse;

    fn on_command(
        &mut self,
        Command::Synchronise: Command,
        out: &mut Effects<Self>,
    ) -> Result<(), Misuse> {
        if self.requested {
            return Err(Misuse::UnderWay);
        }
        self.requested = true;
        self.request_round(out);
        Ok(())
    }

    fn on_message(&mut self, from: ProcessId, message: Message, out: &mut Effects<Self>) {
        match message {
            Message::Poll { round } => self.answer(from, round, out),
            Message::Time { round, time } if round == self.round => self.read(from, time, out),
            Message::Time { .. } => out.ignored("an answer to an older poll"),
            Message::Correct { round, by, error } => self.correct(from, (round, by, error), out),
            // A successor that does not yet know that it is the master learns it from this request.
            Message::Ask => self.begin(out),
        }
    }

    fn on_belief(&mut self, belief: Belief, out: &mut Effects<Self>) {
        let before = self.master();
        match belief {
            Belief::Crashed(process) => {
                self.crashed.insert(process);
                if let Some(poll) = &mut self.poll {
                    poll.silent.remove(process);
                }
            }
            Belief::Alive(process) => {
                self.crashed.remove(process);
                // The recovered process may be master again and may precede its successor in rank. Its
                // polls must be accepted.
                self.answered = None;
            }
        }
        self.conclude_if_complete(out);
        let succeeded = self.master() != before && matches!(belief, Belief::Crashed(_));
        if succeeded && (self.requested || self.master() == self.id) {
            self.request_round(out);
        }
    }

    fn on_recovery(&mut self, out: &mut Effects<Self>) {
        (self.poll, self.answered) = (None, None);
        self.crashed.clear();
        if self.requested {
            self.request_round(out);
        }
    }

    fn waits_for(&self) -> ProcessSet {
        match &self.poll {
            Some(poll) => poll.silent.clone(),
            None if self.requested => ProcessSet::from_iter([self.master()]),
            None => ProcessSet::new(),
        }
    }
}

impl quorate_core::Message for Message {
    const KINDS: &'static [Kind] =
        &[Kind::clock("POLL"), Kind::clock("TIME"), Kind::clock("CORRECT"), Kind::clock("ASK")];

    fn kind(&self) -> usize {
        match self {
            Self::Poll { .. } => 0,
            Self::Time { .. } => 1,
            Self::Correct { .. } => 2,
            Self::Ask => 3,
        }
    }

    fn bytes(&self) -> Option<u64> {
        Some(match self {
            Self::Poll { .. } => 9,
            Self::Time { .. } => 17,
            Self::Correct { .. } => 25,
            Self::Ask => 1,
        })
    }

    /// A lying process is 10 to 80 seconds ahead. A lying master sends corrections that are wrong by 0.1 to 0.8 seconds.
    fn forged(&self, choice: u64) -> Self {
        let lie = Span::from_millis(100 * (1 + choice % 8));
        match self {
            Self::Time { round, time } => {
                Self::Time { round: *round, time: *time + Span(lie.0 * 100) }
            }
            Self::Correct { round, by, error } => {
                Self::Correct { round: *round, by: *by + Offset(lie.0 as i64), error: *error }
            }
            Self::Poll { .. } | Self::Ask => self.clone(),
        }
    }
}

impl Algorithm for Berkeley {
    const PROFILE: Profile = Profile {
        name: "berkeley",
        layer: Layer::Clock,
        summary: "a master polls all clocks, averages those that agree and sends corrections",
        source: "Gusella, Zatti, IEEE TSE 15(7), 1989",
        specimen: None,
        assumes: &[
            Assumption::NoLoss,
            Assumption::CrashStop,
            Assumption::PerfectDetector,
            Assumption::BoundedDrift,
            Assumption::Honesty,
        ],
        guarantees: &[Property::ClockPrecision],
        cost: "3(n - 1) messages a round, one more if a process other than the master requests it",
        never_quiescent: false,
    };

    const SHAPE: Shape = Shape::Server;

    const AVERAGES_CLOCKS: bool = true;

    fn build(setup: &Setup, id: ProcessId) -> Self {
        Self {
            id,
            n: setup.n,
            first: setup.server,
            limits: setup.clock.limits,
            outlier: setup.clock.outlier,
            crashed: ProcessSet::new(),
            correction: Offset::ZERO,
            requested: false,
            round: 0,
            poll: None,
            answered: None,
        }
    }

    fn cost(setup: &Setup) -> Cost {
        let round = 3 * (setup.n as u64 - 1);
        Cost::exact("3(n - 1)", round).with_delays(2..=4, 0..=0).without_delays_if_single(setup.n)
    }
}

impl Sound for Berkeley {}

#[cfg(test)]
mod tests {
    use super::*;

    fn mean(offsets: &[i64]) -> i64 {
        average(offsets.iter().copied().map(Offset).collect(), Span(100)).0
    }

    #[test]
    fn outliers_are_left_out_of_the_average() {
        assert_eq!(mean(&[0, 30, 60]), 30);
        assert_eq!(mean(&[0, 30, 60, 5_000]), 30);
        // The majority agrees that the master's clock is wrong.
        assert_eq!(mean(&[0, 5_000, 5_010, 5_020]), 5_010);
        // No two clocks agree: the master's clock is taken.
        assert_eq!(mean(&[0, -5_000, 5_000]), 0);
        assert_eq!(mean(&[0]), 0);
    }
}
