//! Transport of acknowledgements: as separate messages or, over the VCube diagnosis, piggybacked on its answers.

use core::fmt::Debug;
use core::hash::Hash;

use quorate_core::mutex::Output;
use quorate_core::{Effect, Effects, Process, ProcessId, ProcessSet, Route, Stack, UpperLayer};

use super::{QuorumVoting, VotingRules};
use crate::detector::{DiagnosisEvent, Piggyback, VcubeDiagnosis};
use crate::{Piggybacking, Setup};

/// The detector that transports acknowledgements.
type Diagnosis = VcubeDiagnosis<DiagnosisEvent>;

/// The output type of a voting process.
pub trait VotingOutput: From<Output> + Clone + Eq + Hash + Debug + Send + Sync {
    /// Whether the layer below transports acknowledgements.
    const PIGGYBACKS: bool;

    /// The output that reports acknowledged crashes. `None` if the process has to send the acknowledgement itself.
    fn acknowledged(crashed: &ProcessSet) -> Option<Self>;
}

impl VotingOutput for Output {
    const PIGGYBACKS: bool = false;

    fn acknowledged(_: &ProcessSet) -> Option<Self> {
        None
    }
}

/// An output for the user, or for the layer below to piggyback.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum PiggybackOutput {
    /// An output of the mutex to its user.
    ToUser(Output),
    /// The process has dropped all votes of these crashed processes and is outside the section.
    Acknowledged(ProcessSet),
}

impl From<Output> for PiggybackOutput {
    fn from(output: Output) -> Self {
        Self::ToUser(output)
    }
}

impl VotingOutput for PiggybackOutput {
    const PIGGYBACKS: bool = true;

    fn acknowledged(crashed: &ProcessSet) -> Option<Self> {
        Some(Self::Acknowledged(crashed.clone()))
    }
}

/// Over a diagnosis, acknowledgements are piggybacked on its answers.
impl<R: VotingRules> UpperLayer<Diagnosis> for QuorumVoting<R, PiggybackOutput> {
    type Up = Output;

    fn on_lower_output(&mut self, found: DiagnosisEvent, out: &mut Effects<Self>) {
        match found {
            DiagnosisEvent::Belief(belief) => {
                out.push(Effect::Believed(belief));
                self.on_belief(belief, out);
            }
            DiagnosisEvent::Piggybacked(..) if self.retired => {
                out.ignored("this process has come back where nobody may");
            }
            // The acknowledgement was forwarded by other processes. It may be out of date, or its author may have
            // crashed meanwhile. It counts nevertheless. It was true when its author sent it, outside the section, and
            // it is never revoked: an author that entered later did so without votes of these processes, and a crashed
            // author is not inside.
            DiagnosisEvent::Piggybacked(by, crashed) => self.on_acknowledge(by, &crashed, out),
        }
    }

    fn route(output: PiggybackOutput) -> Route<Output, Piggyback> {
        match output {
            PiggybackOutput::ToUser(output) => Route::Up(output),
            PiggybackOutput::Acknowledged(crashed) => Route::Down(Piggyback(crashed)),
        }
    }
}

