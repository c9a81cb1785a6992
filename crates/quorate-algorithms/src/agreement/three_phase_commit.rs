//! Three-phase commit: before the coordinator commits, every live process knows that all have voted for the transaction. So the
//! processes that are left can decide, whichever of them crash.
//!
//! - **Source**: Skeen, "Nonblocking Commit Protocols", SIGMOD 1981; the termination protocol is that of Bernstein, Hadzilacos
//!   and Goodman, "Concurrency Control and Recovery in Database Systems", 1987, section 7.5.
//! - **Assumes**: any process may crash, the coordinator included, and does not recover; a perfect detector; links that lose
//!   nothing, so that the network is never partitioned. Any order; duplicates are tolerated.
//! - **Guarantees**: agreement, validity (commits only if all voted for it) and termination, with up to n - 1 crashes.
//! - **Costs**: 5(n - 1) messages to commit: PREPARE, YES, PRECOMMIT, ACK and COMMIT; five message delays. Fewer to abort.
//! - **Departs from the paper**: a detector reports crashes in place of timeouts. The next coordinator is the least process that
//!   has not crashed, without an election, because a perfect detector leads all processes to the same one. A process ignores
//!   the PRECOMMIT of a coordinator that it knows to have been replaced: such a message may still be in flight. Recovery of
//!   crashed processes is left out.
//!
//! ```text
//!   Initial --PREPARE, for--> Uncertain --PRECOMMIT--> Precommitted --COMMIT--> committed
//!      |                          |                          |
//!      | against, or the          | the coordinator crashes: the next one asks all live processes for their states
//!      v coordinator crashes      v                          v
//!   aborted                    all Uncertain: ABORT       one Precommitted: PRECOMMIT to the others, then COMMIT
//! ```
//!
//! Safety argument: a coordinator commits only if every live process is Precommitted, and aborts only if none is. So whatever it
//! decided before it crashed, the states of the live processes lead the next coordinator to the same decision.

use core::convert::Infallible;

use quorate_core::agreement::{AgreementKind, Command, Decision, Misuse, Output, Value};
use quorate_core::{
    Assumption, Belief, Cost, Effects, Kind, Layer, Process, ProcessId, ProcessSet, Profile,
    Property,
};

use crate::{Algorithm, Setup, Shape, Sound};

/// One process of three-phase commit.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ThreePhaseCommit {
    id: ProcessId,
    n: usize,
    /// The process that began as coordinator.
    first: ProcessId,
    /// The last coordinator that this process knows of.
    coordinator: ProcessId,
    crashed: ProcessSet,
    /// The vote of this process's user.
    vote: Option<Value>,
    /// Whether PREPARE has arrived.
    asked: bool,
    state: CommitState,
    duty: Duty,
}

/// The state of a process in the transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum CommitState {
    /// Has not voted and is free to abort.
    Initial,
    /// Has voted YES, and does not know whether all others have.
    Uncertain,
    /// Knows that all processes have voted YES.
    Precommitted,
    Decided(Value),
}

/// The answers that a coordinator collects.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Duty {
    /// Is not the coordinator, or has nothing left to do.
    None,
    /// Waits for the votes of these processes.
    Votes(ProcessSet),
    /// After a crash: waits for the states of these processes. `uncertain` are those that answered so far and are not
    /// precommitted.
    States { missing: ProcessSet, uncertain: ProcessSet },
    /// Waits until these processes are precommitted.
    Acks(ProcessSet),
}

/// The messages of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// From the coordinator: asks for the vote.
    Prepare,
    /// The sender votes for the transaction and gives up the right to abort.
    Yes,
    /// The sender votes against the transaction.
    No,
    /// From the coordinator: all processes have voted for the transaction.
    Precommit,
    /// The sender knows that all have voted for the transaction.
    Ack,
    /// The transaction is committed.
    Commit,
    /// The transaction is aborted.
    Abort,
    /// From a new coordinator: asks for the state.
    Ask,
    /// The sender has voted YES and knows nothing more.
    Uncertain,
}

