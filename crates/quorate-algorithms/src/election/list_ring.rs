//! Ring election with a list of identifiers: a list goes round, everybody adds itself, and when it is back the greatest on
//! it is announced, round the ring again.
//!
//! - **Source**: the ring algorithm of Tanenbaum, "Distributed Systems", as in lecture notes on leader election.
//! - **Assumes**: a ring in the order of the processes, which all know; links that lose nothing, in any order; a perfect
//!   detector, which tells who the next operational neighbour is; the crashed stay away.
//! - **Guarantees**: E1 and E2, whoever crashes at whatever moment, who began the election included.
//! - **Costs**: 2n messages for each process that begins, however many do: elections are independent. The k-th ELECTION of a
//!   lap has k identifiers: 17 + 16k bytes, 17n + 8n(n + 1) for the lap, and 41n for COORDINATOR. A leader's crash costs the
//!   m survivors 2m.
//! - **Departs from the paper**: what the paper leaves open, a crash during the election. Each process passes on again what it
//!   has passed on, if the next one crashes before the outcome is known; who has it already lets it drop. A list that
//!   comes to somebody who is on it has gone round, and whoever that is announces the outcome: who began it, or the first
//!   one left behind it. Elections are ordered, by number and who began them, and the last one stands, so that two at
//!   once end the same everywhere. Of all who hear that the leader has crashed, its live predecessor begins the next one.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::convert::Infallible;

use quorate_core::election::{Command, Identifier, Misuse, Output};
use quorate_core::{
    Assumption, Belief, Cost, Effects, Kind, Layer, Message as CoreMessage, Process, ProcessId,
    ProcessSet, Profile, Property,
};

use super::common::{
    IDENTIFIER_BYTES, IdentifierList, KIND_BYTES, NUMBER_BYTES, OwnIdentifier, Ring,
};
use crate::{Algorithm, Setup, Shape, Sound};

/// One process of the ring.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ListRing {
    ring: Ring,
    own_identifier: OwnIdentifier,
    crashed: ProcessSet,
    /// The last election that each process is known to have begun.
    laps: BTreeMap<ProcessId, Lap>,
    /// The last of all outcomes.
    outcome: Option<Outcome>,
    /// The greatest number of an election so far.
    latest: u64,
}

/// An election: a number that its starter had not heard of, and the starter. Later ones are greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Call {
    number: u64,
    starter: ProcessId,
}

/// How far an election has come here.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Lap {
    number: u64,
    stage: Stage,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Stage {
    /// It has added itself and passed the list on.
    Listed(IdentifierList),
    /// It has passed on an outcome, announced so many steps behind the starter.
    Over(u64),
}

/// What an election has come to. If the starter crashes, others announce it in its place; who does so later counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Outcome {
    call: Call,
    /// How many steps behind the starter the one is who announces it.
    steps: u64,
    leader: Identifier,
}

/// What processes say to the next one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// Add yourself.
    Election {
        /// Which election.
        call: Call,
        /// Who is on the list.
        roll: IdentifierList,
    },
    /// It is over.
    Coordinator(Outcome),
}

impl ListRing {
    /// A process of n that stands with this identifier.
    pub fn new(n: usize, identifier: Identifier) -> Self {
        Self {
            ring: Ring { id: identifier.process, n },
            own_identifier: OwnIdentifier::new(identifier),
            crashed: ProcessSet::new(),
            laps: BTreeMap::new(),
            outcome: None,
            latest: 0,
        }
    }

    /// The next operational neighbour; oneself if there is no other.
    fn successor(&self) -> ProcessId {
        let mut next = self.ring.next();
        while next != self.ring.id && self.crashed.contains(next) {
            next = Ring { id: next, ..self.ring }.next();
        }
        next
    }

    /// How many steps it is from one process to another.
    fn steps(&self, from: ProcessId, to: ProcessId) -> u64 {
        ((to.index() + self.ring.n - from.index() % self.ring.n) % self.ring.n) as u64
    }

    /// Lists that have been passed on, of elections later than the last outcome.
    fn open(&self) -> impl Iterator<Item = (Call, &IdentifierList)> {
        let last = self.outcome.map(|outcome| outcome.call);
        self.laps.iter().filter_map(move |(&starter, lap)| {
            let call = Call { number: lap.number, starter };
            match &lap.stage {
                Stage::Listed(roll) if Some(call) > last => Some((call, roll)),
                _ => None,
            }
        })
    }

