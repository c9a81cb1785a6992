//! Hirschberg-Sinclair election on a ring, a tournament: the greatest process within a horizon advances to a
//! horizon twice as wide.
//!
//! - **Source**: Hirschberg and Sinclair, "Decentralized Extrema-Finding in Circular Configurations of
//!   Processors", CACM 23(11), 1980.
//! - **Assumes**: a ring in the order of the processes, in both directions; no crashes; links that lose
//!   nothing, in any order.
//! - **Guarantees**: E1 and E2, for any starter and any number of simultaneous starters.
//! - **Costs**: at most 8n(1 + L) + n messages, where L = log2 n rounded up, for any starters; at least 4(2^L - 1) + 3n,
//!   which is the cost if the greatest process begins alone: turns 0 to L - 1 with 4 x 2^k messages each, two probes all
//!   the way round, and n messages to announce the leader. PROBE has 41 bytes, REPLY 41, ELECTED 25.
//! - **Departs from the paper**: not every process has to begin: a process that is probed by a smaller one becomes a
//!   candidate itself. The winner announces itself round the ring. Elections are numbered, so that one may follow
//!   another over links that reorder. A reply counts its steps down, so that a wrong one does not circulate forever.

use core::convert::Infallible;

use quorate_core::election::{Command, Identifier, Misuse, Output};
use quorate_core::{
    Assumption, Cost, Effects, Kind, Layer, Message as CoreMessage, Process, ProcessId, Profile,
    Property,
};

use super::common::{Direction, IDENTIFIER_BYTES, KIND_BYTES, NUMBER_BYTES, Participation, Ring};
use crate::literature::{ElectionCosts, Order, Prediction, Starters};
use crate::{Algorithm, Setup, Shape, Sound};

/// One process of the ring.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct HirschbergSinclair {
    ring: Ring,
    participation: Participation,
    candidacy: Option<Candidacy>,
}

/// The current turn of a candidate, and the sides on which it has won the turn.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Candidacy {
    turn: u32,
    onwards: bool,
    backwards: bool,
}

/// The messages, sent to neighbours on the ring.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// Asks for a greater process within a number of steps in one direction.
    Probe(Errand),
    /// No greater process was found. Returns to the candidate.
    Reply(Errand),
    /// The election of this number is over. Travels onwards.
    Elected {
        /// The number of the election.
        number: u64,
        /// The greatest of all identifiers.
        leader: Identifier,
    },
}

/// The contents of a probe to the horizon, or of the reply that returns from it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Errand {
    number: u64,
    candidate: Identifier,
    turn: u32,
    /// Number of steps that are left.
    steps: u64,
    direction: Direction,
}

impl HirschbergSinclair {
    /// Creates a process among `n` that stands with this identifier.
    pub fn new(n: usize, identifier: Identifier) -> Self {
        let ring = Ring { id: identifier.process, n };
        Self { ring, participation: Participation::new(identifier), candidacy: None }
    }

    /// The distance that the probes of a turn cover, at most once round the ring.
    fn horizon(&self, turn: u32) -> u64 {
        1_u64.checked_shl(turn).unwrap_or(u64::MAX).min(self.ring.n as u64)
    }

    fn join(&mut self, number: u64, out: &mut Effects<Self>) {
        out.output(Output::Undecided);
        self.participation.join(number);
        self.candidacy = None;
    }

    fn begin(&mut self, out: &mut Effects<Self>) {
        let number = self.participation.next();
        self.join(number, out);
        if self.ring.is_alone() {
            return self.win(number, out);
        }
        self.probe(0, out);
    }

    /// Enters a turn and sends probes in both directions.
    fn probe(&mut self, turn: u32, out: &mut Effects<Self>) {
        self.candidacy = Some(Candidacy { turn, onwards: false, backwards: false });
        let (number, candidate) = (self.participation.number(), self.participation.identifier());
        for direction in Direction::BOTH {
            let errand = Errand { number, candidate, turn, steps: self.horizon(turn), direction };
            out.send(self.ring.neighbour(direction), Message::Probe(errand));
        }
    }

