//! Paxos for a single decision: a proposer asks a majority of acceptors for promises, and proposes the value that they
//! have accepted with the highest ballot, or its own.
//!
//! - **Source**: Lamport, "The Part-Time Parliament", ACM TOCS 16(2), 1998, and "Paxos Made Simple", ACM SIGACT News
//!   32(4), 2001.
//! - **Assumes**: fewer than half of the processes crash, n > 2f; a crashed process may recover if it remembers its state;
//!   links that lose nothing, in any order; a detector that eventually reports every crash. It may suspect other
//!   processes for a while, as long as from some moment on at least one live process is suspected by no process.
//! - **Guarantees**: agreement and validity regardless of the detector; termination once it stops suspecting wrongly.
//! - **Costs**: 5(n - 1) messages if no process is suspected: n - 1 of each of PREPARE, PROMISE, ACCEPT, ACCEPTED and
//!   DECIDED; four message delays until the proposer decides, five for the others.
//! - **Departs from the paper**: the paper leaves open which proposer acts. Here ballot b belongs to process b mod n, ballot 0
//!   to p0. A process that suspects the owner of its ballot raises the ballot to the next one whose owner it does not suspect,
//!   and sends RAISE to that owner. So ballots grow only by suspicions, and two proposers do not overtake each other forever.
//!   An acceptor sends ACCEPTED to the owner alone, which informs the others; the paper names this option. A process that has
//!   decided and suspects any process repeats DECIDED, in case that the owner crashed while it sent it. A process answers
//!   itself without a message.
//!
//! ```text
//!   owner of ballot b:   Idle --PREPARE b--> Preparing --a majority of PROMISE--> Accepting --a majority of ACCEPTED--> decided
//!                          ^                     |            ACCEPT b, v             |
//!                          +------ promises a ballot above b ------------------------+
//! ```
//!
//! Safety argument: if a majority has accepted v with ballot b, any majority of promises for a higher ballot contains a
//! process that reports v with ballot b or a later one. By induction all later ballots propose v.
//!
//! Liveness argument: let b be the highest ballot that a correct process knows. If its owner crashes, that process suspects it
//! and raises b. Otherwise RAISE reaches the owner, whose PREPARE reaches all, and no acceptor promises more. An owner that was
//! down when RAISE arrived sends its own ballot when it recovers, and receives the higher one in return.

use core::convert::Infallible;
use core::fmt::Debug;
use core::hash::Hash;
use core::marker::PhantomData;

use quorate_core::agreement::{Command, Decision, Misuse, Output, Value};
use quorate_core::{
    Assumption, Belief, Cost, Effects, Kind, Layer, Process, ProcessId, ProcessSet, Profile,
    Property,
};

use crate::{Algorithm, Setup, Sound};

/// One process of Paxos.
pub type Paxos = SingleDecree<HighestAccepted>;

/// The rule by which a proposer chooses its value. The algorithm and its broken variant differ in it.
pub trait ChoiceRule: Clone + Eq + Hash + Debug + Send + Sync {
    /// The profile of the algorithm with this rule.
    const PROFILE: Profile;

    /// The value to propose, given the proposer's own and the one accepted with the highest ballot among the promises.
    fn choose(own: Value, highest: Option<Value>) -> Value;
}

/// The rule of the paper: the value accepted with the highest ballot, or any value if there is none.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct HighestAccepted;

/// The number of a ballot. Ballot b belongs to process b mod n.
type Ballot = u64;

/// A process that is proposer, acceptor and learner at the same time.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SingleDecree<R> {
    id: ProcessId,
    n: usize,
    suspected: ProcessSet,
    /// The proposal of this process's user.
    own: Option<Value>,
    /// The highest ballot that this process knows of. It waits for the owner of this ballot.
    ballot: Ballot,
    attempt: Attempt,
    /// Acceptor: it accepts nothing below this ballot.
    promised: Option<Ballot>,
    accepted: Option<Proposal>,
    decided: Option<Value>,
    /// Whether it has sent the decision to all, after a suspicion.
    relayed: bool,
    rule: PhantomData<R>,
}

/// A value, and the ballot in which it was proposed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Proposal {
    ballot: Ballot,
    value: Value,
}

/// The ballot that this process conducts.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Attempt {
    Idle,
    /// Collects promises, and remembers the proposal accepted with the highest ballot among them.
    Preparing {
        ballot: Ballot,
        own: Value,
        promises: ProcessSet,
        highest: Option<Proposal>,
    },
    /// Has proposed a value and counts the acceptors.
    Accepting {
        proposal: Proposal,
        acceptors: ProcessSet,
    },
}

