//! Drinking philosophers: a process needs some of the bottles that it shares with its neighbours, others each time.
//!
//! - **Source**: Chandy and Misra, "The Drinking Philosophers Problem", ACM TOPLAS 6(4), 1984.
//! - **Assumes**: fixed membership; no process crashes; links that neither lose nor duplicate. Any order.
//! - **Guarantees**: exclusion of processes that need the same bottle, no starvation if processes stop drinking, concurrency of
//!   all others, also of neighbours.
//! - **Costs**: up to 4 messages per neighbour and entry, two for a bottle and two for a fork. A bottle for which two processes
//!   compete may go back and forth while their fork is on its way, two messages each time. Zero to two message delays if no
//!   other process needs the bottles.
//! - **Departs from the paper**: the process itself is the philosopher; "drinking" is being inside. A request that overtakes the
//!   bottle or the fork that its sender has sent is remembered, so links need not be FIFO.
//!
//! A process sends a bottle on request, unless it needs the bottle and is drinking or has the fork for it. Forks decide between
//! two processes that need the same bottle, by the rules of the dining philosophers: a thirsty process becomes hungry, and
//! stops eating once it drinks.

use core::convert::Infallible;
use core::mem;

use quorate_core::allocation::{Claim, ClaimKind, Command, Misuse, Output, Resource};
use quorate_core::{
    Assumption, Cost, Effects, Kind, Layer, Message as CoreMessage, Process, ProcessId, ProcessSet,
    Profile, Property, SortedMap,
};

use super::forks::{Diner, ForkMessage, Forks};
use crate::{Algorithm, Setup, Shape, Sound};

/// One process of the algorithm.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DrinkingPhilosophers {
    id: ProcessId,
    phase: Phase,
    bottles: SortedMap<ProcessId, Bottle>,
    forks: Forks,
}

/// State of the process, with the neighbours whose bottles it needs.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Phase {
    Tranquil,
    Thirsty(ProcessSet),
    Drinking(ProcessSet),
}

/// The bottle shared with one neighbour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Bottle {
    place: Place,
    /// Whether the neighbour has asked for it.
    wanted: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Place {
    Here,
    /// The neighbour has it, and this process has not asked for it.
    Away,
    /// The neighbour has it or has sent it, and this process has asked for it.
    Requested,
}

/// A message of the algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// Asks for the bottle.
    AskBottle,
    /// Hands over the bottle.
    Bottle,
    /// A message about the fork.
    Fork(ForkMessage),
}

impl DrinkingPhilosophers {
    /// Creates process `id` with these neighbours. Initially the neighbour with the lower number has each bottle and each fork.
    pub fn new(id: ProcessId, neighbours: &ProcessSet) -> Self {
        let bottle = |other| {
            let place = if id < other { Place::Here } else { Place::Away };
            (other, Bottle { place, wanted: false })
        };
        let bottles = neighbours.iter().map(bottle).collect();
        Self { id, phase: Phase::Tranquil, bottles, forks: Forks::new(id, neighbours) }
    }

    /// The neighbours whose bottles a claim names. `None` if it names anything else.
    fn needs(&self, claim: &Claim) -> Option<ProcessSet> {
        let Claim::Resources(resources) = claim else { return None };
        let neighbour = |resource: &Resource| {
            resource.other(self.id).filter(|other| self.bottles.contains_key(other))
        };
        resources.iter().map(neighbour).collect()
    }

    fn request(&mut self, needs: ProcessSet, out: &mut Effects<Self>) {
        for (other, bottle) in self.bottles.iter_mut() {
            if needs.contains(*other) && bottle.place == Place::Away {
                bottle.place = Place::Requested;
                out.send(*other, Message::AskBottle);
            }
        }
        self.phase = Phase::Thirsty(needs);
        self.drink_if_complete(out);
        if matches!(self.phase, Phase::Thirsty(_)) && self.forks.diner() == Diner::Thinking {
            self.forks.become_hungry(&mut |to, message| out.send(to, Message::Fork(message)));
        }
        self.settle(out);
    }

    fn release(&mut self, out: &mut Effects<Self>) {
        self.phase = Phase::Tranquil;
        self.settle(out);
    }