    fn on_probe(&mut self, probe: Errand, out: &mut Effects<Self>) {
        if self.participation.is_over(probe.number) {
            return out.ignored("a message of an election that is over");
        }
        let joins = self.participation.is_new(probe.number);
        if joins {
            self.join(probe.number, out);
        }
        if probe.candidate.process == self.ring.id {
            return self.win(probe.number, out);
        }
        if probe.candidate < self.participation.identifier() {
            // The probe stops here. A process that joins now must become a candidate, or no candidate might be
            // left that can win.
            if joins {
                self.probe(0, out);
            }
            return;
        }
        self.candidacy = None;
        self.pass_on(probe, out);
    }

    /// Forwards the probe of a greater candidate. At the horizon it turns the probe into a reply.
    fn pass_on(&self, probe: Errand, out: &mut Effects<Self>) {
        if probe.steps > 1 {
            let to = self.ring.neighbour(probe.direction);
            return out.send(to, Message::Probe(Errand { steps: probe.steps - 1, ..probe }));
        }
        let direction = probe.direction.opposite();
        let reply = Errand { steps: self.horizon(probe.turn), direction, ..probe };
        out.send(self.ring.neighbour(direction), Message::Reply(reply));
    }

    fn on_reply(&mut self, reply: Errand, out: &mut Effects<Self>) {
        if self.participation.is_over(reply.number) || self.participation.is_new(reply.number) {
            return out.ignored("a message of another election");
        }
        if reply.candidate.process != self.ring.id {
            if reply.steps > 1 {
                let to = self.ring.neighbour(reply.direction);
                out.send(to, Message::Reply(Errand { steps: reply.steps - 1, ..reply }));
            }
            return;
        }
        let Some(candidacy) = self.candidacy.as_mut().filter(|mine| mine.turn == reply.turn) else {
            return out.ignored("a reply of an earlier turn");
        };
        match reply.direction {
            Direction::Onwards => candidacy.onwards = true,
            Direction::Backwards => candidacy.backwards = true,
        }
        if candidacy.onwards && candidacy.backwards {
            let next = candidacy.turn + 1;
            self.probe(next, out);
        }
    }

    fn win(&mut self, number: u64, out: &mut Effects<Self>) {
        let leader = self.participation.identifier();
        if !self.ring.is_alone() {
            out.send(self.ring.next(), Message::Elected { number, leader });
        }
        self.end(number, leader, out);
    }

    fn on_elected(&mut self, number: u64, leader: Identifier, out: &mut Effects<Self>) {
        if self.end(number, leader, out) {
            out.send(self.ring.next(), Message::Elected { number, leader });
        }
    }

    /// Records the outcome of an election. Returns whether it was new.
    fn end(&mut self, number: u64, leader: Identifier, out: &mut Effects<Self>) -> bool {
        let news = self.participation.note_outcome(number);
        if news && self.participation.adopt_outcome(number) {
            self.candidacy = None;
            out.output(Output::Elected(leader));
        }
        news
    }
}

impl Process for HirschbergSinclair {
    type Command = Command;
    type Message = Message;
    type Timer = Infallible;
    type Output = Output;
    type Misuse = Misuse;

    fn on_command(&mut self, command: Command, out: &mut Effects<Self>) -> Result<(), Misuse> {
        match command {
            Command::Elect if self.participation.is_under_way() => return Err(Misuse::UnderWay),
            Command::Elect => self.begin(out),
            Command::Identify(value) => self.participation.identify(value),
        }
        Ok(())
    }

    fn on_message(&mut self, _: ProcessId, message: Message, out: &mut Effects<Self>) {
        match message {
            Message::Probe(probe) => self.on_probe(probe, out),
            Message::Reply(reply) => self.on_reply(reply, out),
            Message::Elected { number, leader } => self.on_elected(number, leader, out),
        }
    }
}

