//! Central server mutual exclusion: one process hands out the only permission.
//!
//! - **Source**: Coulouris, Dollimore, Kindberg and Blair, "Distributed Systems: Concepts and
//!   Design", 5th edition, section 15.2.
//! - **Assumes**: the server does not crash; links that neither lose nor duplicate, in any order; a
//!   perfect detector for crashed clients, who stay away.
//! - **Guarantees**: ME1 and ME2. Not ME3: requests are served in the order in which they reach the
//!   server, which need not be the order in which they happened.
//! - **Costs**: 3 messages per entry (the server's own, to itself, included); two message delays into
//!   a free section, two from the holder to its successor.
//! - **Departs from the paper**: the permission of a client that crashes inside is regenerated when the
//!   detector tells the server, and requests still under way from the crashed are not queued. A
//!   client believed crashed is not listened to, so a wrong suspicion costs the suspected its entry.

use alloc::collections::VecDeque;
use core::convert::Infallible;

use quorate_core::mutex::{Command, Misuse, Output};
use quorate_core::{
    Assumption, Belief, Cost, Effects, Kind, Layer, Message as CoreMessage, Process, ProcessId,
    ProcessSet, Profile, Property,
};

use crate::{Algorithm, Setup, Sound};

/// One process: a client, and the server too if it is the one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Central {
    id: ProcessId,
    server: ProcessId,
    phase: Phase,
    desk: Desk,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Phase {
    Outside,
    Waiting,
    Inside,
}

/// What the server keeps; empty at everyone else.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Desk {
    holder: Option<ProcessId>,
    queue: VecDeque<ProcessId>,
    crashed: ProcessSet,
}

/// What clients and server say.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Message {
    /// Client: I want in.
    Request,
    /// Server: you have the permission.
    Grant,
    /// Client: here is the permission back.
    Release,
}

impl Central {
    /// Process `id`, served by `server`.
    pub fn new(id: ProcessId, server: ProcessId) -> Self {
        Self { id, server, phase: Phase::Outside, desk: Desk::default() }
    }

    fn grant_next(&mut self, out: &mut Effects<Self>) {
        self.desk.holder = self.desk.queue.pop_front();
        if let Some(holder) = self.desk.holder {
            out.send(holder, Message::Grant);
        }
    }

    fn on_request(&mut self, from: ProcessId, out: &mut Effects<Self>) {
        if self.desk.crashed.contains(from) {
            return out.ignored("a request of a crashed client");
        }
        self.desk.queue.push_back(from);
        if self.desk.holder.is_none() {
            self.grant_next(out);
        }
    }

    fn on_release(&mut self, from: ProcessId, out: &mut Effects<Self>) {
        if self.desk.holder == Some(from) {
            self.grant_next(out);
        } else {
            out.ignored("a release by a client that does not hold the permission");
        }
    }

    fn on_grant(&mut self, out: &mut Effects<Self>) {
        if self.phase == Phase::Waiting {
            self.phase = Phase::Inside;
            out.output(Output::Entered);
        } else {
            out.ignored("a grant without a request");
        }
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
            (Command::Release, Phase::Inside) => {
                self.phase = Phase::Outside;
                out.send(self.server, Message::Release);
            }
            (Command::Release, _) => return Err(Misuse::NotInside),
        }
        Ok(())
    }

    fn on_message(&mut self, from: ProcessId, message: Message, out: &mut Effects<Self>) {
        let at_server = self.id == self.server;
        match message {
            Message::Request if at_server => self.on_request(from, out),
            Message::Release if at_server => self.on_release(from, out),
            Message::Grant if from == self.server => self.on_grant(out),
            _ => out.ignored("a message that is not for this process"),
        }
    }

    fn on_belief(&mut self, belief: Belief, out: &mut Effects<Self>) {
        if self.id != self.server {
            return;
        }
        match belief {
            Belief::Crashed(client) => {
                self.desk.crashed.insert(client);
                self.desk.queue.retain(|&waiting| waiting != client);
                if self.desk.holder == Some(client) {
                    self.grant_next(out);
                }
            }
            Belief::Alive(client) => {
                self.desk.crashed.remove(client);
            }
        }
    }

    fn waits_for(&self) -> ProcessSet {
        match self.phase {
            Phase::Waiting => ProcessSet::from_iter([self.server]),
            _ => ProcessSet::new(),
        }
    }
}

impl CoreMessage for Message {
    const KINDS: &'static [Kind] =
        &[Kind::mutex("REQUEST"), Kind::mutex("GRANT"), Kind::mutex("RELEASE")];

    fn kind(&self) -> usize {
        match self {
            Self::Request => 0,
            Self::Grant => 1,
            Self::Release => 2,
        }
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
        cost: "3 messages per entry",
        restless: false,
    };

    fn build(setup: &Setup, id: ProcessId) -> Self {
        Self::new(id, setup.server)
    }

    fn cost(_: &Setup) -> Cost {
        // Between the server and itself a message takes no time, so its own entries are quicker.
        Cost::exact("3", 3).with_delays(0..=2, 0..=2)
    }
}
