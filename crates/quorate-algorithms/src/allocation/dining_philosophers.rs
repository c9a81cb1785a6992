//! Dining philosophers: a process eats with the forks that it shares with all its neighbours. Dirty forks are given up.
//!
//! - **Source**: Chandy and Misra, "The Drinking Philosophers Problem", ACM TOPLAS 6(4), 1984, the hygienic solution to the
//!   dining philosophers problem.
//! - **Assumes**: fixed membership; no process crashes; links that neither lose nor duplicate. Any order.
//! - **Guarantees**: exclusion of neighbours, no starvation if processes stop eating, concurrency of processes that are not
//!   neighbours.
//! - **Costs**: 0 to 2 messages per neighbour and entry; zero to two message delays if no neighbour is hungry.
//! - **Departs from the paper**: the process itself is the philosopher; "eating" is being inside. A request that overtakes the
//!   fork that its sender has sent is remembered, so links need not be FIFO.

use core::convert::Infallible;

use quorate_core::allocation::{Claim, ClaimKind, Command, Misuse, Output};
use quorate_core::{
    Assumption, Cost, Effects, Kind, Layer, Message as CoreMessage, Process, ProcessId, ProcessSet,
    Profile, Property,
};

use super::forks::{Diner, ForkMessage, Forks};
use crate::{Algorithm, Setup, Shape, Sound};

/// One process of the algorithm.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DiningPhilosophers {
    /// The only claim that is served: all forks of this process.
    claim: Claim,
    forks: Forks,
}

impl DiningPhilosophers {
    /// Creates process `id` with these neighbours.
    pub fn new(id: ProcessId, neighbours: &ProcessSet) -> Self {
        Self { claim: Claim::shared_with(id, neighbours), forks: Forks::new(id, neighbours) }
    }
}

impl Process for DiningPhilosophers {
    type Command = Command;
    type Message = ForkMessage;
    type Timer = Infallible;
    type Output = Output;
    type Misuse = Misuse;

    fn on_command(&mut self, command: Command, out: &mut Effects<Self>) -> Result<(), Misuse> {
        match (command, self.forks.diner()) {
            (Command::Request(claim), _) if claim != self.claim => return Err(Misuse::OtherClaim),
            (Command::Request(_), Diner::Thinking) => {
                self.forks.become_hungry(&mut |to, message| out.send(to, message));
                if self.forks.diner() == Diner::Eating {
                    out.output(Output::Entered);
                }
            }
            (Command::Request(_), _) => return Err(Misuse::AlreadyAsked),
            (Command::Release, Diner::Eating) => {
                self.forks.stop_eating(&mut |to, message| out.send(to, message));
            }
            (Command::Release, _) => return Err(Misuse::NotInside),
        }
        Ok(())
    }

    fn on_message(&mut self, from: ProcessId, message: ForkMessage, out: &mut Effects<Self>) {
        let before = self.forks.diner();
        let ignored =
            self.forks.on_message(from, message, &mut |to, message| out.send(to, message));
        if let Some(why) = ignored {
            out.ignored(why);
        }
        if before == Diner::Hungry && self.forks.diner() == Diner::Eating {
            out.output(Output::Entered);
        }
    }

    fn waits_for(&self) -> ProcessSet {
        match self.forks.diner() {
            Diner::Hungry => self.forks.missing(),
            Diner::Thinking | Diner::Eating => ProcessSet::new(),
        }
    }
}

impl CoreMessage for ForkMessage {
    const KINDS: &'static [Kind] = &[Kind::allocation("REQUEST"), Kind::allocation("FORK")];

    fn kind(&self) -> usize {
        match self {
            Self::Request => 0,
            Self::Fork => 1,
        }
    }
}

impl Sound for DiningPhilosophers {}