impl Attempt {
    const fn ballot(&self) -> Option<Ballot> {
        match self {
            Self::Idle => None,
            Self::Preparing { ballot, .. } => Some(*ballot),
            Self::Accepting { proposal, .. } => Some(proposal.ballot),
        }
    }
}

/// The messages of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// From the owner of the ballot: asks for the promise not to take part in lower ballots.
    Prepare(Ballot),
    /// The promise, with the proposal that the sender has accepted with the highest ballot.
    Promise(Ballot, Option<Proposal>),
    /// From the owner of the ballot: asks to accept the value.
    Accept(Proposal),
    /// The sender has accepted the value of this ballot.
    Accepted(Ballot),
    /// The value is decided.
    Decided(Value),
    /// The highest ballot that the sender knows of. The owner of the ballot begins it.
    Raise(Ballot),
}

impl<R: ChoiceRule> SingleDecree<R> {
    /// Creates process `id` of `n`.
    pub fn new(n: usize, id: ProcessId) -> Self {
        Self {
            id,
            n,
            suspected: ProcessSet::new(),
            own: None,
            ballot: 0,
            attempt: Attempt::Idle,
            promised: None,
            accepted: None,
            decided: None,
            relayed: false,
            rule: PhantomData,
        }
    }

    fn majority(&self) -> usize {
        self.n / 2 + 1
    }

    fn owner(&self, ballot: Ballot) -> ProcessId {
        ProcessId::from_index((ballot % self.n as u64) as usize)
    }

    /// Learns of a ballot, raises it if its owner is suspected, and begins it if this process is the owner.
    fn advance(&mut self, known: Ballot, out: &mut Effects<Self>) {
        self.ballot = self.ballot.max(known);
        if self.decided.is_some() {
            return;
        }
        if self.suspected.contains(self.owner(self.ballot)) {
            self.raise(out);
        }
        if self.owner(self.ballot) == self.id && self.promised < Some(self.ballot) {
            self.prepare(out);
        }
    }

    /// Raises the ballot to the next one whose owner is not suspected, and tells the owner.
    fn raise(&mut self, out: &mut Effects<Self>) {
        let next = (1..=self.n as u64).map(|step| self.ballot.saturating_add(step));
        let trusted = |ballot: &Ballot| !self.suspected.contains(self.owner(*ballot));
        let Some(next) = { next }.find(trusted) else { return };
        self.ballot = next;
        let owner = self.owner(next);
        if owner != self.id {
            out.send(owner, Message::Raise(next));
        }
    }

    /// Phase 1 of the paper, once the user has proposed a value.
    fn prepare(&mut self, out: &mut Effects<Self>) {
        let Some(own) = self.own else { return };
        let ballot = self.ballot;
        self.promised = Some(ballot);
        self.attempt = Attempt::Preparing {
            ballot,
            own,
            promises: ProcessSet::from_iter([self.id]),
            highest: self.accepted,
        };
        out.send_to_others(Message::Prepare(ballot));
        self.propose_if_promised(out);
    }

    /// Phase 2 of the paper, once a majority has promised.
    fn propose_if_promised(&mut self, out: &mut Effects<Self>) {
        let Attempt::Preparing { ballot, own, promises, highest } = &self.attempt else { return };
        if promises.len() < self.majority() {
            return;
        }
        let value = R::choose(*own, highest.map(|highest| highest.value));
        let proposal = Proposal { ballot: *ballot, value };
        self.accepted = Some(proposal);
        self.attempt = Attempt::Accepting { proposal, acceptors: ProcessSet::from_iter([self.id]) };
        out.send_to_others(Message::Accept(proposal));
        self.conclude_if_accepted(out);
    }

    fn conclude_if_accepted(&mut self, out: &mut Effects<Self>) {
        let Attempt::Accepting { proposal, acceptors } = &self.attempt else { return };
        if acceptors.len() >= self.majority() {
            let value = proposal.value;
            self.decide(value, out);
            out.send_to_others(Message::Decided(value));
            self.relayed = true;
        }
    }

    fn decide(&mut self, value: Value, out: &mut Effects<Self>) {
        if self.decided.is_some() {
            return;
        }
        self.decided = Some(value);
        self.attempt = Attempt::Idle;
        out.output(Output::Decided(Decision::Value(value)));
    }

