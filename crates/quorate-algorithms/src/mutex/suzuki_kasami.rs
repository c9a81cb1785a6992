//! Suzuki-Kasami mutual exclusion: a process requests the token from all others and enters when it arrives.
//!
//! - **Source**: Suzuki and Kasami, "A Distributed Mutual Exclusion Algorithm", ACM TOCS 3(4), 1985.
//! - **Assumes**: fixed membership; no process crashes; links that neither lose nor duplicate. Any order.
//! - **Guarantees**: ME1, ME2 if holders leave. Not ME3: the token's queue is in the order in which its
//!   holder scans the processes.
//! - **Costs**: no message if the process has the token, else n: n - 1 requests and the token. Two message delays into
//!   a free section, one from the holder to its successor.
//! - **Departs from the paper**: nothing of substance. The holder scans the other processes starting after itself
//!   rather than at the first one, so that low identifiers are not favoured.

use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::convert::Infallible;

use quorate_core::mutex::{Command, Misuse, Output};
use quorate_core::{
    Assumption, Cost, Effects, Kind, Layer, Message as CoreMessage, Permission, Process, ProcessId,
    ProcessSet, Profile, Property,
};

use crate::Step;
use crate::literature::{MutexFigure, Prediction};
use crate::{Algorithm, Setup, Sound};

/// One process of the algorithm.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SuzukiKasami {
    id: ProcessId,
    n: usize,
    /// The greatest known request number of each process.
    requested: Numbers,
    token: Option<Token>,
    phase: Phase,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Phase {
    Outside,
    Waiting,
    Inside,
}

/// The right to enter. It carries the numbers of the requests that were served.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Token {
    queue: VecDeque<ProcessId>,
    /// The number of the last served request of each process.
    served: Numbers,
}

/// A number for each process. The default is zero.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
struct Numbers(Vec<u64>);

impl Numbers {
    fn of(&self, process: ProcessId) -> u64 {
        self.0.get(process.index()).copied().unwrap_or(0)
    }

    fn raise(&mut self, process: ProcessId, number: u64) {
        if process.index() >= self.0.len() {
            self.0.resize(process.index() + 1, 0);
        }
        let known = &mut self.0[process.index()];
        *known = number.max(*known);
    }
}

/// A message of the algorithm.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// Requests the token, with the number of the request.
    Request(u64),
    /// Passes the token to the recipient.
    Token(Token),
}

impl SuzukiKasami {
    /// Creates process `id` of n processes. Process `owner` starts with the token.
    pub fn new(n: usize, id: ProcessId, owner: ProcessId) -> Self {
        let token = (id == owner).then(Token::default);
        Self { id, n, requested: Numbers::default(), token, phase: Phase::Outside }
    }

    fn acquire(&mut self, out: &mut Effects<Self>) {
        let number = self.requested.of(self.id) + 1;
        self.requested.raise(self.id, number);
        self.phase = Phase::Waiting;
        if self.token.is_some() {
            self.enter(out);
        } else {
            out.send_to_others(Message::Request(number));
        }
    }

    fn enter(&mut self, out: &mut Effects<Self>) {
        self.phase = Phase::Inside;
        out.output(Output::Entered);
    }

    fn release(&mut self, out: &mut Effects<Self>) {
        self.phase = Phase::Outside;
        let Some(token) = &mut self.token else { return };
        token.served.raise(self.id, self.requested.of(self.id));
        let from_here_on =
            (1..self.n).map(|step| ProcessId::from_index((self.id.index() + step) % self.n));
        for other in from_here_on {
            let waits = self.requested.of(other) == token.served.of(other) + 1;
            if waits && !token.queue.contains(&other) {
                token.queue.push_back(other);
            }
        }
        if let Some(next) = token.queue.pop_front() {
            self.pass_to(next, out);
        }
    }

    fn pass_to(&mut self, next: ProcessId, out: &mut Effects<Self>) {
        if let Some(token) = self.token.take() {
            out.send(next, Message::Token(token));
        }
    }

    fn on_request(&mut self, from: ProcessId, number: u64, out: &mut Effects<Self>) {
        self.requested.raise(from, number);
        let idle = self.phase == Phase::Outside;
        let fresh = self.token.as_ref().is_some_and(|token| number == token.served.of(from) + 1);
        if idle && fresh {
            self.pass_to(from, out);
        }
    }
}

