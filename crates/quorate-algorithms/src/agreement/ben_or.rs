//! Randomised consensus on a bit: processes exchange their values in rounds, and toss a coin if no majority shows.
//!
//! - **Source**: Ben-Or, "Another Advantage of Free Choice: Completely Asynchronous Agreement Protocols", PODC 1983,
//!   protocol A, for crashes.
//! - **Assumes**: fewer than half of the processes crash, n > 2f, and crashed processes do not recover; links that lose
//!   nothing, in any order; fair coins that no schedule of messages depends on. No detector and no bound on delays.
//! - **Guarantees**: agreement and validity; termination with probability 1. A run that ends without a decision violates
//!   termination. A run that does not end within the limit on events counts as hung.
//! - **Costs**: 3 n (n - 1) messages if all propose the same value: REPORT, PROPOSAL and DECIDED from every process to every
//!   other; two message delays. Each further round has 2 n (n - 1) messages, and the number of rounds is not bounded. A
//!   process that learns the decision early saves its other messages.
//! - **Departs from the paper**: a process that decides sends DECIDED and stops, and so does each process that receives it. In
//!   the paper it takes part in rounds forever. A process tosses no coin itself: the coin is a function of a seed, its number
//!   and the round, so that runs can be repeated. A search through all schedules ends after a number of rounds and does not
//!   judge termination: for given coins there are schedules that never decide (Fischer, Lynch and Paterson, 1985). A process
//!   waits for a majority even if n - f is less, which the assumptions exclude.
//!
//! ```text
//!   round r:  send REPORT r, x --n - f reports--> send PROPOSAL r, v if more than n/2 report v, or PROPOSAL r, ?
//!             --n - f proposals--> more than f for v: decide v;  one for v: x = v;  none: x = coin;  round r + 1
//! ```
//!
//! Safety argument: two majorities of reports intersect, so only one value is proposed in a round. If a process receives more than
//! f proposals for v, every set of n - f proposals contains one of them. So all processes begin the next round with v.

use core::convert::Infallible;

use quorate_core::agreement::{AgreementKind, Command, Decision, Misuse, Output, Value};
use quorate_core::{
    Assumption, Cost, Effects, Kind, Layer, Process, ProcessId, ProcessSet, Profile, Property,
    SortedMap,
};

use crate::{Algorithm, Setup, Sound};

/// One process of the protocol.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct BenOr {
    id: ProcessId,
    n: usize,
    f: usize,
    seed: u64,
    /// Number of rounds after which the process gives up, if there is a limit.
    rounds: Option<u64>,
    /// The value that this process reports.
    value: bool,
    /// The current round, from 1 on; 0 before the user has proposed a value.
    round: u64,
    phase: Phase,
    /// The messages received for the current round and later ones.
    heard: SortedMap<u64, Round>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Phase {
    /// Has not proposed a value yet.
    Idle,
    /// Waits for the reports of the round.
    Reporting,
    /// Waits for the proposals of the round.
    Proposing,
    /// Has given up after the last round. It may still learn the decision.
    GivenUp,
    Decided,
}

/// The senders of the messages of a round.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Round {
    /// Reports of the value 0, and of the value 1.
    reports: [ProcessSet; 2],
    /// Proposals of the value 0, and of the value 1.
    proposals: [ProcessSet; 2],
    /// Proposals without a value.
    undecided: ProcessSet,
}

/// The messages of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// The value of the sender in this round; `(1, r, x)` in the paper.
    Report(u64, bool),
    /// The value that a majority has reported to the sender, or none; `(2, r, v, D)` and `(2, r, ?)` in the paper.
    Proposal(u64, Option<bool>),
    /// This value is decided. It has no round.
    Decided(bool),
}

impl BenOr {
    /// Creates process `id` of `n`, which tolerates `f` crashes and whose coins are determined by `seed`.
    pub fn new(n: usize, id: ProcessId, f: usize, seed: u64, rounds: Option<u32>) -> Self {
        Self {
            id,
            n,
            f,
            seed,
            rounds: rounds.map(u64::from),
            value: false,
            round: 0,
            phase: Phase::Idle,
            heard: SortedMap::new(),
        }
    }

    /// Number of messages for which a process waits: f others may have crashed. With less than a majority it would never propose a
    /// value, and toss coins forever.
    fn awaited(&self) -> usize {
        self.n.saturating_sub(self.f).max(self.n / 2 + 1)
    }

