//! Two-phase commit: a coordinator asks all processes to vote on a transaction, which commits if none votes against it.
//!
//! - **Source**: Gray, "Notes on Data Base Operating Systems", 1978; Coulouris et al., 5th edition,
//!   section 17.3; Bernstein, Hadzilacos and Goodman, "Concurrency Control and Recovery in Database Systems",
//!   1987, section 7.4 (cooperative termination).
//! - **Assumes**: the coordinator does not crash; other processes may, and may recover if they remember their votes and
//!   decisions; a perfect detector; links that lose nothing. Any order; duplicates are tolerated.
//! - **Guarantees**: agreement and validity (commits only if all voted for it), also if the coordinator crashes;
//!   termination only while it does not.
//! - **Costs**: 3(n - 1) messages to commit: PREPARE, YES and COMMIT; three message delays. Fewer to abort.
//! - **Departs from the paper**: a detector reports crashes in place of timeouts. Participants do not acknowledge the
//!   decision; a prepared participant that was down asks for it when it recovers, and one that has aborted says so again.
//!
//! ```text
//!   participant: Initial --PREPARE, for--> Prepared --COMMIT--> committed
//!                   |                         |
//!                   | against, or the         | the coordinator crashes: ask the others,
//!                   v coordinator crashes     v which may know, or be free to abort
//!                aborted                   Blocked, if all live processes have sent YES and none knows
//! ```
//!
//! A participant that has sent YES has given up the right to abort: the coordinator may have committed, and may have
//! informed only a process that has crashed as well. So the participant waits until the coordinator recovers. The
//! coordinator then sends its decision again, or aborts if it had not decided.

use core::convert::Infallible;

use quorate_core::agreement::{AgreementKind, Command, Decision, Misuse, Output, Value};
use quorate_core::{
    Assumption, Belief, Cost, Effects, Kind, Layer, Process, ProcessId, ProcessSet, Profile,
    Property,
};

use crate::{Algorithm, Setup, Shape, Sound};

/// One process of two-phase commit.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TwoPhaseCommit {
    id: ProcessId,
    n: usize,
    coordinator: ProcessId,
    crashed: ProcessSet,
    /// The vote of this process's user.
    vote: Option<Value>,
    /// Whether PREPARE has arrived.
    asked: bool,
    phase: Phase,
    /// Processes that have asked for the decision.
    askers: ProcessSet,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Phase {
    /// Has not voted and is free to abort.
    Initial,
    /// Coordinator: waits for the votes of these processes.
    CollectingVotes(ProcessSet),
    /// Has voted YES and cannot abort on its own.
    Prepared,
    /// Prepared, and the coordinator has crashed: waits for the answers of these processes.
    AskingPeers(ProcessSet),
    /// Prepared, and no live process knows the decision.
    Blocked,
    Decided(Value),
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
    /// The transaction is committed.
    Commit,
    /// The transaction is aborted.
    Abort,
    /// Asks for the decision.
    Ask,
    /// The sender does not know the decision either.
    Unknown,
}

impl TwoPhaseCommit {
    /// Creates process `id` of `n`, in a transaction of this coordinator.
    pub fn new(n: usize, id: ProcessId, coordinator: ProcessId) -> Self {
        Self {
            id,
            n,
            coordinator,
            crashed: ProcessSet::new(),
            vote: None,
            asked: false,
            phase: Phase::Initial,
            askers: ProcessSet::new(),
        }
    }

    fn others(&self) -> ProcessSet {
        ProcessSet::others(self.n, self.id)
    }

    fn is_coordinator(&self) -> bool {
        self.id == self.coordinator
    }

    /// Participant: votes, once PREPARE has arrived and the user has chosen a vote.
    fn answer(&mut self, out: &mut Effects<Self>) {
        let Some(vote) = self.vote.filter(|_| self.asked && self.phase == Phase::Initial) else {
            return;
        };
        if vote == Value::COMMIT {
            self.phase = Phase::Prepared;
            out.send(self.coordinator, Message::Yes);
            if self.crashed.contains(self.coordinator) {
                self.ask(out);
            }
        } else {
            self.refuse(out);
        }
    }

    /// Participant that is free to abort: votes NO and aborts.
    fn refuse(&mut self, out: &mut Effects<Self>) {
        out.send(self.coordinator, Message::No);
        self.decide(Value::ABORT, out);
    }