impl Process for SuzukiKasami {
    type Command = Command;
    type Message = Message;
    type Timer = Infallible;
    type Output = Output;
    type Misuse = Misuse;

    fn on_command(&mut self, command: Command, out: &mut Effects<Self>) -> Result<(), Misuse> {
        match (command, self.phase) {
            (Command::Acquire, Phase::Outside) => self.acquire(out),
            (Command::Acquire, _) => return Err(Misuse::AlreadyAsked),
            (Command::Release, Phase::Inside) => self.release(out),
            (Command::Release, _) => return Err(Misuse::NotInside),
        }
        Ok(())
    }

    fn on_message(&mut self, from: ProcessId, message: Message, out: &mut Effects<Self>) {
        match message {
            Message::Request(number) => self.on_request(from, number, out),
            Message::Token(_) if self.phase != Phase::Waiting => {
                out.ignored("a token that was not asked for");
            }
            Message::Token(token) => {
                self.token = Some(token);
                self.enter(out);
            }
        }
    }

    fn waits_for(&self) -> ProcessSet {
        // The location of the token is unknown to a waiting process.
        match self.phase {
            Phase::Waiting => ProcessSet::others(self.n, self.id),
            _ => ProcessSet::new(),
        }
    }

    fn permission(&self) -> Permission {
        Permission::token(self.token.is_some())
    }
}

impl CoreMessage for Message {
    const KINDS: &'static [Kind] = &[Kind::mutex("REQUEST"), Kind::mutex("TOKEN")];

    fn kind(&self) -> usize {
        match self {
            Self::Request(_) => 0,
            Self::Token(_) => 1,
        }
    }

    fn forged(&self, choice: u64) -> Self {
        match self {
            Self::Request(number) => Self::Request(number.saturating_add(choice % 4)),
            Self::Token(_) => Self::Token(Token::default()),
        }
    }
}

impl Sound for SuzukiKasami {}

impl Algorithm for SuzukiKasami {
    const PROFILE: Profile = Profile {
        name: "suzuki-kasami",
        layer: Layer::Mutex,
        summary: "request the token from all others, and enter when it arrives",
        source: "Suzuki and Kasami, ACM TOCS 3(4), 1985",
        specimen: None,
        assumes: &[
            Assumption::NoLoss,
            Assumption::NoDuplication,
            Assumption::NoCrash,
            Assumption::Honesty,
        ],
        guarantees: &[Property::ME1, Property::ME2],
        cost: "0 or n messages per entry",
        never_quiescent: false,
    };

    const STEPS: &'static [Step] = &[
        Step::doing("Acquire", "Entered", "the token is here: enter"),
        Step::on(
            "Acquire",
            "count the own request, RN[i] + 1, and send REQUEST(RN[i]) to all others",
        ),
        Step::doing(
            "REQUEST",
            "TOKEN",
            "REQUEST(s) from j, the token is idle here, and j's request was not served yet: send the TOKEN to j",
        ),
        Step::on("REQUEST", "REQUEST(s) from j: RN[j] becomes the greater of RN[j] and s"),
        Step::on("TOKEN", "TOKEN: enter"),
        Step::doing(
            "Release",
            "TOKEN",
            "leave; LN[i] becomes RN[i]; queue every j with RN[j] = LN[j] + 1; send the TOKEN to the first of the queue",
        ),
        Step::on("Release", "leave, and the queue is empty: keep the token"),
    ];

    const TOKEN: Option<&'static str> = Some("TOKEN");

    fn build(setup: &Setup, id: ProcessId) -> Self {
        Self::new(setup.n, id, setup.server)
    }

    fn cost(setup: &Setup) -> Cost {
        Cost::between("0 or n", 0, setup.n as u64)
            .with_delays(0..=2, 1..=1)
            .without_delays_if_single(setup.n)
    }

    fn predict_entry(figure: MutexFigure, setup: &Setup, _: &[Vec<ProcessId>]) -> Prediction {
        let promised = Prediction::of_cost(figure, &Self::cost(setup));
        match figure {
            MutexFigure::Synchronisation => promised.with_difference(
                "when the first holder leaves, requests of others are still under way",
            ),
            _ => promised,
        }
    }
}
