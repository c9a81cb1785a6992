//! Chang-Roberts election on a ring: identifiers travel round the ring, smaller ones are discarded, and the process
//! that receives its own identifier has won.
//!
//! - **Source**: Chang and Roberts, "An Improved Algorithm for Decentralized Extrema-Finding in Circular Configurations
//!   of Processes", CACM 22(5), 1979; Coulouris et al., "Distributed Systems", section 15.3.
//! - **Assumes**: a ring in the order of the processes; no crashes; links that lose nothing, in any order.
//! - **Guarantees**: E1 and E2, for any starter and any number of simultaneous starters.
//! - **Costs**: one starter: d + 2n messages, where d is the distance from the starter to the greatest, so 2n to
//!   3n - 1. All starting: 3n - 1 on an ascending ring, n(n + 3)/2 on a descending one, n(H(n) + 1) on average, where
//!   H(n) = 1 + 1/2 + .. + 1/n. 25 bytes each.
//! - **Departs from the paper**: elections are numbered, so that one may follow another over links that reorder. A
//!   process that has not taken part yet replaces a smaller identifier by its own, as in Coulouris et al. A single
//!   process elects itself without a message.

use core::convert::Infallible;

use quorate_core::election::{Command, Identifier, Misuse, Output};
use quorate_core::{
    Assumption, Cost, Effects, Kind, Layer, Message as CoreMessage, Process, ProcessId, Profile,
    Property,
};

use super::common::{IDENTIFIER_BYTES, KIND_BYTES, NUMBER_BYTES, Participation, Ring};
use crate::Step;
use crate::literature::{ElectionCosts, Order, Prediction, StarterRule, Starters};
use crate::{Algorithm, Setup, Shape, Sound};

/// One process of the ring.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ChangRoberts {
    ring: Ring,
    participation: Participation,
}

/// The messages, sent to the next process on the ring.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// In the election of this number, no process between the owner of this identifier and the receiver has a greater one.
    Election {
        /// The number of the election.
        number: u64,
        /// The greatest identifier so far.
        identifier: Identifier,
    },
    /// The election of this number is over.
    Elected {
        /// The number of the election.
        number: u64,
        /// The greatest of all identifiers.
        leader: Identifier,
    },
}

impl ChangRoberts {
    /// Creates a process among `n` that stands with this identifier.
    pub fn new(n: usize, identifier: Identifier) -> Self {
        Self {
            ring: Ring { id: identifier.process, n },
            participation: Participation::new(identifier),
        }
    }

    /// Takes part in the election and returns the identifier to stand with.
    fn join(&mut self, number: u64, out: &mut Effects<Self>) -> Identifier {
        out.output(Output::Undecided);
        self.participation.join(number)
    }

    fn begin(&mut self, out: &mut Effects<Self>) {
        let number = self.participation.next();
        let identifier = self.join(number, out);
        if self.ring.is_alone() {
            return self.win(number, out);
        }
        out.send(self.ring.next(), Message::Election { number, identifier });
    }

    fn on_election(&mut self, number: u64, found: Identifier, out: &mut Effects<Self>) {
        if self.participation.is_over(number) {
            return out.ignored("a message of an election that is over");
        }
        let joins = self.participation.is_new(number);
        let own = if joins { self.join(number, out) } else { self.participation.identifier() };
        if found.process == self.ring.id {
            return self.win(number, out);
        }
        // A participant has already sent its own identifier or a greater one.
        if found > own {
            out.send(self.ring.next(), Message::Election { number, identifier: found });
        } else if joins {
            out.send(self.ring.next(), Message::Election { number, identifier: own });
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
            out.output(Output::Elected(leader));
        }
        news
    }
}

impl Process for ChangRoberts {
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
            Message::Election { number, identifier } => self.on_election(number, identifier, out),
            Message::Elected { number, leader } => self.on_elected(number, leader, out),
        }
    }
}

impl CoreMessage for Message {
    const KINDS: &'static [Kind] = &[Kind::election("ELECTION"), Kind::election("ELECTED")];

    fn kind(&self) -> usize {
        match self {
            Self::Election { .. } => 0,
            Self::Elected { .. } => 1,
        }
    }

    fn bytes(&self) -> Option<u64> {
        Some(KIND_BYTES + NUMBER_BYTES + IDENTIFIER_BYTES)
    }

    fn forged(&self, choice: u64) -> Self {
        match *self {
            Self::Election { number, identifier } => {
                Self::Election { number, identifier: identifier.forged(choice) }
            }
            Self::Elected { number, leader } => {
                Self::Elected { number, leader: leader.forged(choice) }
            }
        }
    }
}

impl Sound for ChangRoberts {}

impl Algorithm for ChangRoberts {
    const PROFILE: Profile = Profile {
        name: "chang-roberts",
        layer: Layer::Election,
        summary: "identifiers travel round a ring, smaller ones are discarded, and a process that receives its own has won",
        source: "Chang, Roberts, CACM 22(5), 1979",
        specimen: None,
        assumes: &[Assumption::NoLoss, Assumption::NoCrash, Assumption::Honesty],
        guarantees: &[Property::E1, Property::E2],
        cost: "2n to 3n - 1 messages with one starter; with all, n(n + 3)/2 at most, n(H(n) + 1) on average",
        never_quiescent: false,
    };

    const STEPS: &'static [Step] = &[
        Step::on("Elect", "take part; send ELECTION(i) to the next process of the ring"),
        Step::doing(
            "ELECTION",
            "ELECTED",
            "ELECTION(j) with the own identifier: it went round, so i is the leader; send ELECTED(i)",
        ),
        Step::doing(
            "ELECTION",
            "ELECTION",
            "ELECTION(j): pass the greater of j and i on, and take part",
        ),
        Step::on(
            "ELECTION",
            "ELECTION(j) with a smaller identifier, and i takes part already: drop it",
        ),
        Step::doing("ELECTED", "ELECTED", "ELECTED(j): j is the leader; pass it on"),
        Step::on("ELECTED", "ELECTED with the own identifier: all know it"),
    ];

    const ELECTION_COSTS: &'static [ElectionCosts] = &[ElectionCosts {
        rank_delay: false,
        cases: &[
            (Starters::One, Order::Best),
            (Starters::One, Order::Worst),
            (Starters::One, Order::Random),
            (Starters::All, Order::Best),
            (Starters::All, Order::Worst),
            (Starters::All, Order::Random),
        ],
        messages: |starters, order, n| {
            let n = n as f64;
            Some(match (starters, order) {
                (Starters::One, Order::Best) => Prediction::exact("2n", 2.0 * n),
                (Starters::One, Order::Worst) | (Starters::All, Order::Best) => {
                    Prediction::exact("3n - 1", 3.0 * n - 1.0)
                }
                (Starters::All, Order::Worst) => {
                    Prediction::exact("n(n + 3)/2", n * (n + 3.0) / 2.0)
                }
                (Starters::All, _) => Prediction::expected("n(H(n) + 1)", n * (harmonic(n) + 1.0)),
                (Starters::One, _) => return None,
            })
        },
        rule: Some(StarterRule {
            formula: "d + 2n",
            messages: |starter| starter.steps + 2.0 * starter.n,
        }),
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
        Cost::between("2n to 3n - 1", 2 * n, 3 * n - 1).with_delays(n..=2 * n, 0..=0)
    }
}

/// Harmonic number: 1 + 1/2 + .. + 1/n.
fn harmonic(n: f64) -> f64 {
    (1..=n as u64).rev().map(|k| 1.0 / k as f64).sum()
}
