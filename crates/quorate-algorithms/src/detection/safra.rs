//! Safra's termination detection: a token goes round a ring, adds up the counters of messages sent and received, and is blackened by
//! processes that have received a message since its last visit.
//!
//! - **Source**: Dijkstra, "Shmuel Safra's version of termination detection", EWD 998, 1987.
//! - **Assumes**: links that lose nothing and duplicate nothing; no crashes. Any order of messages on a link.
//! - **Guarantees**: no-false-detection and eventual-detection.
//! - **Costs**: n TOKENs for each round. The number of rounds is not bounded by the number of messages of the computation: the token
//!   circulates while a message is in flight. After the end, at most two rounds more begin.
//! - **Departs from the paper**: activity begins at the process that starts the probes, so that users cannot make a process active behind
//!   the token. It probes only while a computation runs, and may begin another one after the last was announced.
//!
//! ```text
//!   passive process with the token: token.count += counter; a black process blackens the token; the process becomes white
//!   first process:                  white token, white process and token.count + counter = 0: announce; otherwise probe again
//! ```

use core::convert::Infallible;
use core::fmt::Debug;
use core::hash::Hash;
use core::marker::PhantomData;

use quorate_core::detection::{Command, Misuse, Output, StableProperty};
use quorate_core::{
    Assumption, Cost, Effects, Kind, Layer, Message as CoreMessage, Process, ProcessId, Profile,
    Property,
};

use crate::algorithm::Shape;
use crate::{Algorithm, Setup, Sound};

/// One process of Safra's algorithm.
pub type Safra = TokenProbe<Coloured>;

/// Whether the token minds colours. The algorithm and its specimen differ in this.
pub trait Colouring: Clone + Eq + Hash + Debug + Send + Sync {
    /// The profile of the algorithm with or without colours.
    const PROFILE: Profile;

    /// Whether a message blackens its receiver.
    const BLACKENS: bool;
}

/// The paper's rule: a process that receives a message becomes black.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Coloured;

/// A process that passes the token on, with the colours of `C`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TokenProbe<C> {
    id: ProcessId,
    n: usize,
    /// The process that starts probes.
    first: ProcessId,
    active: bool,
    black: bool,
    /// Number of messages sent minus number of messages received.
    counter: i64,
    /// The token, while the process holds it.
    token: Option<Token>,
    /// Whether a computation was begun here and its end was not announced.
    running: bool,
    colouring: PhantomData<C>,
}

/// The token of a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Token {
    /// Sum of the counters of the processes that the token has visited.
    count: i64,
    /// Whether one of them had received a message since the visit before.
    black: bool,
}

/// The messages of the computation and of the algorithm.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// A message of the computation, which makes its receiver active.
    Work,
    /// The token of a probe, on its way to the next process.
    Token(Token),
}

impl CoreMessage for Message {
    const KINDS: &'static [Kind] = &[Kind::detection("WORK"), Kind::detection("TOKEN")];

    fn kind(&self) -> usize {
        match self {
            Self::Work => 0,
            Self::Token(_) => 1,
        }
    }

    fn bytes(&self) -> Option<u64> {
        Some(match self {
            Self::Work => 1,
            Self::Token(_) => 1 + 8 + 1,
        })
    }
}

impl<C: Colouring> TokenProbe<C> {
    fn new(setup: &Setup, id: ProcessId) -> Self {
        let is_first = id == setup.server;
        Self {
            id,
            n: setup.n,
            first: setup.server,
            active: false,
            black: false,
            counter: 0,
            // A black token ends no probe, so that the first process begins one.
            token: is_first.then_some(Token { count: 0, black: true }),
            running: false,
            colouring: PhantomData,
        }
    }

    /// A passive process passes the token on. The first process judges it, and begins another probe if it is inconclusive.
    fn pass_token_if_passive(&mut self, out: &mut Effects<Self>) {
        if self.active || (self.id == self.first && !self.running) {
            return;
        }
        let Some(token) = self.token.take() else { return };
        let black = token.black || self.black;
        let count = token.count + self.counter;
        let next = if self.id != self.first {
            Token { count, black }
        } else if count == 0 && (!black || self.n == 1) {
            self.running = false;
            self.token = Some(Token { count: 0, black: true });
            return out.output(Output::Announced);
        } else {
            Token { count: 0, black: false }
        };
        self.black = false;
        let to = ProcessId::from_index((self.id.index() + self.n - 1) % self.n);
        out.send(to, Message::Token(next));
    }
}

impl<C: Colouring> Process for TokenProbe<C> {
    type Command = Command;
    type Message = Message;
    type Timer = Infallible;
    type Output = Output;
    type Misuse = Misuse;

