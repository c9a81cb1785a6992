//! Central server mutual exclusion whose server is replaced by an election when it crashes: a mutex over an election over a
//! failure detector.
//!
//! - **Source**: the remark in lecture notes on coordination that the crash of the central server is cured by an election; the
//!   server is that of Coulouris, Dollimore, Kindberg and Blair, "Distributed Systems: Concepts and Design", section 15.2,
//!   and the election is `detector-leader`.
//! - **Assumes**: links that neither lose nor duplicate, in any order; a perfect detector; crashed processes do not recover.
//! - **Guarantees**: ME1 and ME2 with up to n - 1 crashes, of servers too. Not ME3.
//! - **Costs**: 3 messages per entry, including those of the server to itself; two message delays into a free section, two
//!   from the holder to its successor. After the crash of a server, each of the m survivors reports to the new one: m messages.
//! - **Departs from the paper**: the notes leave the state of the new server open. Here every process reports to a new server
//!   whether it is inside or waits, and from then on ignores grants of the old one. The new server grants nothing before all
//!   processes that have not crashed have reported. So no permission can be out that the new server does not know.

use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::convert::Infallible;

use quorate_core::election::{self, Identifier};
use quorate_core::mutex::{Command, Misuse, Output};
use quorate_core::{
    Assumption, Belief, Cost, Effects, Kind, Layer, Message as CoreMessage, Permission, Process,
    ProcessId, ProcessSet, Profile, Property, Route, Stack, UpperLayer,
};

use crate::election::DetectorLeader;
use crate::{Algorithm, Setup, Shape, Sound};

/// One process of the algorithm: a client, and the server while it leads.
pub type CentralElected = Stack<ElectedServer, DetectorLeader>;

/// The mutex above the election.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ElectedServer {
    id: ProcessId,
    n: usize,
    /// The present server; `None` before the start.
    server: Option<ProcessId>,
    phase: Phase,
    crashed: ProcessSet,
    /// Filled also before this process leads, because others may learn of the crash of the last server earlier.
    server_state: ServerState,
}

/// The state of a client, and its report to a new server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Phase {
    /// Does not need the permission.
    Outside,
    /// Waits for the permission.
    Waiting,
    /// Has the permission and is in the critical section.
    Inside,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct ServerState {
    holder: Option<ProcessId>,
    queue: VecDeque<ProcessId>,
    /// Processes that have reported to this server. The first server needs no reports.
    reported: ProcessSet,
    /// Processes whose release has overtaken their report.
    released: ProcessSet,
}

/// A message between a client and the server.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// A client requests the permission.
    Request,
    /// The server grants the permission.
    Grant,
    /// A client has left.
    Release,
    /// A client has learned of a new server, and this is its state.
    Report(Phase),
}

impl ElectedServer {
    /// Creates process `id` of `n`.
    pub fn new(id: ProcessId, n: usize) -> Self {
        let (phase, crashed) = (Phase::Outside, ProcessSet::new());
        Self { id, n, server: None, phase, crashed, server_state: ServerState::default() }
    }

    /// Follows a new server.
    fn follow(&mut self, server: ProcessId, out: &mut Effects<Self>) {
        if self.server == Some(server) {
            return;
        }
        match self.server.replace(server) {
            // The first server starts together with its clients, which have nothing to report.
            None if server == self.id => {
                self.server_state.reported = ProcessId::all(self.n).collect();
            }
            None => {}
            Some(_) => out.send(server, Message::Report(self.phase)),
        }
    }

    fn tell_server(&self, message: Message, out: &mut Effects<Self>) {
        if let Some(server) = self.server {
            out.send(server, message);
        }
    }

    /// Grants the permission to the first in the queue, if this process leads, knows the state of all others, and the
    /// permission is not out.
    fn grant_next(&mut self, out: &mut Effects<Self>) {
        let ServerState { holder, queue, reported, .. } = &mut self.server_state;
        let mut silent = ProcessId::all(self.n)
            .filter(|process| !reported.contains(*process) && !self.crashed.contains(*process));
        if self.server != Some(self.id) || holder.is_some() || silent.next().is_some() {
            return;
        }
        *holder = queue.pop_front();
        if let Some(holder) = *holder {
            out.send(holder, Message::Grant);
        }
    }