    /// Coordinator: asks all processes for their votes, or aborts immediately.
    fn begin(&mut self, vote: Value, out: &mut Effects<Self>) {
        if self.phase != Phase::Initial {
            return;
        }
        if vote != Value::COMMIT || !self.crashed.is_empty() {
            return self.conclude(Value::ABORT, out);
        }
        out.send_to_others(Message::Prepare);
        self.phase = Phase::CollectingVotes(self.others());
        self.conclude_if_unanimous(out);
    }

    fn conclude_if_unanimous(&mut self, out: &mut Effects<Self>) {
        if matches!(&self.phase, Phase::CollectingVotes(missing) if missing.is_empty()) {
            self.conclude(Value::COMMIT, out);
        }
    }

    /// Coordinator: decides for all. It records the decision before it sends it.
    fn conclude(&mut self, decision: Value, out: &mut Effects<Self>) {
        self.decide(decision, out);
        out.send_to_others(verdict(decision));
    }

    fn decide(&mut self, decision: Value, out: &mut Effects<Self>) {
        if matches!(self.phase, Phase::Decided(_)) {
            return;
        }
        self.phase = Phase::Decided(decision);
        out.output(Output::Decided(Decision::Value(decision)));
        let askers = core::mem::take(&mut self.askers);
        if !askers.is_empty() {
            out.multicast(askers, verdict(decision));
        }
    }

    /// Prepared participant: asks the coordinator for the decision, or all live processes if the coordinator has crashed.
    fn ask(&mut self, out: &mut Effects<Self>) {
        if !self.crashed.contains(self.coordinator) {
            self.phase = Phase::Prepared;
            return out.send(self.coordinator, Message::Ask);
        }
        let awaited = &self.others() - &self.crashed;
        if !awaited.is_empty() {
            out.multicast(awaited.clone(), Message::Ask);
        }
        self.phase = Phase::AskingPeers(awaited);
        self.block_if_nobody_knows(out);
    }

    fn block_if_nobody_knows(&mut self, out: &mut Effects<Self>) {
        if matches!(&self.phase, Phase::AskingPeers(awaited) if awaited.is_empty()) {
            self.phase = Phase::Blocked;
            out.output(Output::Blocked);
        }
    }

    fn on_ask(&mut self, from: ProcessId, out: &mut Effects<Self>) {
        // A process that has not voted yet is free to abort, and does so to spare the other process the wait.
        if self.phase == Phase::Initial && !self.is_coordinator() {
            self.refuse(out);
        }
        match self.phase {
            Phase::Decided(decision) => out.send(from, verdict(decision)),
            _ => {
                self.askers.insert(from);
                out.send(from, Message::Unknown);
            }
        }
    }

    fn on_vote(&mut self, from: ProcessId, vote: Value, out: &mut Effects<Self>) {
        let Phase::CollectingVotes(missing) = &mut self.phase else {
            return out.ignored("a vote that changes nothing");
        };
        missing.remove(from);
        if vote == Value::COMMIT {
            self.conclude_if_unanimous(out);
        } else {
            // The process that voted NO has aborted already.
            self.decide(Value::ABORT, out);
            let mut others = self.others();
            others.remove(from);
            out.multicast(others, Message::Abort);
        }
    }
}

fn verdict(decision: Value) -> Message {
    if decision == Value::COMMIT { Message::Commit } else { Message::Abort }
}