impl ThreePhaseCommit {
    /// Creates process `id` of `n`, in a transaction of this coordinator.
    pub fn new(n: usize, id: ProcessId, coordinator: ProcessId) -> Self {
        Self {
            id,
            n,
            first: coordinator,
            coordinator,
            crashed: ProcessSet::new(),
            vote: None,
            asked: false,
            state: CommitState::Initial,
            duty: Duty::None,
        }
    }

    fn live_others(&self) -> ProcessSet {
        &ProcessSet::others(self.n, self.id) - &self.crashed
    }

    /// Coordinators follow one another in this order: the first, then the others by number.
    fn rank(&self, process: ProcessId) -> usize {
        if process == self.first { 0 } else { process.index() + 1 }
    }

    /// Participant: votes, once PREPARE has arrived and the user has chosen a vote.
    fn answer(&mut self, out: &mut Effects<Self>) {
        let ready = self.asked && self.state == CommitState::Initial;
        let Some(vote) = self.vote.filter(|_| ready) else { return };
        if vote == Value::COMMIT {
            self.state = CommitState::Uncertain;
            out.send(self.first, Message::Yes);
        } else {
            out.send(self.first, Message::No);
            self.decide(Value::ABORT, out);
        }
    }

    /// First coordinator: asks all processes for their votes, or aborts immediately.
    fn begin(&mut self, vote: Value, out: &mut Effects<Self>) {
        if self.state != CommitState::Initial {
            return;
        }
        if vote != Value::COMMIT || !self.crashed.is_empty() {
            return self.conclude(Value::ABORT, out);
        }
        self.state = CommitState::Uncertain;
        out.send_to_others(Message::Prepare);
        self.duty = Duty::Votes(ProcessSet::others(self.n, self.id));
        self.advance(out);
    }

    /// Coordinator: begins the next phase once no answer is missing.
    fn advance(&mut self, out: &mut Effects<Self>) {
        match &self.duty {
            Duty::Votes(missing) if missing.is_empty() => self.precommit(self.live_others(), out),
            Duty::States { missing, uncertain } if missing.is_empty() => {
                if self.state == CommitState::Precommitted {
                    self.precommit(uncertain - &self.crashed, out);
                } else {
                    self.conclude(Value::ABORT, out);
                }
            }
            Duty::Acks(missing) if missing.is_empty() => self.conclude(Value::COMMIT, out),
            _ => {}
        }
    }

    /// Coordinator: tells these processes that all have voted for the transaction.
    fn precommit(&mut self, ignorant: ProcessSet, out: &mut Effects<Self>) {
        self.state = CommitState::Precommitted;
        if !ignorant.is_empty() {
            out.multicast(ignorant.clone(), Message::Precommit);
        }
        self.duty = Duty::Acks(ignorant);
        self.advance(out);
    }

    /// Coordinator: decides for all.
    fn conclude(&mut self, decision: Value, out: &mut Effects<Self>) {
        self.decide(decision, out);
        out.multicast(self.live_others(), verdict(decision));
    }

    fn decide(&mut self, decision: Value, out: &mut Effects<Self>) {
        if matches!(self.state, CommitState::Decided(_)) {
            return;
        }
        self.state = CommitState::Decided(decision);
        self.duty = Duty::None;
        out.output(Output::Decided(Decision::Value(decision)));
    }

    /// New coordinator: passes its decision on, or asks for the states of the others.
    fn take_over(&mut self, out: &mut Effects<Self>) {
        let others = self.live_others();
        match self.state {
            CommitState::Decided(decision) => out.multicast(others, verdict(decision)),
            _ => {
                if !others.is_empty() {
                    out.multicast(others.clone(), Message::Ask);
                }
                self.duty = Duty::States { missing: others, uncertain: ProcessSet::new() };
                self.advance(out);
            }
        }
    }

    /// Whether a message comes from a coordinator that has not been replaced. If so, it is the coordinator from now on. A message
    /// of a crashed coordinator may still be in flight, and needs no answer.
    fn follows(&mut self, coordinator: ProcessId) -> bool {
        let is_last = self.rank(coordinator) >= self.rank(self.coordinator);
        let follows = is_last && !self.crashed.contains(coordinator);
        if follows {
            self.coordinator = coordinator;
        }
        follows
    }