    fn on_release(&mut self, from: ProcessId, out: &mut Effects<Self>) {
        if self.server_state.holder == Some(from) {
            self.server_state.holder = None;
            self.grant_next(out);
        } else if !self.server_state.reported.contains(from) {
            self.server_state.released.insert(from);
        } else {
            out.ignored("a release of a permission that is not out");
        }
    }

    fn on_report(&mut self, from: ProcessId, phase: Phase, out: &mut Effects<Self>) {
        let state = &mut self.server_state;
        state.reported.insert(from);
        match phase {
            Phase::Outside => {}
            Phase::Waiting => state.queue.push_back(from),
            Phase::Inside if state.released.remove(from) => {}
            Phase::Inside => state.holder = Some(from),
        }
        self.grant_next(out);
    }
}

impl Process for ElectedServer {
    type Command = Command;
    type Message = Message;
    type Timer = Infallible;
    type Output = Output;
    type Misuse = Misuse;

    fn on_command(&mut self, command: Command, out: &mut Effects<Self>) -> Result<(), Misuse> {
        match (command, self.phase) {
            (Command::Acquire, Phase::Outside) => {
                self.phase = Phase::Waiting;
                self.tell_server(Message::Request, out);
            }
            (Command::Acquire, _) => return Err(Misuse::AlreadyAsked),
            (Command::Release, Phase::Inside) => {
                self.phase = Phase::Outside;
                self.tell_server(Message::Release, out);
            }
            (Command::Release, _) => return Err(Misuse::NotInside),
        }
        Ok(())
    }

    fn on_message(&mut self, from: ProcessId, message: Message, out: &mut Effects<Self>) {
        if self.crashed.contains(from) {
            return out.ignored("a message of a crashed process");
        }
        match message {
            Message::Request => {
                self.server_state.queue.push_back(from);
                self.grant_next(out);
            }
            Message::Release => self.on_release(from, out),
            Message::Report(phase) => self.on_report(from, phase, out),
            Message::Grant if self.server == Some(from) && self.phase == Phase::Waiting => {
                self.phase = Phase::Inside;
                out.output(Output::Entered);
            }
            Message::Grant => out.ignored("a grant of another server, or without a request"),
        }
    }

    fn on_belief(&mut self, belief: Belief, out: &mut Effects<Self>) {
        match belief {
            Belief::Crashed(process) => {
                self.crashed.insert(process);
                let state = &mut self.server_state;
                state.queue.retain(|waiting| *waiting != process);
                state.holder = state.holder.filter(|holder| *holder != process);
                self.grant_next(out);
            }
            Belief::Alive(process) => {
                self.crashed.remove(process);
            }
        }
    }

    fn waits_for(&self) -> ProcessSet {
        match self.phase {
            Phase::Waiting => self.server.into_iter().collect(),
            _ => ProcessSet::new(),
        }
    }

    fn permission(&self) -> Permission {
        Permission::given_to(self.server_state.holder)
    }
}

impl UpperLayer<DetectorLeader> for ElectedServer {
    type Up = Output;

    fn on_lower_output(&mut self, output: election::Output, out: &mut Effects<Self>) {
        if let election::Output::Elected(leader) = output {
            self.follow(leader.process, out);
        }
    }

    fn route(output: Output) -> Route<Output, election::Command> {
        Route::Up(output)
    }
}

impl CoreMessage for Message {
    const KINDS: &'static [Kind] = &[
        Kind::mutex("REQUEST"),
        Kind::mutex("GRANT"),
        Kind::mutex("RELEASE"),
        Kind::mutex("REPORT"),
    ];

    fn kind(&self) -> usize {
        match self {
            Self::Request => 0,
            Self::Grant => 1,
            Self::Release => 2,
            Self::Report(_) => 3,
        }
    }
}

impl Sound for CentralElected {}