impl Algorithm for DiningPhilosophers {
    const PROFILE: Profile = Profile {
        name: "dining-philosophers",
        layer: Layer::Allocation,
        summary: "eat with the forks of all neighbours; keep clean forks, give up dirty ones",
        source: "Chandy and Misra, ACM TOPLAS 6(4), 1984",
        specimen: None,
        assumes: &[
            Assumption::NoLoss,
            Assumption::NoDuplication,
            Assumption::NoCrash,
            Assumption::Honesty,
        ],
        guarantees: &[Property::Exclusion, Property::NoStarvation, Property::Concurrency],
        cost: "0 to 2 messages per neighbour and entry",
        never_quiescent: false,
    };

    const CLAIM_KIND: ClaimKind = ClaimKind::AllResources;
    const SHAPE: Shape = Shape::Conflicts;

    fn build(setup: &Setup, id: ProcessId) -> Self {
        Self::new(id, &setup.conflicts.neighbours(setup.n, id))
    }

    fn cost(setup: &Setup) -> Cost {
        let most = 2 * setup.conflicts.degrees(setup.n).1;
        Cost::between("0 to 2 per neighbour", 0, most)
            .with_delays(0..=2, 0..=0)
            .without_delays_if_single(setup.n)
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use quorate_core::allocation::ConflictGraph;
    use quorate_core::{Effect, Time};

    use super::*;

    type Philosopher = DiningPhilosophers;

    fn of_five(id: u32) -> Philosopher {
        let id = ProcessId::new(id);
        Philosopher::new(id, &ConflictGraph::Ring.neighbours(5, id))
    }

    fn hungry(philosopher: &mut Philosopher) -> Vec<Effect<Philosopher>> {
        let mut out = Effects::new(Time::ZERO);
        let claim = philosopher.claim.clone();
        philosopher.on_command(Command::Request(claim), &mut out).expect("it thinks");
        out.drain().collect()
    }

    fn given(
        philosopher: &mut Philosopher,
        from: u32,
        message: ForkMessage,
    ) -> Vec<Effect<Philosopher>> {
        let mut out = Effects::new(Time::ZERO);
        philosopher.on_message(ProcessId::new(from), message, &mut out);
        out.drain().collect()
    }

    fn sent(to: u32, message: ForkMessage) -> Effect<Philosopher> {
        Effect::Send { to: ProcessId::new(to), message }
    }

    #[test]
    fn the_first_process_has_all_its_forks() {
        assert_eq!(hungry(&mut of_five(0)), [Effect::Output(Output::Entered)]);
        let asks = [0, 3].map(|other| sent(other, ForkMessage::Request));
        assert_eq!(hungry(&mut of_five(4)), asks);
    }

    #[test]
    fn a_dirty_fork_is_given_up_and_a_clean_one_is_kept() {
        let mut p1 = of_five(1);
        assert_eq!(hungry(&mut p1), [sent(0, ForkMessage::Request)]);
        // The fork shared with p2 is dirty: p2 goes first, and p1 asks for the fork again.
        let yields = [sent(2, ForkMessage::Fork), sent(2, ForkMessage::Request)];
        assert_eq!(given(&mut p1, 2, ForkMessage::Request), yields);
        assert_eq!(given(&mut p1, 0, ForkMessage::Fork), []);
        assert_eq!(given(&mut p1, 0, ForkMessage::Request), [], "the fork is clean");
        assert_eq!(given(&mut p1, 2, ForkMessage::Fork), [Effect::Output(Output::Entered)]);
        let mut out = Effects::new(Time::ZERO);
        p1.on_command(Command::Release, &mut out).expect("p1 is eating");
        assert_eq!(out.drain().collect::<Vec<_>>(), [sent(0, ForkMessage::Fork)]);
    }

    #[test]
    fn a_request_may_overtake_the_fork() {
        let mut p1 = of_five(1);
        hungry(&mut p1);
        assert_eq!(given(&mut p1, 0, ForkMessage::Request), []);
        assert_eq!(given(&mut p1, 0, ForkMessage::Fork), [Effect::Output(Output::Entered)]);
        assert_eq!(given(&mut p1, 0, ForkMessage::Fork).len(), 1, "ignored");
    }
}