    fn drink_if_complete(&mut self, out: &mut Effects<Self>) {
        let Phase::Thirsty(needs) = &mut self.phase else { return };
        let is_here = |(other, bottle): (&ProcessId, &Bottle)| {
            !needs.contains(*other) || bottle.place == Place::Here
        };
        if self.bottles.iter().all(is_here) {
            self.phase = Phase::Drinking(mem::take(needs));
            out.output(Output::Entered);
        }
    }

    /// Applies the rules that any change of the state may enable.
    fn settle(&mut self, out: &mut Effects<Self>) {
        self.drink_if_complete(out);
        if self.forks.diner() == Diner::Eating && !matches!(self.phase, Phase::Thirsty(_)) {
            self.forks.stop_eating(&mut |to, message| out.send(to, Message::Fork(message)));
        }
        for (other, bottle) in self.bottles.iter_mut() {
            let (keeps, needs) = match &self.phase {
                Phase::Tranquil => (false, false),
                Phase::Thirsty(needs) => {
                    (needs.contains(*other) && self.forks.holds(*other), needs.contains(*other))
                }
                Phase::Drinking(needs) => (needs.contains(*other), false),
            };
            if !bottle.wanted || bottle.place != Place::Here || keeps {
                continue;
            }
            *bottle = Bottle { place: Place::Away, wanted: false };
            out.send(*other, Message::Bottle);
            if needs {
                bottle.place = Place::Requested;
                out.send(*other, Message::AskBottle);
            }
        }
    }
}

impl Process for DrinkingPhilosophers {
    type Command = Command;
    type Message = Message;
    type Timer = Infallible;
    type Output = Output;
    type Misuse = Misuse;

    fn on_command(&mut self, command: Command, out: &mut Effects<Self>) -> Result<(), Misuse> {
        match (command, &self.phase) {
            (Command::Request(claim), Phase::Tranquil) => {
                self.request(self.needs(&claim).ok_or(Misuse::OtherClaim)?, out);
            }
            (Command::Request(_), _) => return Err(Misuse::AlreadyAsked),
            (Command::Release, Phase::Drinking(_)) => self.release(out),
            (Command::Release, _) => return Err(Misuse::NotInside),
        }
        Ok(())
    }

    fn on_message(&mut self, from: ProcessId, message: Message, out: &mut Effects<Self>) {
        let Some(bottle) = self.bottles.get_mut(&from) else {
            return out.ignored("a message of a process that is not a neighbour");
        };
        match message {
            Message::AskBottle => bottle.wanted = true,
            Message::Bottle if bottle.place == Place::Requested => bottle.place = Place::Here,
            Message::Bottle => return out.ignored("a bottle that was not asked for"),
            Message::Fork(message) => {
                let mut send = |to, message| out.send(to, Message::Fork(message));
                if let Some(why) = self.forks.on_message(from, message, &mut send) {
                    out.ignored(why);
                }
            }
        }
        self.settle(out);
    }

    fn waits_for(&self) -> ProcessSet {
        let Phase::Thirsty(needs) = &self.phase else { return ProcessSet::new() };
        let missing = self.bottles.iter().filter(|(_, bottle)| bottle.place != Place::Here);
        missing.map(|(other, _)| *other).filter(|other| needs.contains(*other)).collect()
    }
}

impl CoreMessage for Message {
    const KINDS: &'static [Kind] = &[
        Kind::allocation("ASK-BOTTLE"),
        Kind::allocation("BOTTLE"),
        Kind::allocation("REQUEST"),
        Kind::allocation("FORK"),
    ];

    fn kind(&self) -> usize {
        match self {
            Self::AskBottle => 0,
            Self::Bottle => 1,
            Self::Fork(ForkMessage::Request) => 2,
            Self::Fork(ForkMessage::Fork) => 3,
        }
    }
}

impl Sound for DrinkingPhilosophers {}

impl Algorithm for DrinkingPhilosophers {
    const PROFILE: Profile = Profile {
        name: "drinking-philosophers",
        layer: Layer::Allocation,
        summary: "drink from some of the bottles shared with neighbours; forks settle conflicts",
        source: "Chandy and Misra, ACM TOPLAS 6(4), 1984",
        specimen: None,
        assumes: &[
            Assumption::NoLoss,
            Assumption::NoDuplication,
            Assumption::NoCrash,
            Assumption::Honesty,
        ],
        guarantees: &[Property::Exclusion, Property::NoStarvation, Property::Concurrency],
        cost: "up to 4 messages per neighbour and entry, and 2 each time that a contested bottle returns",
        never_quiescent: false,
    };