impl<R: VotingRules + 'static> Piggybacking for QuorumVoting<R> {
    type WithDiagnosis = Stack<QuorumVoting<R, PiggybackOutput>, Diagnosis>;

    fn build_piggybacking(setup: &Setup, id: ProcessId) -> Self::WithDiagnosis {
        let clock = setup.clock(id);
        let upper = QuorumVoting::new(id, &setup.quorums, clock, !setup.no_cancel);
        Stack::new(upper, Diagnosis::with_delay_bounds(setup.n, id, setup.delay_bounds))
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Message, Phase, SettledQuorums};
    use super::*;
    use alloc::vec::Vec;
    use quorate_core::mutex::Command;
    use quorate_core::quorum::AnySystem;
    use quorate_core::{Belief, LamportClock, Time};

    type PiggybackingVoter = QuorumVoting<SettledQuorums, PiggybackOutput>;

    fn voter() -> PiggybackingVoter {
        voter_among(4)
    }

    /// Process 0 of n processes over the VCube.
    fn voter_among(n: usize) -> PiggybackingVoter {
        let system = AnySystem::by_name("vcube", n).unwrap();
        QuorumVoting::new(ProcessId::new(0), &system, LamportClock::default(), true)
    }

    fn set(members: &[u32]) -> ProcessSet {
        members.iter().copied().map(ProcessId::new).collect()
    }

    fn outputs_of(
        voter: &mut PiggybackingVoter,
        step: impl FnOnce(&mut PiggybackingVoter, &mut Effects<PiggybackingVoter>),
    ) -> Vec<PiggybackOutput> {
        let mut out = Effects::new(Time::ZERO);
        step(voter, &mut out);
        let output = |effect| match effect {
            Effect::Output(output) => Some(output),
            Effect::Send { message: Message::Acknowledge(_), .. }
            | Effect::Multicast { message: Message::Acknowledge(_), .. } => {
                panic!("an acknowledgement is a message of its own")
            }
            _ => None,
        };
        out.into_iter().filter_map(output).collect()
    }

    fn lower_output(voter: &mut PiggybackingVoter, found: DiagnosisEvent) -> Vec<PiggybackOutput> {
        outputs_of(voter, |voter, out| UpperLayer::<Diagnosis>::on_lower_output(voter, found, out))
    }

    fn learn(voter: &mut PiggybackingVoter, crashed: u32) -> Vec<PiggybackOutput> {
        lower_output(voter, Belief::Crashed(ProcessId::new(crashed)).into())
    }

    fn piggybacked(
        voter: &mut PiggybackingVoter,
        by: u32,
        crashed: &[u32],
    ) -> Vec<PiggybackOutput> {
        lower_output(voter, DiagnosisEvent::Piggybacked(ProcessId::new(by), set(crashed)))
    }

    /// Delivers the voter's reply to the present request. Does nothing if there is no request.
    fn vote(voter: &mut PiggybackingVoter, by: u32) -> Vec<PiggybackOutput> {
        let from = ProcessId::new(by);
        let Phase::Waiting(candidacy) = &voter.phase else { return Vec::new() };
        let reply = Message::Reply(candidacy.request.ticket(from));
        outputs_of(voter, |voter, out| voter.on_message(from, reply, out))
    }

    fn acquire(voter: &mut PiggybackingVoter) -> Vec<PiggybackOutput> {
        outputs_of(voter, |voter, out| voter.on_command(Command::Acquire, out).unwrap())
    }

    #[test]
    fn a_crash_is_acknowledged_by_piggybacking() {
        let mut p0 = voter();
        assert_eq!(learn(&mut p0, 3), [PiggybackOutput::Acknowledged(set(&[3]))]);
        let route = <PiggybackingVoter as UpperLayer<Diagnosis>>::route;
        assert_eq!(
            route(PiggybackOutput::Acknowledged(set(&[3]))),
            Route::Down(Piggyback(set(&[3])))
        );
        assert_eq!(learn(&mut p0, 2), [PiggybackOutput::Acknowledged(set(&[2, 3]))]);
    }

    #[test]
    fn who_is_inside_acknowledges_when_it_leaves() {
        let mut p0 = voter();
        acquire(&mut p0);
        let votes = [0, 1, 2, 3].map(|voter| vote(&mut p0, voter));
        assert_eq!(votes.concat(), [PiggybackOutput::ToUser(Output::Entered)]);
        assert_eq!(learn(&mut p0, 3), []);
        let left = outputs_of(&mut p0, |p0, out| p0.on_command(Command::Release, out).unwrap());
        assert_eq!(left, [PiggybackOutput::Acknowledged(set(&[3]))]);
    }

    #[test]
    fn what_a_process_acknowledged_before_it_crashed_counts() {
        let mut p0 = voter_among(8);
        acquire(&mut p0);
        learn(&mut p0, 2);
        learn(&mut p0, 7);
        // Nothing is settled, so the vote of p2 is needed, which has crashed.
        assert_eq!([0, 1, 4, 5].map(|voter| vote(&mut p0, voter)).concat(), []);
        // p7 had acknowledged the crash of p2, and so have all others. That settles it, and p3 takes the place of p2.
        assert_eq!([1, 3, 4, 5, 6, 7].map(|by| piggybacked(&mut p0, by, &[2])).concat(), []);
        assert_eq!(vote(&mut p0, 3), [PiggybackOutput::ToUser(Output::Entered)]);
    }
}
