//! Dining philosophers that take one fork after the other and keep those they have: a specimen that deadlocks.
//!
//! - **Source**: the folklore solution that deadlocks, in Dijkstra, "Hierarchical Ordering of Sequential Processes", Acta
//!   Informatica 1(2), 1971.
//! - **Assumes**: fixed membership; no process crashes; FIFO links that neither lose nor duplicate.
//! - **Guarantees**: exclusion of neighbours. It claims no starvation and violates it: if all take their first fork at the same
//!   time, each waits for the next one forever.
//! - **Costs**: 0 to 3 messages per neighbour and entry.
//! - **Departs from the paper**: forks are not on a table. The neighbour that takes a fork first keeps it while it is not in use,
//!   and hands it out on request.

use core::convert::Infallible;

use alloc::vec::Vec;

use quorate_core::allocation::{Claim, ClaimKind, Command, Misuse, Output};
use quorate_core::{
    Assumption, Cost, Effects, Kind, Layer, Message as CoreMessage, Process, ProcessId, ProcessSet,
    Profile, Property, SortedMap, Specimen,
};

use crate::{Algorithm, Setup, Shape};

/// One process of the specimen.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DiningNaive {
    id: ProcessId,
    /// Neighbours in the order in which their forks are taken: the following processes first.
    order: Vec<ProcessId>,
    phase: Phase,
    /// The forks that this process hands out, by neighbour.
    kept: SortedMap<ProcessId, KeptFork>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Phase {
    Thinking,
    /// Has as many forks as this, and waits for the next one.
    Taking(usize),
    Eating,
}

/// A fork that its keeper hands out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct KeptFork {
    /// The user of the fork: the keeper, or else the neighbour.
    user: Option<User>,
    /// Whether the other one of the two waits for it.
    awaited: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum User {
    Keeper,
    Neighbour,
}

/// A message of the specimen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// Asks the keeper for a fork.
    Take,
    /// Hands out a fork.
    Grant,
    /// Returns a fork to its keeper.
    Return,
}

impl DiningNaive {
    /// Creates process `id` of n processes with these neighbours.
    pub fn new(n: usize, id: ProcessId, neighbours: &ProcessSet) -> Self {
        let mut order: Vec<ProcessId> = neighbours.iter().collect();
        order.sort_by_key(|other| (other.index() + n - id.index()) % n);
        let is_kept = |other: &ProcessId| {
            let ahead = (other.index() + n - id.index()) % n;
            (ahead, id) < (n - ahead, *other)
        };
        let kept = neighbours.iter().filter(is_kept);
        let kept = kept.map(|other| (other, KeptFork::default())).collect();
        Self { id, order, phase: Phase::Thinking, kept }
    }

    fn claim(&self) -> Claim {
        Claim::shared_with(self.id, &self.order.iter().copied().collect())
    }

    /// Takes forks until one has to be waited for, from the one with this number on.
    fn take_from(&mut self, first: usize, out: &mut Effects<Self>) {
        for (number, other) in self.order.iter().enumerate().skip(first) {
            self.phase = Phase::Taking(number);
            let Some(fork) = self.kept.get_mut(other) else {
                return out.send(*other, Message::Take);
            };
            if fork.user.is_some() {
                fork.awaited = true;
                return;
            }
            fork.user = Some(User::Keeper);
        }
        self.phase = Phase::Eating;
        out.output(Output::Entered);
    }

    fn release(&mut self, out: &mut Effects<Self>) {
        self.phase = Phase::Thinking;
        for other in &self.order {
            match self.kept.get_mut(other) {
                Some(fork) if fork.awaited => {
                    *fork = KeptFork { user: Some(User::Neighbour), awaited: false };
                    out.send(*other, Message::Grant);
                }
                Some(fork) => fork.user = None,
                None => out.send(*other, Message::Return),
            }
        }
    }
}

impl Process for DiningNaive {
    type Command = Command;
    type Message = Message;
    type Timer = Infallible;
    type Output = Output;
    type Misuse = Misuse;

    fn on_command(&mut self, command: Command, out: &mut Effects<Self>) -> Result<(), Misuse> {
        match (command, self.phase) {
            (Command::Request(claim), _) if claim != self.claim() => {
                return Err(Misuse::OtherClaim);
            }
            (Command::Request(_), Phase::Thinking) => self.take_from(0, out),
            (Command::Request(_), _) => return Err(Misuse::AlreadyAsked),
            (Command::Release, Phase::Eating) => self.release(out),
            (Command::Release, _) => return Err(Misuse::NotInside),
        }
        Ok(())
    }

    fn on_message(&mut self, from: ProcessId, message: Message, out: &mut Effects<Self>) {
        match (message, self.kept.get_mut(&from), self.phase) {
            (Message::Take, Some(fork), _) if fork.user.is_none() => {
                fork.user = Some(User::Neighbour);
                out.send(from, Message::Grant);
            }
            (Message::Take, Some(fork), _) => fork.awaited = true,
            (Message::Return, Some(fork), Phase::Taking(number)) if fork.awaited => {
                *fork = KeptFork { user: Some(User::Keeper), awaited: false };
                self.take_from(number + 1, out);
            }
            (Message::Return, Some(fork), _) => fork.user = None,
            (Message::Grant, None, Phase::Taking(number)) => self.take_from(number + 1, out),
            _ => out.ignored("a message about no fork"),
        }
    }

    fn waits_for(&self) -> ProcessSet {
        match self.phase {
            Phase::Taking(number) => self.order.get(number).copied().into_iter().collect(),
            Phase::Thinking | Phase::Eating => ProcessSet::new(),
        }
    }
}

impl CoreMessage for Message {
    const KINDS: &'static [Kind] =
        &[Kind::allocation("TAKE"), Kind::allocation("GRANT"), Kind::allocation("RETURN")];

    fn kind(&self) -> usize {
        *self as usize
    }
}

impl Algorithm for DiningNaive {
    const PROFILE: Profile = Profile {
        name: "dining-naive",
        layer: Layer::Allocation,
        summary: "take one fork after the other, and keep those you have",
        source: "Dijkstra, Acta Informatica 1(2), 1971",
        specimen: Some(Specimen {
            breaks: Property::NoStarvation,
            also_breaks: &[],
            why: "if all take their first fork at the same time, each waits for the next one forever",
        }),
        assumes: &[
            Assumption::NoLoss,
            Assumption::NoDuplication,
            Assumption::Fifo,
            Assumption::NoCrash,
            Assumption::Honesty,
        ],
        guarantees: &[Property::Exclusion, Property::NoStarvation, Property::Concurrency],
        cost: "0 to 3 messages per neighbour and entry",
        never_quiescent: false,
    };

    const CLAIM_KIND: ClaimKind = ClaimKind::AllResources;
    const SHAPE: Shape = Shape::Conflicts;

    fn build(setup: &Setup, id: ProcessId) -> Self {
        Self::new(setup.n, id, &setup.conflicts.neighbours(setup.n, id))
    }

    fn cost(setup: &Setup) -> Cost {
        let most = 3 * setup.conflicts.degrees(setup.n).1;
        Cost::between("0 to 3 per neighbour", 0, most)
            .with_delays(0..=2 * setup.conflicts.degrees(setup.n).1, 0..=0)
            .without_delays_if_single(setup.n)
    }
}
