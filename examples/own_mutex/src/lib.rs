//! A mutual exclusion algorithm outside quorate: one token, found by path reversal.
//!
//! - **Source**: Naimi and Trehel, "An Improvement of the log(n) Distributed Algorithm for Mutual Exclusion", ICDCS 1987.
//! - **Assumes**: links that neither lose nor duplicate; no process crashes.
//! - **Guarantees**: ME1 and ME2.
//! - **Costs**: n messages per entry at most, O(log n) on average.
//!
//! Every process remembers which process it believes to be the last in the queue. A request follows these beliefs, and
//! each process on the way turns its belief to the requester. The last in the queue keeps the requester as its
//! successor, to which it sends the token when it leaves.

use std::convert::Infallible;

use quorate_algorithms::{Algorithm, Setup};
use quorate_core::mutex::{Command, Misuse, Output};
use quorate_core::{
    Assumption, Cost, Effects, Kind, Layer, Message as CoreMessage, Process, ProcessId, Profile,
    Property,
};
use serde::{Deserialize, Serialize};

/// One process of the algorithm.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct OwnMutex {
    id: ProcessId,
    /// Probable last process of the queue; `None` if it is this one.
    last: Option<ProcessId>,
    /// The process that gets the token next.
    next: Option<ProcessId>,
    has_token: bool,
    phase: Phase,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Phase {
    Outside,
    Waiting,
    Inside,
}

/// A message between two processes.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Message {
    /// This process wants to enter. The request is forwarded, so its sender may be another process.
    Request(ProcessId),
    /// The right to enter.
    Token,
}

impl OwnMutex {
    fn on_request(&mut self, requester: ProcessId, out: &mut Effects<Self>) {
        match self.last.replace(requester) {
            Some(last) => out.send(last, Message::Request(requester)),
            None if self.has_token && self.phase == Phase::Outside => {
                self.has_token = false;
                out.send(requester, Message::Token);
            }
            None => self.next = Some(requester),
        }
    }

    fn enter(&mut self, out: &mut Effects<Self>) {
        self.phase = Phase::Inside;
        out.output(Output::Entered);
    }
}

impl Process for OwnMutex {
    type Command = Command;
    type Message = Message;
    type Timer = Infallible;
    type Output = Output;
    type Misuse = Misuse;

    fn on_command(&mut self, command: Command, out: &mut Effects<Self>) -> Result<(), Misuse> {
        match (command, self.phase) {
            (Command::Acquire, Phase::Outside) if self.has_token => self.enter(out),
            (Command::Acquire, Phase::Outside) => {
                self.phase = Phase::Waiting;
                if let Some(last) = self.last.take() {
                    out.send(last, Message::Request(self.id));
                }
            }
            (Command::Acquire, _) => return Err(Misuse::AlreadyAsked),
            (Command::Release, Phase::Inside) => {
                self.phase = Phase::Outside;
                if let Some(next) = self.next.take() {
                    self.has_token = false;
                    out.send(next, Message::Token);
                }
            }
            (Command::Release, _) => return Err(Misuse::NotInside),
        }
        Ok(())
    }

    fn on_message(&mut self, _: ProcessId, message: Message, out: &mut Effects<Self>) {
        match message {
            Message::Request(requester) => self.on_request(requester, out),
            Message::Token if self.phase == Phase::Waiting => {
                self.has_token = true;
                self.enter(out);
            }
            Message::Token => out.ignored("a token without a request"),
        }
    }
}

impl CoreMessage for Message {
    const KINDS: &'static [Kind] = &[Kind::mutex("REQUEST"), Kind::mutex("TOKEN")];

    fn kind(&self) -> usize {
        match self {
            Self::Request(_) => 0,
            Self::Token => 1,
        }
    }
}

impl Algorithm for OwnMutex {
    const PROFILE: Profile = Profile {
        name: "own-mutex",
        layer: Layer::Mutex,
        summary: "one token, and requests that follow the probable end of the queue",
        source: "Naimi and Trehel, ICDCS 1987",
        specimen: None,
        assumes: &[
            Assumption::NoLoss,
            Assumption::NoDuplication,
            Assumption::NoCrash,
            Assumption::Honesty,
        ],
        guarantees: &[Property::ME1, Property::ME2],
        cost: "0 to n messages per entry, O(log n) on average",
        never_quiescent: false,
    };

    const TOKEN: Option<&'static str> = Some("TOKEN");

    fn build(setup: &Setup, id: ProcessId) -> Self {
        let has_token = id == setup.server;
        let last = if has_token { None } else { Some(setup.server) };
        Self { id, last, next: None, has_token, phase: Phase::Outside }
    }

    fn cost(setup: &Setup) -> Cost {
        let n = setup.n as u64;
        Cost::between("0 to n", 0, n).with_delays(0..=n, 1..=1).without_delays_if_single(setup.n)
    }
}
