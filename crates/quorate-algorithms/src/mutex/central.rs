//! Central server mutual exclusion: one process grants the only permission.
//!
//! - **Source**: Coulouris, Dollimore, Kindberg and Blair, "Distributed Systems: Concepts and Design",
//!   5th edition, section 15.2.
//! - **Assumes**: the server does not crash; links that neither lose nor duplicate, in any order; a perfect detector
//!   for crashed clients, which never recover.
//! - **Guarantees**: ME1 and ME2. Not ME3: requests are served in the order in which they reach the server, which need
//!   not be the order in which they happened.
//! - **Costs**: 3 messages per entry, including those of the server to itself; two message delays into a free section,
//!   two from the holder to its successor. With direct hand-over up to 4 messages, and one message delay from the
//!   holder to its successor if the server could name it in time.
//! - **Departs from the paper**: on request, the server names the next client to the holder, and the holder hands the
//!   permission over directly. Permissions are then numbered, so that late messages are recognised. When the detector
//!   reports that a client has crashed inside, the server regenerates its permission. Requests of crashed clients that
//!   are still in transit are not queued. The server ignores clients believed crashed, so a wrong suspicion costs the
//!   suspected client its entry.

use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::convert::Infallible;

use quorate_core::mutex::{Command, Misuse, Output};
use quorate_core::{
    Assumption, Belief, Cost, Effects, Kind, Layer, Message as CoreMessage, Permission, Process,
    ProcessId, ProcessSet, Profile, Property,
};

use crate::Step;
use crate::literature::{MutexFigure, Prediction};
use crate::{Algorithm, Setup, Shape, Sound};

/// One process of the algorithm. Every process is a client, and one of them is also the server.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Central {
    id: ProcessId,
    server: ProcessId,
    /// Whether clients hand the permission over directly if possible.
    hand_over: bool,
    phase: Phase,
    /// The latest permission of this client.
    latest: u64,
    /// A permission, and the client to which it must be handed over.
    next: Option<(u64, ProcessId)>,
    server_state: ServerState,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Phase {
    Outside,
    Waiting,
    Inside,
}

/// The state of the server. It stays empty at all other processes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct ServerState {
    /// The present holder and its permission.
    holder: Option<(ProcessId, u64)>,
    /// Number of permissions granted so far, including those handed over.
    given: u64,
    /// Whether the server has named the first client of the queue to the holder.
    named: bool,
    queue: VecDeque<ProcessId>,
    crashed: ProcessSet,
}

/// A message between clients and server. Permissions are numbered only with direct hand-over.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// A client requests the permission.
    Request,
    /// The server, or a client that has left, grants the permission.
    Grant(u64),
    /// A client has left, and may have handed the permission over.
    Release {
        /// The permission that the client had.
        permission: u64,
        /// Whether the client has handed the permission over to the next client.
        handed_over: bool,
    },
    /// The server names the client to which the holder must hand this permission over when it leaves.
    Next(u64, ProcessId),
}

impl Central {
    /// Creates process `id`, which is served by `server`.
    pub fn new(id: ProcessId, server: ProcessId) -> Self {
        let (phase, server_state) = (Phase::Outside, ServerState::default());
        Self { id, server, hand_over: false, phase, latest: 0, next: None, server_state }
    }

    /// The same process with direct hand-over.
    #[must_use]
    pub fn handing_over(self) -> Self {
        Self { hand_over: true, ..self }
    }

    fn grant_next(&mut self, out: &mut Effects<Self>) {
        let server_state = &mut self.server_state;
        server_state.named = false;
        server_state.queue.retain(|waiting| !server_state.crashed.contains(*waiting));
        // Only permissions that are handed over need numbers.
        let permission = server_state.given + u64::from(self.hand_over);
        server_state.holder = server_state.queue.pop_front().map(|holder| (holder, permission));
        if let Some((holder, permission)) = server_state.holder {
            server_state.given = permission;
            out.send(holder, Message::Grant(permission));
            self.name_next(out);
        }
    }

    /// Names the next client to the holder, if hand-over is enabled and a client waits.
    fn name_next(&mut self, out: &mut Effects<Self>) {
        let server_state = &mut self.server_state;
        let (Some((holder, permission)), Some(&next)) =
            (server_state.holder, server_state.queue.front())
        else {
            return;
        };
        if self.hand_over && !server_state.named {
            server_state.named = true;
            out.send(holder, Message::Next(permission, next));
        }
    }