    fn on_vote(&mut self, from: ProcessId, vote: Value, out: &mut Effects<Self>) {
        let Duty::Votes(missing) = &mut self.duty else {
            return out.ignored("a vote that changes nothing");
        };
        missing.remove(from);
        if vote == Value::COMMIT {
            return self.advance(out);
        }
        // The process that voted NO has aborted already.
        self.decide(Value::ABORT, out);
        let mut others = self.live_others();
        others.remove(from);
        out.multicast(others, Message::Abort);
    }

    fn on_precommit(&mut self, from: ProcessId, out: &mut Effects<Self>) {
        if !self.follows(from) {
            return out.ignored("a coordinator that has been replaced");
        }
        match self.state {
            CommitState::Initial => out.ignored("a precommitment without a vote"),
            CommitState::Uncertain | CommitState::Precommitted => {
                self.state = CommitState::Precommitted;
                out.send(from, Message::Ack);
            }
            CommitState::Decided(decision) => out.send(from, verdict(decision)),
        }
    }

    fn on_ask(&mut self, from: ProcessId, out: &mut Effects<Self>) {
        if !self.follows(from) {
            return out.ignored("a coordinator that has been replaced");
        }
        if self.state == CommitState::Initial {
            self.decide(Value::ABORT, out);
        }
        let reply = match self.state {
            CommitState::Initial | CommitState::Uncertain => Message::Uncertain,
            CommitState::Precommitted => Message::Ack,
            CommitState::Decided(decision) => verdict(decision),
        };
        out.send(from, reply);
    }

    /// The answer of a process that is uncertain or precommitted.
    fn on_state(&mut self, from: ProcessId, precommitted: bool, out: &mut Effects<Self>) {
        match &mut self.duty {
            Duty::States { missing, uncertain } if missing.contains(from) => {
                missing.remove(from);
                if precommitted {
                    self.state = CommitState::Precommitted;
                } else {
                    uncertain.insert(from);
                }
            }
            Duty::Acks(missing) if precommitted => {
                missing.remove(from);
            }
            _ => return out.ignored("a state that is not needed"),
        }
        self.advance(out);
    }

    /// A coordinator passes on the decision that it learns from another process.
    fn on_decision(&mut self, decision: Value, out: &mut Effects<Self>) {
        match self.duty {
            Duty::None => self.decide(decision, out),
            _ => self.conclude(decision, out),
        }
    }

    fn on_crash(&mut self, victim: ProcessId, out: &mut Effects<Self>) {
        match &mut self.duty {
            Duty::Votes(missing) if missing.contains(victim) => {
                return self.conclude(Value::ABORT, out);
            }
            Duty::None | Duty::Votes(_) => {}
            Duty::States { missing, .. } | Duty::Acks(missing) => {
                missing.remove(victim);
                self.advance(out);
            }
        }
        if victim == self.coordinator {
            self.replace_coordinator(out);
        }
    }

    /// Turns to the next coordinator that has not crashed. A process that has not voted is free to abort.
    fn replace_coordinator(&mut self, out: &mut Effects<Self>) {
        if self.state == CommitState::Initial {
            self.decide(Value::ABORT, out);
        }
        let passed = self.rank(self.coordinator);
        let live = &ProcessSet::all(self.n) - &self.crashed;
        let Some(next) = live.iter().find(|next| self.rank(*next) > passed) else { return };
        self.coordinator = next;
        if next == self.id {
            self.take_over(out);
        }
    }
}

fn verdict(decision: Value) -> Message {
    if decision == Value::COMMIT { Message::Commit } else { Message::Abort }
}

impl Process for ThreePhaseCommit {
    type Command = Command;
    type Message = Message;
    type Timer = Infallible;
    type Output = Output;
    type Misuse = Misuse;

    fn on_command(
        &mut self,
        Command::Propose(vote): Command,
        out: &mut Effects<Self>,
    ) -> Result<(), Misuse> {
        if self.vote.is_some() {
            return Err(Misuse::AlreadyProposed);
        }
        self.vote = Some(vote);
        if self.id == self.first {
            self.begin(vote, out);
        } else {
            self.answer(out);
        }
        Ok(())
    }