    const CLAIM_KIND: ClaimKind = ClaimKind::SomeResources;
    const SHAPE: Shape = Shape::Conflicts;

    fn build(setup: &Setup, id: ProcessId) -> Self {
        Self::new(id, &setup.conflicts.neighbours(setup.n, id))
    }

    /// There is no maximum: a bottle may return any number of times while a slow fork is on its way.
    fn cost(setup: &Setup) -> Cost {
        Cost::between("up to 4 per neighbour, and 2 per return of a bottle", 0, u64::MAX)
            .with_delays(0..=2, 0..=0)
            .without_delays_if_single(setup.n)
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use quorate_core::{Effect, Time};

    use super::*;

    type Philosopher = DrinkingPhilosophers;

    fn set(numbers: &[u32]) -> ProcessSet {
        numbers.iter().copied().map(ProcessId::new).collect()
    }

    fn thirsty(philosopher: &mut Philosopher, bottles: &[u32]) -> Vec<Effect<Philosopher>> {
        let mut out = Effects::new(Time::ZERO);
        let claim = Claim::shared_with(philosopher.id, &set(bottles));
        philosopher.on_command(Command::Request(claim), &mut out).expect("it is tranquil");
        out.drain().collect()
    }

    fn given(
        philosopher: &mut Philosopher,
        from: u32,
        message: Message,
    ) -> Vec<Effect<Philosopher>> {
        let mut out = Effects::new(Time::ZERO);
        philosopher.on_message(ProcessId::new(from), message, &mut out);
        out.drain().collect()
    }

    fn sent(to: u32, message: Message) -> Effect<Philosopher> {
        Effect::Send { to: ProcessId::new(to), message }
    }

    #[test]
    fn a_bottle_that_is_not_needed_is_lent_while_drinking() {
        let mut p0 = Philosopher::new(ProcessId::new(0), &set(&[1, 4]));
        assert_eq!(thirsty(&mut p0, &[1]), [Effect::Output(Output::Entered)]);
        assert_eq!(given(&mut p0, 4, Message::AskBottle), [sent(4, Message::Bottle)]);
        assert_eq!(given(&mut p0, 1, Message::AskBottle), [], "p0 drinks from it");
        let mut out = Effects::new(Time::ZERO);
        p0.on_command(Command::Release, &mut out).expect("p0 is drinking");
        assert_eq!(out.drain().collect::<Vec<_>>(), [sent(1, Message::Bottle)]);
    }

    #[test]
    fn the_fork_decides_between_two_that_need_a_bottle() {
        let mut p1 = Philosopher::new(ProcessId::new(1), &set(&[0, 2]));
        let fork = |message| Message::Fork(message);
        let asks = [sent(0, Message::AskBottle), sent(0, fork(ForkMessage::Request))];
        assert_eq!(thirsty(&mut p1, &[0, 2]), asks);
        // p1 has the bottle and the fork that it shares with p2.
        assert_eq!(given(&mut p1, 2, Message::AskBottle), []);
        // Without the fork it has to give up the bottle too, and asks for both again.
        let both = [
            sent(2, fork(ForkMessage::Fork)),
            sent(2, fork(ForkMessage::Request)),
            sent(2, Message::Bottle),
            sent(2, Message::AskBottle),
        ];
        assert_eq!(given(&mut p1, 2, fork(ForkMessage::Request)), both);
        assert_eq!(p1.waits_for(), set(&[0, 2]));
    }

    #[test]
    fn only_bottles_of_neighbours_are_served() {
        let mut p1 = Philosopher::new(ProcessId::new(1), &set(&[0, 2]));
        let mut out = Effects::new(Time::ZERO);
        let far = Claim::shared_with(ProcessId::new(1), &set(&[3]));
        assert_eq!(p1.on_command(Command::Request(far), &mut out), Err(Misuse::OtherClaim));
    }
}