    fn takes_part(&self) -> bool {
        self.open().next().is_some()
    }

    fn begin(&mut self, out: &mut Effects<Self>) {
        let call = Call { number: self.latest.saturating_add(1), starter: self.ring.id };
        self.add_itself(call, &IdentifierList::default(), out);
    }

    /// Adds itself to the list and passes it on.
    fn add_itself(&mut self, call: Call, roll: &IdentifierList, out: &mut Effects<Self>) {
        // An election earlier than the last outcome changes nothing here, but goes its way.
        let counts = self.outcome.is_none_or(|last| call > last.call);
        if counts && !self.takes_part() {
            self.own_identifier.freeze();
            out.output(Output::Undecided);
        }
        self.latest = self.latest.max(call.number);
        let roll = roll.with(self.own_identifier.identifier());
        let lap = Lap { number: call.number, stage: Stage::Listed(roll.clone()) };
        self.laps.insert(call.starter, lap);
        self.pass_list(call, roll, out);
    }

    /// To the next one, or back to itself if nobody else is left.
    fn pass_list(&mut self, call: Call, roll: IdentifierList, out: &mut Effects<Self>) {
        match self.successor() {
            next if next == self.ring.id => self.announce(call, &roll, out),
            next => out.send(next, Message::Election { call, roll }),
        }
    }

    fn pass_outcome(&self, outcome: Outcome, out: &mut Effects<Self>) {
        let next = self.successor();
        if next != self.ring.id {
            out.send(next, Message::Coordinator(outcome));
        }
    }

    fn on_election(&mut self, call: Call, roll: &IdentifierList, out: &mut Effects<Self>) {
        match self.laps.get(&call.starter) {
            Some(lap) if lap.number > call.number => out.ignored("an election that is over"),
            Some(Lap { number, stage }) if *number == call.number => match stage {
                Stage::Listed(_) if roll.contains(self.ring.id) => self.announce(call, roll, out),
                Stage::Listed(_) => out.ignored("a list that was passed on already"),
                Stage::Over(_) => out.ignored("an election that is over"),
            },
            _ => self.add_itself(call, roll, out),
        }
    }

    /// The list has gone round: the greatest on it leads.
    fn announce(&mut self, call: Call, roll: &IdentifierList, out: &mut Effects<Self>) {
        let up = roll.iter().filter(|found| !self.crashed.contains(found.process));
        let leader = up.max().unwrap_or(self.own_identifier.identifier());
        let steps = self.steps(call.starter, self.ring.id);
        self.conclude(Outcome { call, steps, leader }, out);
    }

    fn on_outcome(&mut self, outcome: Outcome, out: &mut Effects<Self>) {
        let Call { number, starter } = outcome.call;
        let known = self.laps.get(&starter).is_some_and(|lap| {
            let over = matches!(lap.stage, Stage::Over(steps) if steps >= outcome.steps);
            lap.number > number || (lap.number == number && over)
        });
        if known {
            return out.ignored("an outcome that was passed on already");
        }
        self.conclude(outcome, out);
    }

    /// An outcome that is new here: passes it on, and takes it for its own unless there is a later one.
    fn conclude(&mut self, outcome: Outcome, out: &mut Effects<Self>) {
        let Call { number, starter } = outcome.call;
        self.latest = self.latest.max(number);
        self.laps.insert(starter, Lap { number, stage: Stage::Over(outcome.steps) });
        let later = self.outcome.is_none_or(|last| outcome > last);
        if later {
            self.outcome = Some(outcome);
        }
        // While a still later one is under way, nothing is decided.
        if later && !self.takes_part() {
            self.own_identifier.unfreeze();
            out.output(Output::Elected(outcome.leader));
        }
        self.pass_outcome(outcome, out);
        self.begin_if_leaderless(out);
    }

    /// If the leader has crashed, the one before it on the ring begins.
    fn begin_if_leaderless(&mut self, out: &mut Effects<Self>) {
        let Some(Outcome { leader, .. }) = self.outcome else { return };
        if !self.crashed.contains(leader.process) || self.takes_part() {
            return;
        }
        let next = match self.successor() {
            next if next == self.ring.id => self.ring.n as u64,
            next => self.steps(self.ring.id, next),
        };
        if self.steps(self.ring.id, leader.process) < next {
            self.begin(out);
        }
    }