    /// Begins a round by sending the value to all.
    fn report(&mut self, out: &mut Effects<Self>) {
        self.round += 1;
        let round = self.round;
        self.heard.retain(|heard, _| *heard >= round);
        if self.rounds.is_some_and(|most| round > most) {
            self.phase = Phase::GivenUp;
            self.heard.clear();
            return;
        }
        self.phase = Phase::Reporting;
        let (id, value) = (self.id, self.value);
        self.heard.entry(round).or_default().reports[usize::from(value)].insert(id);
        out.send_to_others(Message::Report(round, value));
    }

    /// Makes all transitions that the received messages allow.
    fn advance(&mut self, out: &mut Effects<Self>) {
        loop {
            let awaited = self.awaited();
            let heard = self.heard.entry(self.round).or_default();
            match self.phase {
                Phase::Reporting if heard.reported() >= awaited => self.propose(out),
                Phase::Proposing if heard.proposed() >= awaited => self.conclude(out),
                _ => return,
            }
        }
    }

    /// Proposes the value that more than half of all processes have reported, if there is one.
    fn propose(&mut self, out: &mut Effects<Self>) {
        let (id, n) = (self.id, self.n);
        let heard = self.heard.entry(self.round).or_default();
        let by_majority = |value: &bool| heard.reports[usize::from(*value)].len() * 2 > n;
        let proposal = [false, true].into_iter().find(by_majority);
        heard.add_proposal(id, proposal);
        self.phase = Phase::Proposing;
        out.send_to_others(Message::Proposal(self.round, proposal));
    }

    /// Decides, or adopts a value for the next round.
    fn conclude(&mut self, out: &mut Effects<Self>) {
        let heard = self.heard.entry(self.round).or_default();
        let proposed = |value: &bool| !heard.proposals[usize::from(*value)].is_empty();
        match [false, true].into_iter().find(proposed) {
            Some(value) if heard.proposals[usize::from(value)].len() > self.f => {
                return self.decide(value, out);
            }
            Some(value) => self.value = value,
            None => self.value = coin(self.seed, self.id, self.round),
        }
        self.report(out);
    }

    /// Sends the decision to all before it stops, so that all live processes decide if one does.
    fn decide(&mut self, value: bool, out: &mut Effects<Self>) {
        if self.phase == Phase::Decided {
            return;
        }
        self.phase = Phase::Decided;
        self.heard.clear();
        out.send_to_others(Message::Decided(value));
        out.output(Output::Decided(Decision::Value(Value(value.into()))));
    }
}

impl Round {
    fn reported(&self) -> usize {
        self.reports.iter().map(ProcessSet::len).sum()
    }

    fn proposed(&self) -> usize {
        self.undecided.len() + self.proposals.iter().map(ProcessSet::len).sum::<usize>()
    }

    fn add_proposal(&mut self, from: ProcessId, proposal: Option<bool>) {
        match proposal {
            Some(value) => self.proposals[usize::from(value)].insert(from),
            None => self.undecided.insert(from),
        };
    }
}

/// The coin of a process in a round: one bit of a hash (the finaliser of SplitMix64).
fn coin(seed: u64, process: ProcessId, round: u64) -> bool {
    let mut bits = seed;
    for number in [u64::from(process.number()), round] {
        bits = bits.wrapping_add(number).wrapping_add(0x9e37_79b9_7f4a_7c15);
        bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^= bits >> 31;
    }
    bits >> 63 == 1
}

impl Process for BenOr {
    type Command = Command;
    type Message = Message;
    type Timer = Infallible;
    type Output = Output;
    type Misuse = Misuse;

    /// Proposes a bit. Every value but 0 counts as 1.
    fn on_command(
        &mut self,
        Command::Propose(value): Command,
        out: &mut Effects<Self>,
    ) -> Result<(), Misuse> {
        match self.phase {
            Phase::Idle => {
                self.value = value != Value(0);
                self.report(out);
                self.advance(out);
                Ok(())
            }
            // The decision may come before the proposal.
            Phase::Decided if self.round == 0 => {
                self.round = 1;
                Ok(())
            }
            _ => Err(Misuse::AlreadyProposed),
        }
    }

    fn on_message(&mut self, from: ProcessId, message: Message, out: &mut Effects<Self>) {
        let round = match message {
            Message::Decided(value) => return self.decide(value, out),
            Message::Report(round, _) | Message::Proposal(round, _) => round,
        };
        if matches!(self.phase, Phase::GivenUp | Phase::Decided) || round < self.round {
            return out.ignored("a message of an earlier round");
        }
        let heard = self.heard.entry(round).or_default();
        match message {
            Message::Report(_, value) => {
                heard.reports[usize::from(value)].insert(from);
            }
            Message::Proposal(_, proposal) => heard.add_proposal(from, proposal),
            Message::Decided(_) => {}
        }
        if self.phase != Phase::Idle {
            self.advance(out);
        }
    }