    /// Repeats the decision to all, once, if some process is suspected. It may be the only one that knew the decision.
    fn relay_if_suspicious(&mut self, out: &mut Effects<Self>) {
        let Some(value) = self.decided.filter(|_| !self.relayed) else { return };
        if !self.suspected.is_empty() {
            self.relayed = true;
            out.send_to_others(Message::Decided(value));
        }
    }

    /// Promises a ballot, unless a higher one was promised. An own lower ballot is abandoned.
    fn promise(&mut self, ballot: Ballot) -> bool {
        if self.promised > Some(ballot) {
            return false;
        }
        self.promised = Some(ballot);
        if self.attempt.ballot().is_some_and(|own| own < ballot) {
            self.attempt = Attempt::Idle;
        }
        true
    }

    /// Acceptor: a process that has decided answers like any other, so that a later ballot finds its value.
    fn on_prepare(&mut self, from: ProcessId, ballot: Ballot, out: &mut Effects<Self>) {
        if self.promise(ballot) {
            out.send(from, Message::Promise(ballot, self.accepted));
        } else {
            self.refuse(from, out);
        }
        self.advance(ballot, out);
    }

    fn on_accept(&mut self, from: ProcessId, proposal: Proposal, out: &mut Effects<Self>) {
        if self.promise(proposal.ballot) {
            self.accepted = Some(proposal);
            out.send(from, Message::Accepted(proposal.ballot));
        } else {
            self.refuse(from, out);
        }
        self.advance(proposal.ballot, out);
    }

    fn refuse(&self, from: ProcessId, out: &mut Effects<Self>) {
        match self.decided {
            Some(value) => out.send(from, Message::Decided(value)),
            None => out.ignored("a ballot below the promise"),
        }
    }

    fn on_promise(
        &mut self,
        from: ProcessId,
        of: Ballot,
        accepted: Option<Proposal>,
        out: &mut Effects<Self>,
    ) {
        match &mut self.attempt {
            Attempt::Preparing { ballot, promises, highest, .. } if *ballot == of => {
                promises.insert(from);
                let is_higher = |new: &Proposal| highest.is_none_or(|old| old.ballot < new.ballot);
                if let Some(higher) = accepted.filter(is_higher) {
                    *highest = Some(higher);
                }
                self.propose_if_promised(out);
            }
            _ => out.ignored("a promise that is not needed"),
        }
    }

    fn on_accepted(&mut self, from: ProcessId, of: Ballot, out: &mut Effects<Self>) {
        match &mut self.attempt {
            Attempt::Accepting { proposal, acceptors } if proposal.ballot == of => {
                acceptors.insert(from);
                self.conclude_if_accepted(out);
            }
            _ => out.ignored("an acceptance that is not needed"),
        }
    }

    fn on_raise(&mut self, from: ProcessId, ballot: Ballot, out: &mut Effects<Self>) {
        match self.decided {
            Some(value) => out.send(from, Message::Decided(value)),
            None if ballot < self.ballot => out.send(from, Message::Raise(self.ballot)),
            None => self.advance(ballot, out),
        }
    }
}

impl<R: ChoiceRule> Process for SingleDecree<R> {
    type Command = Command;
    type Message = Message;
    type Timer = Infallible;
    type Output = Output;
    type Misuse = Misuse;

    fn on_command(
        &mut self,
        Command::Propose(value): Command,
        out: &mut Effects<Self>,
    ) -> Result<(), Misuse> {
        if self.own.is_some() {
            return Err(Misuse::AlreadyProposed);
        }
        self.own = Some(value);
        self.advance(self.ballot, out);
        Ok(())
    }

    fn on_message(&mut self, from: ProcessId, message: Message, out: &mut Effects<Self>) {
        match message {
            Message::Prepare(ballot) | Message::Accept(Proposal { ballot, .. })
                if from != self.owner(ballot) =>
            {
                out.ignored("a ballot of another process");
            }
            Message::Prepare(ballot) => self.on_prepare(from, ballot, out),
            Message::Promise(ballot, accepted) => self.on_promise(from, ballot, accepted, out),
            Message::Accept(proposal) => self.on_accept(from, proposal, out),
            Message::Accepted(ballot) => self.on_accepted(from, ballot, out),
            Message::Decided(value) => {
                self.decide(value, out);
                self.relay_if_suspicious(out);
            }
            Message::Raise(ballot) => self.on_raise(from, ballot, out),
        }
    }