impl CoreMessage for Message {
    const KINDS: &'static [Kind] =
        &[Kind::election("PROBE"), Kind::election("REPLY"), Kind::election("ELECTED")];

    fn kind(&self) -> usize {
        match self {
            Self::Probe(_) => 0,
            Self::Reply(_) => 1,
            Self::Elected { .. } => 2,
        }
    }

    /// Does not count the direction, which the receiver can infer from the neighbour that sent the message.
    fn bytes(&self) -> Option<u64> {
        let contents = match self {
            Self::Probe(_) | Self::Reply(_) => 3 * NUMBER_BYTES + IDENTIFIER_BYTES,
            Self::Elected { .. } => NUMBER_BYTES + IDENTIFIER_BYTES,
        };
        Some(KIND_BYTES + contents)
    }

    fn forged(&self, choice: u64) -> Self {
        match self.clone() {
            Self::Probe(errand) => {
                Self::Probe(Errand { candidate: errand.candidate.forged(choice), ..errand })
            }
            Self::Reply(errand) => Self::Reply(Errand { turn: errand.turn ^ 1, ..errand }),
            Self::Elected { number, leader } => {
                Self::Elected { number, leader: leader.forged(choice) }
            }
        }
    }
}

impl Sound for HirschbergSinclair {}

impl Algorithm for HirschbergSinclair {
    const PROFILE: Profile = Profile {
        name: "hirschberg-sinclair",
        layer: Layer::Election,
        summary: "a tournament on a ring: the greatest within a horizon goes on to one twice as wide",
        source: "Hirschberg, Sinclair, CACM 23(11), 1980",
        specimen: None,
        assumes: &[Assumption::NoLoss, Assumption::NoCrash, Assumption::Honesty],
        guarantees: &[Property::E1, Property::E2],
        cost: "4(2^L - 1) + 3n to 8n(1 + L) + n messages, L = log2 n rounded up",
        never_quiescent: false,
    };

    const ELECTION_COSTS: &'static [ElectionCosts] = &[ElectionCosts {
        rank_delay: false,
        // Orders that look bad, for example with every second, fourth and eighth greater than its neighbours, are no
        // worse than random ones.
        cases: &[
            (Starters::One, Order::Best),
            (Starters::One, Order::Random),
            (Starters::All, Order::Best),
            (Starters::All, Order::Random),
        ],
        messages: |starters, order, n| {
            let horizon = n.next_power_of_two();
            let (turns, n) = (f64::from(horizon.ilog2()), n as f64);
            let least = 4.0 * (horizon as f64 - 1.0) + 3.0 * n;
            Some(match (starters, order) {
                (Starters::One, Order::Best) => Prediction::exact("4(2^L - 1) + 3n", least),
                _ => Prediction::between(
                    "4(2^L - 1) + 3n to 8n(1 + L) + n",
                    least,
                    8.0 * n * (1.0 + turns) + n,
                ),
            })
        },
        rule: None,
        stores_lists: false,
    }];

    const SHAPE: Shape = Shape::Ring;

    fn build(setup: &Setup, id: ProcessId) -> Self {
        Self::new(setup.n, setup.identifier(id))
    }

    fn cost(setup: &Setup) -> Cost {
        let n = setup.n as u64;
        if n == 1 {
            return Cost::exact("0", 0);
        }
        let turns = u64::from(n.next_power_of_two().ilog2());
        let least = 4 * (n.next_power_of_two() - 1) + 3 * n;
        let most = 8 * n * (1 + turns) + n;
        // The winner needs 2 x 2^k delays for each turn and n for the last. The starter that wakes it is at most n/2 away.
        let wins = 2 * (n.next_power_of_two() - 1) + n;
        Cost::between("4(2^L - 1) + 3n to 8n(1 + L) + n", least, most)
            .with_delays(wins..=wins + 2 * n, 0..=0)
    }
}