    fn waits_for(&self) -> ProcessSet {
        let silent = |heard: ProcessSet| &ProcessSet::others(self.n, self.id) - &heard;
        let heard = self.heard.get(&self.round);
        match (self.phase, heard) {
            (Phase::Reporting, Some(heard)) => silent(&heard.reports[0] | &heard.reports[1]),
            (Phase::Proposing, Some(heard)) => {
                silent(&(&heard.proposals[0] | &heard.proposals[1]) | &heard.undecided)
            }
            _ => ProcessSet::new(),
        }
    }
}

impl quorate_core::Message for Message {
    const KINDS: &'static [Kind] =
        &[Kind::agreement("REPORT"), Kind::agreement("PROPOSAL"), Kind::agreement("DECIDED")];

    fn kind(&self) -> usize {
        match self {
            Self::Report(..) => 0,
            Self::Proposal(..) => 1,
            Self::Decided(_) => 2,
        }
    }

    fn bytes(&self) -> Option<u64> {
        Some(match self {
            Self::Report(..) | Self::Proposal(..) => 10,
            Self::Decided(_) => 2,
        })
    }

    /// A lying process sends the other value.
    fn forged(&self, choice: u64) -> Self {
        let forged = |value: bool| Value(value.into()).forged(choice) != Value(0);
        match *self {
            Self::Report(round, value) => Self::Report(round, forged(value)),
            Self::Proposal(round, proposal) => Self::Proposal(round, proposal.map(forged)),
            Self::Decided(value) => Self::Decided(forged(value)),
        }
    }
}

impl Algorithm for BenOr {
    const PROFILE: Profile = Profile {
        name: "ben-or",
        layer: Layer::Agreement,
        summary: "rounds of reports and proposals of a bit; without a majority each process tosses a coin",
        source: "Ben-Or, PODC 1983, protocol A",
        specimen: None,
        assumes: &[
            Assumption::NoLoss,
            Assumption::FewCrashes,
            Assumption::LessThanAHalf,
            Assumption::CrashStop,
            Assumption::Honesty,
        ],
        guarantees: &[Property::Agreement, Property::Validity, Property::Termination],
        cost: "3n(n - 1) messages if all propose the same value, 2n(n - 1) for each further round",
        never_quiescent: false,
    };

    const AGREEMENT_KIND: AgreementKind = AgreementKind::Bit;

    fn tolerates(n: usize) -> Option<usize> {
        Some((n - 1) / 2)
    }

    /// With a limit on rounds the protocol need not decide.
    fn profile(setup: &Setup) -> Profile {
        match setup.rounds {
            Some(_) => {
                Profile { guarantees: &[Property::Agreement, Property::Validity], ..Self::PROFILE }
            }
            None => Self::PROFILE,
        }
    }

    fn build(setup: &Setup, id: ProcessId) -> Self {
        Self::new(setup.n, id, setup.tolerates, setup.seed, setup.rounds)
    }

    fn cost(setup: &Setup) -> Cost {
        let n = setup.n as u64;
        let all = n.saturating_mul(n - 1);
        // A process that learns the decision before its own proposal sends only DECIDED.
        Cost::between("3n(n - 1) + 2n(n - 1) per further round", all, u64::MAX)
            .with_delays(2..=u64::MAX, 0..=0)
            .without_delays_if_single(setup.n)
    }
}

impl Sound for BenOr {}

#[cfg(test)]
mod tests {
    use quorate_core::SortedSet;

    use super::*;

    #[test]
    fn coins_are_fair_and_independent_of_each_other() {
        let toss = |seed, process, round| u32::from(coin(seed, ProcessId::new(process), round));
        let mut patterns = [0_u32; 8];
        for seed in 0..100 {
            for round in 1..=100 {
                let pattern = (0..3).map(|process| toss(seed, process, round) << process);
                patterns[pattern.sum::<u32>() as usize] += 1;
            }
        }
        // 1250 are expected of each, with a standard deviation of 33.
        assert!(patterns.iter().all(|count| (1_100..1_400).contains(count)), "{patterns:?}");
    }

    /// The seeds that `exhaustive.rs` of `quorate-lab` explores.
    #[test]
    fn eight_seeds_show_all_outcomes_of_the_first_toss() {
        let toss = |seed| [0, 1, 2].map(|process| coin(seed, ProcessId::new(process), 1));
        let outcomes: SortedSet<[bool; 3]> =
            [0, 1, 4, 5, 6, 8, 13, 23].map(toss).into_iter().collect();
        assert_eq!(outcomes.len(), 8);
    }
}