impl Algorithm for CentralElected {
    const PROFILE: Profile = Profile {
        name: "central-elected",
        layer: Layer::Mutex,
        summary: "one process hands out the only permission; if it crashes, an election replaces it",
        source: "lecture notes on coordination; Coulouris et al., Distributed Systems, 5th edition, section 15.2",
        specimen: None,
        assumes: &[
            Assumption::NoLoss,
            Assumption::NoDuplication,
            Assumption::CrashStop,
            Assumption::PerfectDetector,
            Assumption::Honesty,
        ],
        guarantees: &[Property::ME1, Property::ME2],
        cost: "3 messages per entry; a report of each survivor after the crash of a server",
        never_quiescent: false,
    };

    const SHAPE: Shape = Shape::Server;

    /// The first server is the configured one. Of the others, the greatest that is alive follows.
    fn build(setup: &Setup, id: ProcessId) -> Self {
        let ranking = setup.candidates.ranking();
        let (first, others): (Vec<Identifier>, Vec<Identifier>) =
            ranking.iter().partition(|candidate| candidate.process == setup.server);
        let election = DetectorLeader::new(first.into_iter().chain(others).collect());
        Self::new(ElectedServer::new(id, setup.n), election)
    }

    fn cost(_: &Setup) -> Cost {
        // A message of the server to itself takes no time, so its own entries are faster.
        Cost::exact("3", 3).with_delays(0..=2, 0..=2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quorate_core::{Effect, Time};

    const OLD: ProcessId = ProcessId::new(2);
    const NEW: ProcessId = ProcessId::new(1);
    const CLIENT: ProcessId = ProcessId::new(0);

    fn sent(step: impl FnOnce(&mut Effects<ElectedServer>)) -> Vec<(ProcessId, Message)> {
        let mut out = Effects::new(Time::ZERO);
        step(&mut out);
        let send = |effect| match effect {
            Effect::Send { to, message } => Some((to, message)),
            _ => None,
        };
        out.into_iter().filter_map(send).collect()
    }

    /// Process `id` of three. The old server has crashed, and process 1 leads.
    fn after_the_crash(id: ProcessId, before: impl FnOnce(&mut ElectedServer)) -> ElectedServer {
        let mut process = ElectedServer::new(id, 3);
        sent(|out| process.follow(OLD, out));
        before(&mut process);
        sent(|out| {
            process.follow(NEW, out);
            process.on_belief(Belief::Crashed(OLD), out);
        });
        process
    }

    #[test]
    fn a_new_server_grants_nothing_before_all_survivors_have_reported() {
        let mut server = after_the_crash(NEW, |_| ());
        let reported = sent(|out| server.on_message(NEW, Message::Report(Phase::Waiting), out));
        assert_eq!(reported, []);
        let rest = sent(|out| server.on_message(CLIENT, Message::Report(Phase::Outside), out));
        assert_eq!(rest, [(NEW, Message::Grant)]);
    }

    #[test]
    fn a_new_server_waits_for_the_holder_of_the_old_one() {
        let mut server = after_the_crash(NEW, |_| ());
        sent(|out| server.on_message(NEW, Message::Report(Phase::Waiting), out));
        let held = sent(|out| server.on_message(CLIENT, Message::Report(Phase::Inside), out));
        assert_eq!(held, []);
        let left = sent(|out| server.on_message(CLIENT, Message::Release, out));
        assert_eq!(left, [(NEW, Message::Grant)]);
    }

    #[test]
    fn a_release_may_overtake_the_report() {
        let mut server = after_the_crash(NEW, |_| ());
        sent(|out| server.on_message(NEW, Message::Report(Phase::Waiting), out));
        assert_eq!(sent(|out| server.on_message(CLIENT, Message::Release, out)), []);
        let late = sent(|out| server.on_message(CLIENT, Message::Report(Phase::Inside), out));
        assert_eq!(late, [(NEW, Message::Grant)]);
    }

    #[test]
    fn a_grant_of_the_old_server_is_void_once_the_new_one_is_known() {
        let wait = |client: &mut ElectedServer| {
            sent(|out| client.on_command(Command::Acquire, out).unwrap());
        };
        let mut client = after_the_crash(CLIENT, wait);
        client.crashed.clear();
        sent(|out| client.on_message(OLD, Message::Grant, out));
        assert_eq!(client.phase, Phase::Waiting);
        sent(|out| client.on_message(NEW, Message::Grant, out));
        assert_eq!(client.phase, Phase::Inside);
    }
}
