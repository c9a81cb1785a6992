//! Berkeley clock synchronisation: a master polls all clocks, averages those that agree, and sends corrections.
//!
//! - **Source**: Gusella and Zatti, "The Accuracy of the Clock Synchronization Achieved by TEMPO in Berkeley UNIX 4.3BSD",
//!   IEEE Transactions on Software Engineering 15(7), 1989.
//! - **Assumes**: no clock drifts faster than is known; everybody is honest. Nothing is lost, the crashed stay away and
//!   the detector suspects exactly them: without these three somebody may wait for ever, but precision still holds.
//! - **Guarantees**: precision: two clocks i and j set in the same round, at the times ti and tj, differ by no more than
//!   e(i) + e(j) + r |ti - tj|, where r is the bound on drift and e = round trip / 2 - least delay and at most 4r times
//!   the time from poll to correction. From then on this grows by 2r times the time that passes. No clock need be right.
//! - **Costs**: 3(n - 1) messages a round; one more where another than the master wants it.
//! - **Departs from the paper**: a round is begun when a user wants one, not every few minutes. The paper elects a
//!   new master by an election among the slaves; here the next live process in the order of numbers succeeds, by what
//!   the failure detector says, and begins a round at once.
//!
//! The average leaves outliers out, as the paper's "fault-tolerant average" does: it is taken over the largest set of
//! clocks that differ from each other by no more than a given span. Whoever is left out is corrected all the same.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::convert::Infallible;

use quorate_core::clock_sync::{Command, Limits, Misuse, Output, Reading, Standard};
use quorate_core::{
    Assumption, Belief, Cost, Effects, Kind, Layer, Offset, Process, ProcessId, ProcessSet,
    Profile, Property, Span, Time,
};

use crate::{Algorithm, Setup, Shape, Sound};

/// One process of it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Berkeley {
    id: ProcessId,
    n: usize,
    /// Who is master while nobody has crashed.
    first: ProcessId,
    limits: Limits,
    /// Clocks that are averaged differ by no more than this.
    outlier: Span,
    crashed: ProcessSet,
    /// What is added to the machine's clock.
    correction: Offset,
    /// Whether the user waits.
    requested: bool,
    /// The number of its last round, where it is or was master.
    round: u64,
    poll: Option<Poll>,
    /// The last poll that was answered.
    answered: Option<AnsweredPoll>,
}

/// A round, as its master sees it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Poll {
    asked: Time,
    /// What was added to the master's clock when the round began: others are compared with that clock.
    correction: Offset,
    silent: ProcessSet,
    read: BTreeMap<ProcessId, Reading>,
}

/// A round, as one sees it that was polled.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct AnsweredPoll {
    master: ProcessId,
    round: u64,
    /// When, by the machine's clock, and what was added to that.
    at: Time,
    correction: Offset,
}

/// What the processes say.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// "What time is it at yours?"
    Poll {
        /// The master's round.
        round: u64,
    },
    /// "This late."
    Time {
        /// The master's round.
        round: u64,
        /// What the sender's corrected clock shows.
        time: Time,
    },
    /// "Your clock is off by so much."
    Correct {
        /// The master's round.
        round: u64,
        /// What to add.
        by: Offset,
        /// How far from the agreed time that may lead.
        error: Span,
    },
    /// "Please begin a round."
    Ask,
}

impl Berkeley {
    /// The first live process from the usual master on.
    fn master(&self) -> ProcessId {
        let from = |ahead| ProcessId::from_index((self.first.index() + ahead) % self.n);
        let mut candidates = (0..self.n).map(from);
        candidates.find(|candidate| !self.crashed.contains(*candidate)).unwrap_or(self.id)
    }

    /// The how manyeth it is in the order of succession.
    fn rank(&self, process: ProcessId) -> usize {
        (process.index() + self.n - self.first.index()) % self.n
    }

    /// Gets the clock set, by itself or by the master.
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
        // The time makes it a number that was never used, even by one that has forgotten which were.
        self.round = (self.round + 1).max(out.now().0);
        let mut others = ProcessSet::others(self.n, self.id);
        others.subtract(&self.crashed);
        out.multicast(others.clone(), Message::Poll { round: self.round });
        let (asked, correction) = (out.now(), self.correction);
        self.poll = Some(Poll { asked, correction, silent: others, read: BTreeMap::new() });
        self.conclude_if_complete(out);
    }

    fn read(&mut self, from: ProcessId, time: Time, out: &mut Effects<Self>) {
        let Some(poll) = self.poll.as_mut().filter(|poll| poll.silent.contains(from)) else {
            return out.ignored("an answer that nobody waits for");
        };
        poll.silent.remove(from);
        let (asked, heard) = (poll.asked + poll.correction, out.now() + poll.correction);
        // The clock that was read drifts as well.
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
        // Its own clock and the agreed one have drifted since the reading.
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

/// The mean of the largest set of clocks within the span of each other; of several such sets, that with the master's
/// clock (zero) or else the lowest.
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
            // One that does not know yet that it has succeeded learns it from being asked.
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
                // It may be master again, before whoever succeeded it.
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

    /// A liar's clock is ahead by some seconds; a lying master sends corrections that are wrong by some tenths of one.
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
        cost: "3(n - 1) messages a round, one more where another than the master wants it",
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
        // Most agree that the master itself is wrong.
        assert_eq!(mean(&[0, 5_000, 5_010, 5_020]), 5_010);
        // Nobody agrees with anybody: the master's clock it is.
        assert_eq!(mean(&[0, -5_000, 5_000]), 0);
        assert_eq!(mean(&[0]), 0);
    }
}
