//! The leader is the greatest process believed alive: a failure detector is sufficient for an election.
//!
//! - **Source**: "the algorithm of Luís", lecture notes of Instituto Superior Técnico (Lisbon) on coordination; it is
//!   the reduction of the leader detector Omega to P in Chandra, Hadzilacos and Toueg, JACM 43(4), 1996.
//! - **Assumes**: a perfect detector at every process, which monitors all processes, candidates or not; all processes
//!   know all identifiers; crashed processes do not recover. A process that does recover is followed again once the
//!   detector has noticed it, and ignored until then.
//! - **Guarantees**: E1 and E2, from the start and without any election being started. While a detector errs there may
//!   be several leaders at the same time.
//! - **Costs**: no messages of its own and no delay beyond the detector's; those are counted in the detector's layer.
//! - **Departs from the paper**: a process that is believed alive again leads again if it is the greatest. A recovering
//!   process discards its suspicions, because its detector reports them again.

use core::convert::Infallible;

use alloc::sync::Arc;

use quorate_core::election::{Command, Identifier, Misuse, Output};
use quorate_core::{
    Assumption, Belief, Cost, Effects, Layer, NoMessage, Process, ProcessId, ProcessSet, Profile,
    Property,
};

use crate::{Algorithm, Setup, Sound};

/// One process over a detector.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DetectorLeader {
    /// All processes, the greatest first.
    ranking: Arc<[Identifier]>,
    crashed: ProcessSet,
    leader: Identifier,
}

impl DetectorLeader {
    /// Creates a process among those of this ranking, which has the greatest first.
    pub fn new(ranking: Arc<[Identifier]>) -> Self {
        let leader = ranking[0];
        Self { ranking, crashed: ProcessSet::new(), leader }
    }

    /// The greatest process that is believed alive.
    fn greatest(&self) -> Identifier {
        let up = self.ranking.iter().find(|candidate| !self.crashed.contains(candidate.process));
        // A process never believes that it has crashed itself, so at least one is found.
        up.copied().unwrap_or(self.leader)
    }

    fn update_leader(&mut self, out: &mut Effects<Self>) {
        let leader = self.greatest();
        if leader != self.leader {
            self.leader = leader;
            out.output(Output::Elected(leader));
        }
    }
}

impl Process for DetectorLeader {
    type Command = Command;
    type Message = NoMessage;
    type Timer = Infallible;
    type Output = Output;
    type Misuse = Misuse;

    fn on_start(&mut self, out: &mut Effects<Self>) {
        out.output(Output::Elected(self.leader));
    }

    /// Reports the current leader. There is no election to start.
    fn on_command(&mut self, command: Command, out: &mut Effects<Self>) -> Result<(), Misuse> {
        match command {
            Command::Elect => out.output(Output::Elected(self.leader)),
            Command::Identify(_) => return Err(Misuse::Known),
        }
        Ok(())
    }

    fn on_message(&mut self, _: ProcessId, message: NoMessage, _: &mut Effects<Self>) {
        match message {}
    }

    fn on_belief(&mut self, belief: Belief, out: &mut Effects<Self>) {
        match belief {
            Belief::Crashed(process) => self.crashed.insert(process),
            Belief::Alive(process) => self.crashed.remove(process),
        };
        self.update_leader(out);
    }

    fn on_recovery(&mut self, out: &mut Effects<Self>) {
        self.crashed.clear();
        self.update_leader(out);
    }
}

impl Sound for DetectorLeader {}

impl Algorithm for DetectorLeader {
    const PROFILE: Profile = Profile {
        name: "detector-leader",
        layer: Layer::Election,
        summary: "the leader is the greatest process that the failure detector believes alive",
        source: "lecture notes (\"the algorithm of Luís\"); Chandra, Hadzilacos, Toueg, JACM 43(4), 1996",
        specimen: None,
        assumes: &[Assumption::CrashStop, Assumption::PerfectDetector, Assumption::Honesty],
        guarantees: &[Property::E1, Property::E2],
        cost: "no messages but the detector's",
        never_quiescent: false,
    };

    const KNOWS_IDENTIFIERS: bool = true;

    fn build(setup: &Setup, _: ProcessId) -> Self {
        Self::new(setup.candidates.ranking())
    }

    fn cost(_: &Setup) -> Cost {
        Cost::exact("0", 0)
    }
}