    fn on_request(&mut self, from: ProcessId, out: &mut Effects<Self>) {
        if self.server_state.crashed.contains(from) {
            return out.ignored("a request of a crashed client");
        }
        self.server_state.queue.push_back(from);
        if self.server_state.holder.is_none() {
            self.grant_next(out);
        } else {
            self.name_next(out);
        }
    }

    fn on_release(
        &mut self,
        from: ProcessId,
        permission: u64,
        handed: bool,
        out: &mut Effects<Self>,
    ) {
        // The release of the successor may arrive before the release of the client that handed the permission over to it.
        let is_next = |server_state: &ServerState| {
            server_state.named
                && server_state.queue.front() == Some(&from)
                && permission == server_state.given + 1
        };
        if is_next(&self.server_state) {
            self.hand_on();
        }
        if self.server_state.holder != Some((from, permission)) {
            return out.ignored("a release of a permission that is no longer out");
        }
        if !handed {
            return self.grant_next(out);
        }
        self.hand_on();
        match self.server_state.holder {
            Some((holder, _)) if self.server_state.crashed.contains(holder) => self.grant_next(out),
            _ => self.name_next(out),
        }
    }

    /// Records that the named client now has the permission.
    fn hand_on(&mut self) {
        let server_state = &mut self.server_state;
        server_state.given += 1;
        server_state.holder =
            server_state.queue.pop_front().map(|holder| (holder, server_state.given));
        server_state.named = false;
    }

    fn on_grant(&mut self, permission: u64, out: &mut Effects<Self>) {
        if self.hand_over && permission <= self.latest {
            return out.ignored("a permission that this process has had before");
        }
        if self.phase == Phase::Waiting {
            self.latest = permission;
            self.phase = Phase::Inside;
            out.output(Output::Entered);
        } else {
            out.ignored("a grant without a request");
        }
    }

    fn release(&mut self, out: &mut Effects<Self>) {
        self.phase = Phase::Outside;
        let permission = self.latest;
        let next = self.next.take().filter(|(named, _)| *named == permission);
        if let Some((_, next)) = next {
            // The number came in a message, which may be forged.
            out.send(next, Message::Grant(permission.saturating_add(1)));
        }
        out.send(self.server, Message::Release { permission, handed_over: next.is_some() });
    }
}

impl Process for Central {
    type Command = Command;
    type Message = Message;
    type Timer = Infallible;
    type Output = Output;
    type Misuse = Misuse;

    fn on_command(&mut self, command: Command, out: &mut Effects<Self>) -> Result<(), Misuse> {
        match (command, self.phase) {
            (Command::Acquire, Phase::Outside) => {
                self.phase = Phase::Waiting;
                out.send(self.server, Message::Request);
            }
            (Command::Acquire, _) => return Err(Misuse::AlreadyAsked),
            (Command::Release, Phase::Inside) => self.release(out),
            (Command::Release, _) => return Err(Misuse::NotInside),
        }
        Ok(())
    }

    fn on_message(&mut self, from: ProcessId, message: Message, out: &mut Effects<Self>) {
        let at_server = self.id == self.server;
        match message {
            Message::Request if at_server => self.on_request(from, out),
            Message::Release { permission, handed_over } if at_server => {
                self.on_release(from, permission, handed_over, out);
            }
            Message::Grant(permission) if from == self.server || self.hand_over => {
                self.on_grant(permission, out);
            }
            Message::Next(permission, next) if from == self.server => {
                self.next = Some((permission, next));
            }
            _ => out.ignored("a message that is not for this process"),
        }
    }

    fn on_belief(&mut self, belief: Belief, out: &mut Effects<Self>) {
        if self.id != self.server {
            return;
        }
        match belief {
            Belief::Crashed(client) => {
                self.server_state.crashed.insert(client);
                // A client that has been named stays first until the holder has left, because it may
                // have received the permission.
                let first = self.server_state.queue.front().copied();
                let named = first.filter(|_| self.server_state.named);
                self.server_state
                    .queue
                    .retain(|&waiting| waiting != client || Some(waiting) == named);
                if self.server_state.holder.is_some_and(|(holder, _)| holder == client) {
                    self.grant_next(out);
                }
            }
            Belief::Alive(client) => {
                self.server_state.crashed.remove(client);
            }
        }
    }