    fn on_command(&mut self, command: Command, out: &mut Effects<Self>) -> Result<(), Misuse> {
        match command {
            Command::Start if self.id != self.first => return Err(Misuse::NotRoot),
            Command::Start => (self.active, self.running) = (true, true),
            Command::Send(_) | Command::Rest if !self.active => return Err(Misuse::NotActive),
            Command::Send(to) if to == self.id || to.index() >= self.n => {
                return Err(Misuse::NotAnother);
            }
            Command::Send(to) => {
                self.counter += 1;
                out.send(to, Message::Work);
            }
            Command::Rest => {
                self.active = false;
                self.pass_token_if_passive(out);
            }
            Command::Wait(_) | Command::Grant => return Err(Misuse::WrongComputation),
        }
        Ok(())
    }

    fn on_message(&mut self, from: ProcessId, message: Message, out: &mut Effects<Self>) {
        match message {
            Message::Work => {
                self.active = true;
                self.counter -= 1;
                self.black = C::BLACKENS;
                out.output(Output::Received(from));
            }
            Message::Token(_) if self.token.is_some() => out.ignored("a second token"),
            Message::Token(token) => {
                self.token = Some(token);
                self.pass_token_if_passive(out);
            }
        }
    }
}

impl<C: Colouring> Algorithm for TokenProbe<C> {
    const PROFILE: Profile = C::PROFILE;

    const SHAPE: Shape = Shape::Everybody;

    const STABLE_PROPERTY: StableProperty = StableProperty::Termination;

    fn build(setup: &Setup, id: ProcessId) -> Self {
        Self::new(setup, id)
    }

    fn cost(_: &Setup) -> Cost {
        Cost::between("rounds x n", 0, u64::MAX)
    }
}

impl Colouring for Coloured {
    const PROFILE: Profile = Profile {
        name: "safra",
        layer: Layer::Detection,
        summary: "a token adds up message counters, and receivers of messages blacken it",
        source: "Dijkstra, Shmuel Safra's version of termination detection, EWD 998, 1987",
        specimen: None,
        assumes: &[
            Assumption::NoLoss,
            Assumption::NoDuplication,
            Assumption::NoCrash,
            Assumption::Honesty,
        ],
        guarantees: &[Property::NoFalseDetection, Property::EventualDetection],
        cost: "n tokens per round; at most two rounds begin after the end of the computation",
        never_quiescent: false,
    };

    const BLACKENS: bool = true;
}

impl Sound for Safra {}

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use quorate_core::{Effect, Time};

    use super::*;

    fn p(number: u32) -> ProcessId {
        ProcessId::new(number)
    }

    /// The token that is sent, or what else happens, after an input.
    fn effects(act: impl FnOnce(&mut Effects<Safra>)) -> Vec<(&'static str, i64, bool)> {
        let mut out = Effects::new(Time(0));
        act(&mut out);
        let shown = |effect: Effect<Safra>| match effect {
            Effect::Send { message: Message::Token(token), .. } => {
                ("token", token.count, token.black)
            }
            Effect::Send { .. } => ("work", 0, false),
            Effect::Output(Output::Announced) => ("announced", 0, false),
            Effect::Output(Output::Received(_)) => ("received", 0, false),
            _ => ("other", 0, false),
        };
        out.drain().map(shown).collect()
    }

    fn command(process: &mut Safra, command: Command) -> Vec<(&'static str, i64, bool)> {
        effects(|out| process.on_command(command, out).unwrap())
    }

    fn receive(process: &mut Safra, message: Message) -> Vec<(&'static str, i64, bool)> {
        effects(|out| process.on_message(p(0), message, out))
    }

    #[test]
    fn a_receiver_blackens_the_token_once() {
        let mut process = Safra::build(&Setup::new(3), p(1));
        let token = || Message::Token(Token { count: 0, black: false });
        assert_eq!(receive(&mut process, Message::Work), [("received", 0, false)]);
        assert_eq!(receive(&mut process, token()), [], "it is active");
        assert_eq!(receive(&mut process, token()), [("other", 0, false)], "there is one token");
        assert_eq!(command(&mut process, Command::Rest), [("token", -1, true)]);
        assert_eq!(receive(&mut process, token()), [("token", -1, false)]);
    }

    #[test]
    fn the_first_process_probes_until_all_is_white_and_counted() {
        let mut first = Safra::build(&Setup::new(3), p(0));
        assert_eq!(command(&mut first, Command::Start), []);
        assert_eq!(command(&mut first, Command::Send(p(1))), [("work", 0, false)]);
        assert_eq!(command(&mut first, Command::Rest), [("token", 0, false)]);
        for (count, black) in [(-1, true), (0, false)] {
            let back = Message::Token(Token { count, black });
            assert_eq!(receive(&mut first, back), [("token", 0, false)], "inconclusive");
        }
        let back = Message::Token(Token { count: -1, black: false });
        assert_eq!(receive(&mut first, back), [("announced", 0, false)]);
        assert_eq!(command(&mut first, Command::Start), []);
        assert_eq!(
            command(&mut first, Command::Rest),
            [("token", 0, false)],
            "another computation"
        );
    }

    #[test]
    fn one_process_alone_announces_at_once() {
        let mut alone = Safra::build(&Setup::new(1), p(0));
        command(&mut alone, Command::Start);
        assert_eq!(command(&mut alone, Command::Rest), [("announced", 0, false)]);
    }
}