    fn on_message(&mut self, from: ProcessId, message: Message, out: &mut Effects<Self>) {
        match message {
            Message::Prepare if from != self.first => {
                out.ignored("a request of a process that is not the coordinator");
            }
            Message::Prepare => {
                self.asked = true;
                match self.state {
                    CommitState::Decided(Value::ABORT) => out.send(from, Message::No),
                    _ => self.answer(out),
                }
            }
            Message::Yes => self.on_vote(from, Value::COMMIT, out),
            Message::No => self.on_vote(from, Value::ABORT, out),
            Message::Precommit => self.on_precommit(from, out),
            Message::Ack => self.on_state(from, true, out),
            Message::Uncertain => self.on_state(from, false, out),
            Message::Commit => self.on_decision(Value::COMMIT, out),
            Message::Abort => self.on_decision(Value::ABORT, out),
            Message::Ask => self.on_ask(from, out),
        }
    }

    fn on_belief(&mut self, belief: Belief, out: &mut Effects<Self>) {
        match belief {
            Belief::Crashed(victim) => {
                self.crashed.insert(victim);
                self.on_crash(victim, out);
            }
            Belief::Alive(process) => {
                self.crashed.remove(process);
            }
        }
    }

    fn waits_for(&self) -> ProcessSet {
        match (&self.duty, self.state) {
            (_, CommitState::Decided(_)) => ProcessSet::new(),
            (Duty::None, _) if self.coordinator == self.id => ProcessSet::new(),
            (Duty::None, _) => ProcessSet::from_iter([self.coordinator]),
            (Duty::Votes(missing) | Duty::States { missing, .. } | Duty::Acks(missing), _) => {
                missing.clone()
            }
        }
    }
}

impl quorate_core::Message for Message {
    const KINDS: &'static [Kind] = &[
        Kind::agreement("PREPARE"),
        Kind::agreement("YES"),
        Kind::agreement("NO"),
        Kind::agreement("PRECOMMIT"),
        Kind::agreement("ACK"),
        Kind::agreement("COMMIT"),
        Kind::agreement("ABORT"),
        Kind::agreement("ASK"),
        Kind::agreement("UNCERTAIN"),
    ];

    fn kind(&self) -> usize {
        *self as usize
    }

    fn bytes(&self) -> Option<u64> {
        Some(1)
    }

    /// A lying process sends the opposite vote, state or decision.
    fn forged(&self, choice: u64) -> Self {
        match (self, choice & 1) {
            (Self::Yes, 1) => Self::No,
            (Self::No, 1) => Self::Yes,
            (Self::Ack, 1) => Self::Uncertain,
            (Self::Uncertain, 1) => Self::Ack,
            (Self::Commit, 1) => Self::Abort,
            (Self::Abort, 1) => Self::Commit,
            (other, _) => *other,
        }
    }
}

impl Algorithm for ThreePhaseCommit {
    const PROFILE: Profile = Profile {
        name: "three-phase-commit",
        layer: Layer::Agreement,
        summary: "all learn that all have voted for the transaction before any commits; the survivors decide",
        source: "Skeen, SIGMOD 1981; Bernstein, Hadzilacos, Goodman, 1987",
        specimen: None,
        assumes: &[
            Assumption::NoLoss,
            Assumption::CrashStop,
            Assumption::PerfectDetector,
            Assumption::Honesty,
        ],
        guarantees: &[Property::Agreement, Property::Validity, Property::Termination],
        cost: "5(n - 1) messages to commit",
        never_quiescent: false,
    };

    const SHAPE: Shape = Shape::Server;

    const AGREEMENT_KIND: AgreementKind = AgreementKind::Vote;

    fn build(setup: &Setup, id: ProcessId) -> Self {
        Self::new(setup.n, id, setup.server)
    }

    fn cost(setup: &Setup) -> Cost {
        let n = setup.n as u64;
        // A coordinator that votes against the transaction sends ABORT to all, and no PREPARE.
        Cost::between("5(n - 1), to abort n - 1 or more", n - 1, 5 * (n - 1))
            .with_delays(0..=5, 0..=0)
    }
}

impl Sound for ThreePhaseCommit {}