    /// All clients are equivalent: the server serves them in the order of their requests.
    fn renamed(&self, name: &dyn Fn(ProcessId) -> ProcessId) -> Option<Self> {
        let ServerState { holder, given, named, queue, crashed } = &self.server_state;
        Some(Self {
            id: name(self.id),
            server: name(self.server),
            next: self.next.map(|(permission, next)| (permission, name(next))),
            server_state: ServerState {
                holder: holder.map(|(holder, permission)| (name(holder), permission)),
                given: *given,
                named: *named,
                queue: queue.iter().map(|waiting| name(*waiting)).collect(),
                crashed: crashed.iter().map(name).collect(),
            },
            ..*self
        })
    }

    fn waits_for(&self) -> ProcessSet {
        match self.phase {
            Phase::Waiting => ProcessSet::from_iter([self.server]),
            _ => ProcessSet::new(),
        }
    }

    fn permission(&self) -> Permission {
        Permission::given_to(self.server_state.holder.map(|(holder, _)| holder))
    }
}

impl CoreMessage for Message {
    const KINDS: &'static [Kind] = &[
        Kind::mutex("REQUEST"),
        Kind::mutex("GRANT"),
        Kind::mutex("RELEASE"),
        Kind::mutex("NEXT"),
    ];

    fn kind(&self) -> usize {
        match self {
            Self::Request => 0,
            Self::Grant(_) => 1,
            Self::Release { .. } => 2,
            Self::Next(..) => 3,
        }
    }

    fn renamed(&self, name: &dyn Fn(ProcessId) -> ProcessId) -> Option<Self> {
        Some(match self {
            Self::Next(permission, next) => Self::Next(*permission, name(*next)),
            same => same.clone(),
        })
    }
}

impl Sound for Central {}

impl Algorithm for Central {
    const PROFILE: Profile = Profile {
        name: "central",
        layer: Layer::Mutex,
        summary: "one process hands out the only permission",
        source: "Coulouris et al., Distributed Systems, 5th edition, section 15.2",
        specimen: None,
        assumes: &[
            Assumption::NoLoss,
            Assumption::NoDuplication,
            Assumption::ServerUp,
            Assumption::CrashStop,
            Assumption::PerfectDetector,
            Assumption::Honesty,
        ],
        guarantees: &[Property::ME1, Property::ME2],
        cost: "3 messages per entry; with direct hand-over up to 4, and one message delay less between entries",
        never_quiescent: false,
    };

    const STEPS: &'static [Step] = &[
        Step::on("Acquire", "send REQUEST to the server; wait"),
        Step::doing(
            "REQUEST",
            "GRANT",
            "server, REQUEST from j, and the permission is free: send GRANT to j",
        ),
        Step::on("REQUEST", "server, REQUEST from j, otherwise: put j into the queue"),
        Step::on("GRANT", "GRANT: enter"),
        Step::on("Release", "leave; send RELEASE to the server"),
        Step::doing("RELEASE", "GRANT", "server, RELEASE: send GRANT to the first of the queue"),
        Step::on("RELEASE", "server, RELEASE, and the queue is empty: the permission is free"),
    ];

    const SHAPE: Shape = Shape::Server;

    const HANDS_OVER: bool = true;

    fn build(setup: &Setup, id: ProcessId) -> Self {
        let process = Self::new(id, setup.server);
        if setup.hand_over { process.handing_over() } else { process }
    }

    fn cost(setup: &Setup) -> Cost {
        // A message of the server to itself takes no time, so its own entries are faster.
        let cost = match setup.hand_over {
            true => Cost::between("3 to 4", 3, 4),
            false => Cost::exact("3", 3),
        };
        cost.with_delays(0..=2, 0..=2)
    }

    fn predict_entry(figure: MutexFigure, setup: &Setup, _: &[Vec<ProcessId>]) -> Prediction {
        match figure {
            MutexFigure::Saturated if setup.hand_over => Prediction::between("3 to 4", 3.0, 4.0),
            MutexFigure::Light | MutexFigure::Saturated => Prediction::exact("3", 3.0),
            MutexFigure::Synchronisation if setup.hand_over => {
                Prediction::exact("1", 1.0).with_difference(
                    "the server cannot name a successor in time while the first requests are still under way, and \
                     messages from it to itself take no time",
                )
            }
            MutexFigure::Client | MutexFigure::Synchronisation => {
                Prediction::exact("2", 2.0).with_difference(
                    "the server is a client as well, and messages from it to itself take no time",
                )
            }
        }
    }
}