    /// There is another neighbour: whatever may have been lost with the last one is passed on again.
    fn pass_again(&mut self, out: &mut Effects<Self>) {
        if let Some(outcome) = self.outcome {
            self.pass_outcome(outcome, out);
        }
        let open: Vec<(Call, IdentifierList)> =
            self.open().map(|(call, roll)| (call, roll.clone())).collect();
        for (call, roll) in open {
            self.pass_list(call, roll, out);
        }
    }
}

impl Process for ListRing {
    type Command = Command;
    type Message = Message;
    type Timer = Infallible;
    type Output = Output;
    type Misuse = Misuse;

    fn on_command(&mut self, command: Command, out: &mut Effects<Self>) -> Result<(), Misuse> {
        match command {
            Command::Elect if self.takes_part() => return Err(Misuse::UnderWay),
            Command::Elect => self.begin(out),
            Command::Identify(value) => self.own_identifier.identify(value),
        }
        Ok(())
    }

    fn on_message(&mut self, _: ProcessId, message: Message, out: &mut Effects<Self>) {
        match message {
            Message::Election { call, roll } => self.on_election(call, &roll, out),
            Message::Coordinator(outcome) => self.on_outcome(outcome, out),
        }
    }

    fn on_belief(&mut self, belief: Belief, out: &mut Effects<Self>) {
        let before = self.successor();
        match belief {
            Belief::Crashed(process) => self.crashed.insert(process),
            Belief::Alive(process) => self.crashed.remove(process),
        };
        if self.successor() != before {
            self.pass_again(out);
        }
        self.begin_if_leaderless(out);
    }

    fn on_recovery(&mut self, out: &mut Effects<Self>) {
        self.crashed.clear();
        self.begin(out);
    }
}

impl CoreMessage for Message {
    const KINDS: &'static [Kind] = &[Kind::election("ELECTION"), Kind::election("COORDINATOR")];

    fn kind(&self) -> usize {
        match self {
            Self::Election { .. } => 0,
            Self::Coordinator(_) => 1,
        }
    }

    fn bytes(&self) -> Option<u64> {
        let call = 2 * NUMBER_BYTES;
        Some(match self {
            Self::Election { roll, .. } => KIND_BYTES + call + roll.len() * IDENTIFIER_BYTES,
            Self::Coordinator(_) => KIND_BYTES + call + NUMBER_BYTES + IDENTIFIER_BYTES,
        })
    }

    fn forged(&self, choice: u64) -> Self {
        match self {
            Self::Election { call, roll } => {
                let forged = roll.iter().fold(IdentifierList::default(), |forged, found| {
                    forged.with(found.forged(choice))
                });
                Self::Election { call: *call, roll: forged }
            }
            Self::Coordinator(outcome) => {
                Self::Coordinator(Outcome { leader: outcome.leader.forged(choice), ..*outcome })
            }
        }
    }
}

impl Sound for ListRing {}

impl Algorithm for ListRing {
    const PROFILE: Profile = Profile {
        name: "list-ring",
        layer: Layer::Election,
        summary: "a list of identifiers goes round a ring, and then the greatest on it; survives crashes",
        source: "Tanenbaum, Distributed Systems; lecture notes on leader election",
        specimen: None,
        assumes: &[
            Assumption::NoLoss,
            Assumption::CrashStop,
            Assumption::PerfectDetector,
            Assumption::Honesty,
        ],
        guarantees: &[Property::E1, Property::E2],
        cost: "2n messages for each that begins, 8n(n + 1) + 58n bytes",
        never_quiescent: false,
    };

    const SHAPE: Shape = Shape::Ring;

    fn build(setup: &Setup, id: ProcessId) -> Self {
        Self::new(setup.n, setup.identifier(id))
    }

    fn cost(setup: &Setup) -> Cost {
        let n = setup.n as u64;
        if n == 1 {
            return Cost::exact("0", 0);
        }
        Cost::exact("2n", 2 * n).with_delays(n..=n, 0..=0)
    }
}