impl Process for TwoPhaseCommit {
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
        if self.is_coordinator() {
            self.begin(vote, out);
        } else {
            self.answer(out);
        }
        Ok(())
    }

    fn on_message(&mut self, from: ProcessId, message: Message, out: &mut Effects<Self>) {
        match message {
            Message::Prepare if from == self.coordinator => {
                self.asked = true;
                match self.phase {
                    Phase::Decided(Value::ABORT) => out.send(from, Message::No),
                    _ => self.answer(out),
                }
            }
            Message::Yes => self.on_vote(from, Value::COMMIT, out),
            Message::No => self.on_vote(from, Value::ABORT, out),
            Message::Commit => self.decide(Value::COMMIT, out),
            Message::Abort => self.decide(Value::ABORT, out),
            Message::Ask => self.on_ask(from, out),
            Message::Unknown => {
                if let Phase::AskingPeers(awaited) = &mut self.phase {
                    awaited.remove(from);
                    self.block_if_nobody_knows(out);
                }
            }
            Message::Prepare => out.ignored("a request of one who is not the coordinator"),
        }
    }

    fn on_belief(&mut self, belief: Belief, out: &mut Effects<Self>) {
        let about = belief.about();
        match belief {
            Belief::Crashed(_) => {
                self.crashed.insert(about);
                match &mut self.phase {
                    Phase::CollectingVotes(missing) if missing.contains(about) => {
                        self.conclude(Value::ABORT, out);
                    }
                    Phase::Initial if about == self.coordinator => self.decide(Value::ABORT, out),
                    Phase::Prepared if about == self.coordinator => self.ask(out),
                    Phase::AskingPeers(awaited) => {
                        awaited.remove(about);
                        self.block_if_nobody_knows(out);
                    }
                    _ => {}
                }
            }
            Belief::Alive(_) => {
                self.crashed.remove(about);
                // The recovered process may know the decision.
                if matches!(self.phase, Phase::AskingPeers(_) | Phase::Blocked) {
                    out.send(about, Message::Ask);
                }
            }
        }
    }

    fn on_recovery(&mut self, out: &mut Effects<Self>) {
        match self.phase {
            Phase::Decided(decision) if self.is_coordinator() => {
                out.send_to_others(verdict(decision));
            }
            // The PREPARE that would have been answered may have been lost while the process was down.
            Phase::Decided(Value::ABORT) => out.send(self.coordinator, Message::No),
            Phase::Decided(_) => {}
            // The others have received at most PREPARE, so none of them can have committed.
            Phase::Initial | Phase::CollectingVotes(_) if self.is_coordinator() => {
                self.conclude(Value::ABORT, out);
            }
            Phase::Initial | Phase::CollectingVotes(_) => self.refuse(out),
            Phase::Prepared | Phase::AskingPeers(_) | Phase::Blocked => self.ask(out),
        }
    }

    fn waits_for(&self) -> ProcessSet {
        match &self.phase {
            Phase::CollectingVotes(missing) => missing.clone(),
            Phase::AskingPeers(awaited) => awaited.clone(),
            Phase::Initial | Phase::Prepared | Phase::Blocked if !self.is_coordinator() => {
                ProcessSet::from_iter([self.coordinator])
            }
            _ => ProcessSet::new(),
        }
    }
}

impl quorate_core::Message for Message {
    const KINDS: &'static [Kind] = &[
        Kind::agreement("PREPARE"),
        Kind::agreement("YES"),
        Kind::agreement("NO"),
        Kind::agreement("COMMIT"),
        Kind::agreement("ABORT"),
        Kind::agreement("ASK"),
        Kind::agreement("UNKNOWN"),
    ];

    fn kind(&self) -> usize {
        *self as usize
    }

    fn bytes(&self) -> Option<u64> {
        Some(1)
    }

    /// A lying process sends the opposite vote or decision.
    fn forged(&self, choice: u64) -> Self {
        match (self, choice & 1) {
            (Self::Yes, 1) => Self::No,
            (Self::No, 1) => Self::Yes,
            (Self::Commit, 1) => Self::Abort,
            (Self::Abort, 1) => Self::Commit,
            (other, _) => *other,
        }
    }
}

impl Algorithm for TwoPhaseCommit {
    const PROFILE: Profile = Profile {
        name: "two-phase-commit",
        layer: Layer::Agreement,
        summary: "a coordinator collects votes; a single vote against aborts the transaction",
        source: "Gray, 1978; Bernstein, Hadzilacos, Goodman, 1987",
        specimen: None,
        assumes: &[
            Assumption::NoLoss,
            Assumption::ServerUp,
            Assumption::Memory,
            Assumption::PerfectDetector,
            Assumption::Honesty,
        ],
        guarantees: &[Property::Agreement, Property::Validity, Property::Termination],
        cost: "3(n - 1) messages to commit",
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
        Cost::between("3(n - 1), to abort n - 1 or more", n - 1, 3 * (n - 1))
            .with_delays(0..=3, 0..=0)
    }
}

impl Sound for TwoPhaseCommit {}
