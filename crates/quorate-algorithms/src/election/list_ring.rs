//! Ring election with a list of identifiers: a list travels round the ring and every process adds itself. When it has
//! returned, the greatest identifier on it is announced in another lap.
//!
//! - **Source**: the ring algorithm of Tanenbaum, "Distributed Systems", as in lecture notes on leader election.
//! - **Assumes**: a ring in the order of the processes, which all know; links that lose nothing, in any order; a
//!   perfect detector, which determines the next operational neighbour; crashed processes do not recover.
//! - **Guarantees**: E1 and E2, with crashes of any process at any moment, including the starter of the election.
//! - **Costs**: 2n messages for each starter, because simultaneous elections are independent. The k-th ELECTION of a
//!   lap has k identifiers: 17 + 16k bytes, 17n + 8n(n + 1) for the lap, and 41n for COORDINATOR. A leader's crash
//!   costs the m survivors 2m messages.
//! - **Departs from the paper**: it handles crashes during the election, which the paper leaves open. If the next
//!   process crashes before the outcome is known, a process resends the messages that it has passed on; receivers drop
//!   duplicates. A list that reaches a process on it has gone round, and that process announces the outcome: the
//!   starter, or the first live process behind it. Elections are ordered by number and starter, and the last one
//!   counts, so that two simultaneous elections end the same everywhere. Of all processes that learn of the leader's
//!   crash, its live predecessor begins the next election.

use alloc::vec::Vec;
use core::convert::Infallible;
use core::fmt::Debug;
use core::hash::Hash;
use core::marker::PhantomData;

use quorate_core::election::{Command, Identifier, Misuse, Output};
use quorate_core::{
    Assumption, Belief, Cost, Effects, Kind, Layer, Message as CoreMessage, Process, ProcessId,
    ProcessSet, Profile, Property, SortedMap,
};

use super::common::{
    IDENTIFIER_BYTES, IdentifierList, KIND_BYTES, NUMBER_BYTES, OwnIdentifier, Ring,
};
use crate::literature::{ElectionCosts, IN_ANY_ORDER, Prediction, Starters};
use crate::{Algorithm, Setup, Shape, Sound};

/// One process of the ring.
pub type ListRing = ListElection<AroundTheRing>;

/// How the outcome of an election is announced, and the cost of that.
pub trait Announcement: Clone + Eq + Hash + Debug + Send + Sync {
    /// The profile of the algorithm with these announcements.
    const PROFILE: Profile;

    /// Whether the announcing process informs all others itself. Otherwise each process informs the next one.
    const IS_DIRECT: bool;

    /// The formulas for messages.
    const ELECTION_COSTS: &'static [ElectionCosts];

    /// The cost of an election among `n` > 1 processes.
    fn cost(n: u64) -> Cost;
}

/// The outcome travels round the ring, as the list did.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct AroundTheRing;

/// A process of the ring that announces outcomes by rule `A`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ListElection<A> {
    ring: Ring,
    own_identifier: OwnIdentifier,
    crashed: ProcessSet,
    /// The last election that each process is known to have begun.
    laps: SortedMap<ProcessId, Lap>,
    /// The outcome of the latest election that is over.
    outcome: Option<Outcome>,
    /// The greatest election number seen so far.
    latest: u64,
    rule: PhantomData<A>,
}

/// An election, identified by its starter and a number that was new to the starter. Later elections are greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Call {
    number: u64,
    starter: ProcessId,
}

/// The progress of an election at this process.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Lap {
    number: u64,
    stage: Stage,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Stage {
    /// This process has added itself and passed the list on.
    Listed(IdentifierList),
    /// This process has passed on an outcome that was announced this many steps behind the starter.
    Over(u64),
}

/// The outcome of an election. If the starter crashes, another process announces it; the announcer furthest
/// behind the starter counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Outcome {
    call: Call,
    /// Number of steps from the starter to the announcing process.
    steps: u64,
    leader: Identifier,
}

/// The messages. A list is sent to the next operational process on the ring.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// Asks the receiver to add itself to the list.
    Election {
        /// The election that the list belongs to.
        call: Call,
        /// The identifiers collected so far.
        roll: IdentifierList,
    },
    /// The election is over, with this outcome.
    Coordinator(Outcome),
}

impl<A: Announcement> ListElection<A> {
    /// Creates a process among `n` that stands with this identifier.
    pub fn new(n: usize, identifier: Identifier) -> Self {
        Self {
            ring: Ring { id: identifier.process, n },
            own_identifier: OwnIdentifier::new(identifier),
            crashed: ProcessSet::new(),
            laps: SortedMap::new(),
            outcome: None,
            latest: 0,
            rule: PhantomData,
        }
    }

    /// The next operational neighbour, or this process itself if there is no other.
    fn successor(&self) -> ProcessId {
        let mut next = self.ring.next();
        while next != self.ring.id && self.crashed.contains(next) {
            next = Ring { id: next, ..self.ring }.next();
        }
        next
    }