    fn on_belief(&mut self, belief: Belief, out: &mut Effects<Self>) {
        match belief {
            Belief::Crashed(process) => {
                self.suspected.insert(process);
                self.relay_if_suspicious(out);
                self.advance(self.ballot, out);
            }
            Belief::Alive(process) => {
                self.suspected.remove(process);
            }
        }
    }

    /// Repeats the messages whose answers may have been lost, and asks for those that may have been missed.
    fn on_recovery(&mut self, out: &mut Effects<Self>) {
        if let Some(value) = self.decided {
            return out.send_to_others(Message::Decided(value));
        }
        out.send_to_others(Message::Raise(self.ballot));
        match self.attempt {
            Attempt::Idle => {}
            Attempt::Preparing { ballot, .. } => out.send_to_others(Message::Prepare(ballot)),
            Attempt::Accepting { proposal, .. } => out.send_to_others(Message::Accept(proposal)),
        }
    }

    fn waits_for(&self) -> ProcessSet {
        let owner = self.owner(self.ballot);
        match &self.attempt {
            _ if self.decided.is_some() => ProcessSet::new(),
            _ if owner != self.id => ProcessSet::from_iter([owner]),
            Attempt::Idle => ProcessSet::new(),
            // It waits for a majority of these.
            Attempt::Preparing { promises: heard, .. }
            | Attempt::Accepting { acceptors: heard, .. } => &ProcessSet::all(self.n) - heard,
        }
    }
}

impl quorate_core::Message for Message {
    const KINDS: &'static [Kind] = &[
        Kind::agreement("PREPARE"),
        Kind::agreement("PROMISE"),
        Kind::agreement("ACCEPT"),
        Kind::agreement("ACCEPTED"),
        Kind::agreement("DECIDED"),
        Kind::agreement("RAISE"),
    ];

    fn kind(&self) -> usize {
        match self {
            Self::Prepare(_) => 0,
            Self::Promise(..) => 1,
            Self::Accept(_) => 2,
            Self::Accepted(_) => 3,
            Self::Decided(_) => 4,
            Self::Raise(_) => 5,
        }
    }

    fn bytes(&self) -> Option<u64> {
        Some(match self {
            Self::Prepare(_) | Self::Accepted(_) | Self::Decided(_) | Self::Raise(_) => 9,
            Self::Promise(_, None) => 10,
            Self::Promise(_, Some(_)) => 26,
            Self::Accept(_) => 17,
        })
    }

    /// A lying process changes the value, or conceals the proposal that it has accepted.
    fn forged(&self, choice: u64) -> Self {
        match *self {
            Self::Promise(ballot, _) if choice & 1 == 1 => Self::Promise(ballot, None),
            Self::Accept(Proposal { ballot, value }) => {
                Self::Accept(Proposal { ballot, value: value.forged(choice) })
            }
            Self::Decided(value) => Self::Decided(value.forged(choice)),
            other => other,
        }
    }
}

impl<R: ChoiceRule> Algorithm for SingleDecree<R> {
    const PROFILE: Profile = R::PROFILE;

    fn tolerates(n: usize) -> Option<usize> {
        Some((n - 1) / 2)
    }

    fn build(setup: &Setup, id: ProcessId) -> Self {
        Self::new(setup.n, id)
    }

    fn cost(setup: &Setup) -> Cost {
        let others = setup.n as u64 - 1;
        Cost::exact("5(n - 1)", 5 * others)
            .with_delays(4..=5, 0..=0)
            .without_delays_if_single(setup.n)
    }
}

/// The assumptions of Paxos.
pub(super) const ASSUMES: &[Assumption] = &[
    Assumption::NoLoss,
    Assumption::FewCrashes,
    Assumption::LessThanAHalf,
    Assumption::Memory,
    Assumption::EventualDetector,
    Assumption::Honesty,
];

impl ChoiceRule for HighestAccepted {
    const PROFILE: Profile = Profile {
        name: "paxos",
        layer: Layer::Agreement,
        summary: "a majority promises; its value accepted with the highest ballot is proposed again",
        source: "Lamport, ACM TOCS 16(2), 1998; SIGACT News 32(4), 2001",
        specimen: None,
        assumes: ASSUMES,
        guarantees: &[Property::Agreement, Property::Validity, Property::Termination],
        cost: "5(n - 1) messages if no process is suspected",
        never_quiescent: false,
    };

    fn choose(own: Value, highest: Option<Value>) -> Value {
        highest.unwrap_or(own)
    }
}

impl Sound for Paxos {}
