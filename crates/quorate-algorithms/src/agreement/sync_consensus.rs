//! Consensus in f + 1 synchronous rounds: in each, every process sends to all others the values that are new to it
//! since the previous round.
//!
//! - **Source**: Dolev and Strong, "Authenticated Algorithms for Byzantine Agreement", SIAM Journal on Computing 12(4),
//!   1983, as described for crashes by Coulouris, Dollimore, Kindberg and Blair, "Distributed Systems: Concepts and
//!   Design", 5th edition, section 15.5.
//! - **Assumes**: synchronous rounds; at most f processes crash, possibly during a multicast, and do not recover; no
//!   message is lost; no process lies.
//! - **Guarantees**: agreement, validity and termination for the processes that do not crash. Among f + 1 rounds there
//!   is one in which no process crashes; after it all processes know the same values, and the least of them is decided.
//! - **Costs**: (f + 1) n (n - 1) messages without crashes; f + 1 rounds, each of one message delay.
//! - **Departs from the paper**: a process does not send to itself. If there is nothing new in a round, an empty
//!   message is sent, as in the paper.

use alloc::vec::Vec;
use core::convert::Infallible;
use core::fmt::Debug;
use core::hash::Hash;
use core::marker::PhantomData;
use core::mem;

use quorate_core::agreement::{Command, Decision, Misuse, Output, Value};
use quorate_core::{
    Assumption, Cost, Effects, Kind, Layer, Message as CoreMessage, Process, ProcessId, Profile,
    Property, SortedSet,
};

use crate::{Algorithm, Setup, Sound};

/// One process of the algorithm.
pub type SyncConsensus = FloodSet<FPlusOneRounds>;

/// The number of rounds. The algorithm and its broken variant differ in it.
pub trait Rounds: Clone + Eq + Hash + Debug + Send + Sync {
    /// The profile of the algorithm with this number of rounds.
    const PROFILE: Profile;

    /// The formula for the number of messages.
    const FORMULA: &'static str;

    /// Number of rounds to tolerate `f` crashes.
    fn rounds(f: usize) -> u64;
}

/// The correct number of rounds: one more than the number of tolerated crashes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FPlusOneRounds;

/// A process that sends its new values to all others, round after round.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FloodSet<R> {
    /// The current round, from 1 on; greater than `rounds` when the algorithm is over.
    round: u64,
    /// The total number of rounds.
    rounds: u64,
    proposed: bool,
    values: SortedSet<Value>,
    /// Known values that this process has not sent yet.
    unsent: SortedSet<Value>,
    rule: PhantomData<R>,
}

/// Values that may be new to the receiver, in ascending order.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Message(Vec<Value>);

impl<R: Rounds> FloodSet<R> {
    /// Creates a process that tolerates `f` crashes.
    pub fn new(f: usize) -> Self {
        Self {
            round: 1,
            rounds: R::rounds(f),
            proposed: false,
            values: SortedSet::new(),
            unsent: SortedSet::new(),
            rule: PhantomData,
        }
    }

    fn flood(&mut self, out: &mut Effects<Self>) {
        out.send_to_others(Message(mem::take(&mut self.unsent).into_iter().collect()));
    }

    fn decide(&mut self, out: &mut Effects<Self>) {
        match self.values.first() {
            Some(least) => out.output(Output::Decided(Decision::Value(*least))),
            None => out.ignored("the end of the last round: nobody has proposed anything"),
        }
    }
}

impl<R: Rounds> Process for FloodSet<R> {
    type Command = Command;
    type Message = Message;
    type Timer = Infallible;
    type Output = Output;
    type Misuse = Misuse;

    fn on_start(&mut self, out: &mut Effects<Self>) {
        out.await_round();
    }

    fn on_command(&mut self, command: Command, out: &mut Effects<Self>) -> Result<(), Misuse> {
        let Command::Propose(value) = command;
        if self.proposed {
            return Err(Misuse::AlreadyProposed);
        }
        if self.round > 1 {
            return Err(Misuse::TooLate);
        }
        self.proposed = true;
        self.values.insert(value);
        if self.rounds == 0 {
            self.decide(out);
        } else {
            self.unsent.insert(value);
            self.flood(out);
        }
        Ok(())
    }

    fn on_message(&mut self, _: ProcessId, Message(values): Message, out: &mut Effects<Self>) {
        if self.round > self.rounds {
            return out.ignored("values that come after the last round");
        }
        for value in values {
            if self.values.insert(value) {
                self.unsent.insert(value);
            }
        }
    }

    fn on_round_end(&mut self, round: u64, out: &mut Effects<Self>) {
        self.round = round.saturating_add(1);
        if round == self.rounds {
            self.decide(out);
        } else if round < self.rounds {
            self.flood(out);
            out.await_round();
        }
    }
}

impl CoreMessage for Message {
    const KINDS: &'static [Kind] = &[Kind::agreement("VALUES")];

    fn kind(&self) -> usize {
        0
    }

    fn bytes(&self) -> Option<u64> {
        Some(1 + 8 * self.0.len() as u64)
    }

    fn forged(&self, choice: u64) -> Self {
        Self(self.0.iter().map(|value| value.forged(choice)).collect())
    }
}

impl<R: Rounds> Algorithm for FloodSet<R> {
    const PROFILE: Profile = R::PROFILE;

    const IN_ROUNDS: bool = true;

    fn tolerates(n: usize) -> Option<usize> {
        Some(2.min(n - 1))
    }

    fn build(setup: &Setup, _: ProcessId) -> Self {
        Self::new(setup.tolerates)
    }

    fn cost(setup: &Setup) -> Cost {
        let (n, rounds) = (setup.n as u64, R::rounds(setup.tolerates));
        let per_round = n.saturating_mul(n - 1);
        Cost::exact(R::FORMULA, rounds.saturating_mul(per_round))
            .with_delays(rounds..=rounds, 0..=0)
            .with_stored_messages_max(per_round)
    }
}

impl Rounds for FPlusOneRounds {
    const PROFILE: Profile = Profile {
        name: "sync-consensus",
        layer: Layer::Agreement,
        summary: "f + 1 rounds in which every process sends its new values to all; the least value is decided",
        source: "Coulouris et al., Distributed Systems, 5th edition, section 15.5, after Dolev and Strong, 1983",
        specimen: None,
        assumes: &[
            Assumption::NoLoss,
            Assumption::FewCrashes,
            Assumption::CrashStop,
            Assumption::Synchrony,
            Assumption::Honesty,
        ],
        guarantees: &[Property::Agreement, Property::Validity, Property::Termination],
        cost: "(f + 1) n (n - 1) messages, f + 1 rounds",
        never_quiescent: false,
    };

    const FORMULA: &'static str = "(f + 1) n (n - 1)";

    fn rounds(f: usize) -> u64 {
        f as u64 + 1
    }
}

impl Sound for SyncConsensus {}
