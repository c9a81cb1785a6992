//! How acknowledgements travel: as messages of their own or, over the VCube diagnosis, on its answers.

use core::fmt::Debug;
use core::hash::Hash;

use quorate_core::mutex::Output;
use quorate_core::{Effect, Effects, Over, Process, ProcessId, ProcessSet, Route, Stack};

use super::{QuorumVoting, Rule};
use crate::detector::{Carry, Diagnosed, VcubeDiagnosis};
use crate::{Rides, Setup};

/// The detector that takes acknowledgements along.
type Diagnosis = VcubeDiagnosis<Diagnosed>;

/// What a voting process puts out.
pub trait Saying: From<Output> + Clone + Eq + Hash + Debug + Send + Sync {
    /// That it has acknowledged these crashes; none if it has to tell the others itself.
    fn acknowledged(crashed: &ProcessSet) -> Option<Self>;
}

impl Saying for Output {
    fn acknowledged(_: &ProcessSet) -> Option<Self> {
        None
    }
}

/// Something for the user, or for the layer below to take along.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Said {
    /// What a mutex tells its user.
    ToUser(Output),
    /// It has dropped all votes of these crashed processes, and is outside.
    Acknowledged(ProcessSet),
}

impl From<Output> for Said {
    fn from(output: Output) -> Self {
        Self::ToUser(output)
    }
}

impl Saying for Said {
    fn acknowledged(crashed: &ProcessSet) -> Option<Self> {
        Some(Self::Acknowledged(crashed.clone()))
    }
}

/// Over a diagnosis, acknowledgements ride on its answers.
impl<R: Rule> Over<Diagnosis> for QuorumVoting<R, Said> {
    type Up = Output;

    fn on_below(&mut self, found: Diagnosed, out: &mut Effects<Self>) {
        match found {
            Diagnosed::Belief(belief) => {
                out.push(Effect::Believed(belief));
                self.on_belief(belief, out);
            }
            Diagnosed::Carried(..) if self.retired => {
                out.ignored("this process has come back where nobody may");
            }
            // It comes by way of others and may be out of date, or its author may have crashed meanwhile: it counts all
            // the same. What it says was true when it was said, outside the section, and nobody takes it back: an
            // author that entered later did so without votes of these, and one that has crashed is not inside.
            Diagnosed::Carried(by, crashed) => self.on_acknowledge(by, &crashed, out),
        }
    }

    fn route(said: Said) -> Route<Output, Carry> {
        match said {
            Said::ToUser(output) => Route::Up(output),
            Said::Acknowledged(crashed) => Route::Down(Carry(crashed)),
        }
    }
}

impl<R: Rule + 'static> Rides for QuorumVoting<R> {
    type Riding = Stack<QuorumVoting<R, Said>, Diagnosis>;

    fn build_riding(setup: &Setup, id: ProcessId) -> Self::Riding {
        let clock = setup.clock(id);
        let upper = QuorumVoting::new(id, &setup.quorums, clock, !setup.no_cancel);
        Stack::new(upper, Diagnosis::paced(setup.n, id, setup.tempo))
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Attempts, Message, Phase};
    use super::*;
    use alloc::vec::Vec;
    use quorate_core::mutex::Command;
    use quorate_core::quorum::AnySystem;
    use quorate_core::{Belief, LamportClock, Time};

    type Rider = QuorumVoting<Attempts, Said>;

    /// Process 0 of four over the VCube.
    fn rider() -> Rider {
        let system = AnySystem::by_name("vcube", 4).unwrap();
        QuorumVoting::new(ProcessId::new(0), &system, LamportClock::default(), true)
    }

    fn set(members: &[u32]) -> ProcessSet {
        members.iter().copied().map(ProcessId::new).collect()
    }

    fn told(rider: &mut Rider, tell: impl FnOnce(&mut Rider, &mut Effects<Rider>)) -> Vec<Said> {
        let mut out = Effects::new(Time::ZERO);
        tell(rider, &mut out);
        let said = |effect| match effect {
            Effect::Output(said) => Some(said),
            Effect::Send { message: Message::Acknowledge(_), .. }
            | Effect::Multicast { message: Message::Acknowledge(_), .. } => {
                panic!("an acknowledgement is a message of its own")
            }
            _ => None,
        };
        out.into_iter().filter_map(said).collect()
    }

    fn below(rider: &mut Rider, found: Diagnosed) -> Vec<Said> {
        told(rider, |rider, out| Over::<Diagnosis>::on_below(rider, found, out))
    }

    fn learn(rider: &mut Rider, crashed: u32) -> Vec<Said> {
        below(rider, Belief::Crashed(ProcessId::new(crashed)).into())
    }

    fn carried(rider: &mut Rider, by: u32, crashed: &[u32]) -> Vec<Said> {
        below(rider, Diagnosed::Carried(ProcessId::new(by), set(crashed)))
    }

    /// The voter's reply to the present request; nothing if there is none.
    fn vote(rider: &mut Rider, voter: u32) -> Vec<Said> {
        let from = ProcessId::new(voter);
        let Phase::Waiting(candidacy) = &rider.phase else { return Vec::new() };
        let reply = Message::Reply(candidacy.asked.ticket(from));
        told(rider, |rider, out| rider.on_message(from, reply, out))
    }

    fn acquire(rider: &mut Rider) -> Vec<Said> {
        told(rider, |rider, out| rider.on_command(Command::Acquire, out).unwrap())
    }

    #[test]
    fn a_crash_is_acknowledged_by_letting_it_ride() {
        let mut p0 = rider();
        assert_eq!(learn(&mut p0, 3), [Said::Acknowledged(set(&[3]))]);
        let route = <Rider as Over<Diagnosis>>::route;
        assert_eq!(route(Said::Acknowledged(set(&[3]))), Route::Down(Carry(set(&[3]))));
        assert_eq!(learn(&mut p0, 2), [Said::Acknowledged(set(&[2, 3]))]);
    }

    #[test]
    fn who_is_inside_acknowledges_when_it_leaves() {
        let mut p0 = rider();
        acquire(&mut p0);
        let votes = [0, 1, 2, 3].map(|voter| vote(&mut p0, voter));
        assert_eq!(votes.concat(), [Said::ToUser(Output::Entered)]);
        assert_eq!(learn(&mut p0, 3), []);
        let left = told(&mut p0, |p0, out| p0.on_command(Command::Release, out).unwrap());
        assert_eq!(left, [Said::Acknowledged(set(&[3]))]);
    }

    #[test]
    fn what_a_process_acknowledged_before_it_crashed_counts() {
        let mut p0 = rider();
        acquire(&mut p0);
        learn(&mut p0, 3);
        learn(&mut p0, 2);
        // With nothing settled, three of four votes are needed, and two are left.
        assert_eq!([vote(&mut p0, 0), vote(&mut p0, 1)].concat(), []);
        // p2 had acknowledged p3, and p1 has: that settles p3, and two of three are enough.
        assert_eq!(carried(&mut p0, 2, &[3]), []);
        assert_eq!(carried(&mut p0, 1, &[3]), [Said::ToUser(Output::Entered)]);
    }
}