    /// Number of steps on the ring from one process to another.
    fn steps(&self, from: ProcessId, to: ProcessId) -> u64 {
        ((to.index() + self.ring.n - from.index() % self.ring.n) % self.ring.n) as u64
    }

    /// The lists that this process has passed on, of elections later than the last outcome.
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

    /// Adds this process to the list and passes the list on.
    fn add_itself(&mut self, call: Call, roll: &IdentifierList, out: &mut Effects<Self>) {
        // An election earlier than the last outcome changes nothing here, but its list travels on.
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

    /// Passes the list to the next process, or announces the outcome if no other process is left.
    fn pass_list(&mut self, call: Call, roll: IdentifierList, out: &mut Effects<Self>) {
        match self.successor() {
            next if next == self.ring.id => self.announce(call, &roll, out),
            next => out.send(next, Message::Election { call, roll }),
        }
    }

    /// The process that announced an outcome.
    fn announcer(&self, outcome: Outcome) -> ProcessId {
        let starter = outcome.call.starter.index() as u64;
        ProcessId::from_index((starter.wrapping_add(outcome.steps) % self.ring.n as u64) as usize)
    }

    /// Informs the processes that may depend on this one: the next one; or all, if this process announces the outcome or the
    /// process that did has crashed, perhaps before it had informed all.
    fn pass_outcome(&self, outcome: Outcome, out: &mut Effects<Self>) {
        if A::IS_DIRECT {
            let announcer = self.announcer(outcome);
            let others = &ProcessSet::others(self.ring.n, self.ring.id) - &self.crashed;
            let informs = announcer == self.ring.id || self.crashed.contains(announcer);
            if informs && !others.is_empty() {
                out.multicast(others, Message::Coordinator(outcome));
            }
            return;
        }
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

    /// Announces the outcome when the list has gone round: the greatest identifier on it leads.
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

    /// Handles an outcome that is new here: passes it on, and adopts it unless a later one is known.
    fn conclude(&mut self, outcome: Outcome, out: &mut Effects<Self>) {
        let Call { number, starter } = outcome.call;
        self.latest = self.latest.max(number);
        self.laps.insert(starter, Lap { number, stage: Stage::Over(outcome.steps) });
        let later = self.outcome.is_none_or(|last| outcome > last);
        if later {
            self.outcome = Some(outcome);
        }
        // While a later election is in progress, nothing is decided.
        if later && !self.takes_part() {
            self.own_identifier.unfreeze();
            out.output(Output::Elected(outcome.leader));
        }
        self.pass_outcome(outcome, out);
        self.begin_if_leaderless(out);
    }

    /// Begins an election if the leader has crashed and this process is its live predecessor on the ring.
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

    /// Resends to a new neighbour everything that may have been lost with the previous one.
    fn pass_again(&mut self, out: &mut Effects<Self>) {
        if let Some(outcome) = self.outcome.filter(|_| !A::IS_DIRECT) {
            self.pass_outcome(outcome, out);
        }
        let open: Vec<(Call, IdentifierList)> =
            self.open().map(|(call, roll)| (call, roll.clone())).collect();
        for (call, roll) in open {
            self.pass_list(call, roll, out);
        }
    }
}

impl<A: Announcement> Process for ListElection<A> {
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
        if let (Belief::Crashed(process), Some(outcome)) = (belief, self.outcome)
            && A::IS_DIRECT
            && self.announcer(outcome) == process
        {
            self.pass_outcome(outcome, out);
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

impl Announcement for AroundTheRing {
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
        cost: "2n messages for each starter, 8n(n + 1) + 58n bytes",
        never_quiescent: false,
    };

    const IS_DIRECT: bool = false;

    const ELECTION_COSTS: &'static [ElectionCosts] = &[ElectionCosts {
        rank_delay: false,
        cases: IN_ANY_ORDER,
        messages: |starters, _, n| {
            let n = n as f64;
            Some(match starters {
                Starters::One => Prediction::exact("2n", 2.0 * n),
                Starters::All => Prediction::exact("2n^2", 2.0 * n * n),
            })
        },
        rule: None,
        stores_lists: true,
    }];

    fn cost(n: u64) -> Cost {
        Cost::exact("2n", 2 * n).with_delays(n..=n, 0..=0)
    }
}

impl<A: Announcement> Sound for ListElection<A> {}

impl<A: Announcement> Algorithm for ListElection<A> {
    const PROFILE: Profile = A::PROFILE;

    const ELECTION_COSTS: &'static [ElectionCosts] = A::ELECTION_COSTS;

    const SHAPE: Shape = Shape::Ring;

    fn build(setup: &Setup, id: ProcessId) -> Self {
        Self::new(setup.n, setup.identifier(id))
    }

    fn cost(setup: &Setup) -> Cost {
        match setup.n {
            1 => Cost::exact("0", 0),
            n => A::cost(n as u64),
        }
    }
}
