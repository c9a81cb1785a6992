//! Two-phase commit: a coordinator asks everybody to vote on a transaction, which stands if nobody is against it.
//!
//! - **Source**: Gray, "Notes on Data Base Operating Systems", 1978; Coulouris et al., 5th edition, section 17.3;
//!   Bernstein, Hadzilacos and Goodman, "Concurrency Control and Recovery in Database Systems", 1987, section 7.4
//!   (cooperative termination).
//! - **Assumes**: the coordinator does not crash; others may, and may come back if they remember what they had voted and
//!   decided; a perfect detector; links that lose nothing. Any order, duplicates do no harm.
//! - **Guarantees**: agreement and validity (committed only if all voted for it), also if the coordinator crashes;
//!   termination only while it does not.
//! - **Costs**: 3(n - 1) messages to commit: PREPARE, YES and COMMIT; three message delays. Fewer to abort.
//! - **Departs from the paper**: a detector tells of crashes in place of timeouts. Nobody confirms that it has done what was
//!   decided; one that was away asks when it is back.
//!
//! ```text
//!   participant:  unsure --PREPARE, for--> YES sent --COMMIT--> committed
//!                   |                         |
//!                   | against, or the         | the coordinator crashes: ask the others,
//!                   v coordinator crashes     v who may know, or be free to abort
//!                aborted                   BLOCKED, if all live have sent YES and nobody knows
//! ```
//!
//! Whoever has sent YES has given up the right to abort: the coordinator may have committed, and told only one who has
//! crashed as well. So it waits until the coordinator is back, which then tells what it had decided, or aborts.

use core::convert::Infallible;

use quorate_core::agreement::{AgreementKind, Command, Decision, Misuse, Output, Value};
use quorate_core::{
    Assumption, Belief, Cost, Effects, Kind, Layer, Process, ProcessId, ProcessSet, Profile,
    Property,
};

use crate::{Algorithm, Setup, Shape, Sound};

/// One process of it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TwoPhaseCommit {
    id: ProcessId,
    n: usize,
    coordinator: ProcessId,
    crashed: ProcessSet,
    /// What its user wants.
    vote: Option<Value>,
    /// The coordinator has asked for it.
    asked: bool,
    phase: Phase,
    /// Who wants to know what is decided.
    askers: ProcessSet,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Phase {
    /// Free to abort.
    Initial,
    /// Coordinator: waits for the votes of these.
    CollectingVotes(ProcessSet),
    /// Has voted for it and cannot go back.
    Prepared,
    /// The same, and the coordinator has crashed: waits to hear whether any of these knows more.
    AskingPeers(ProcessSet),
    /// The same, and nobody does.
    Blocked,
    Decided(Value),
}

/// What processes say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// Coordinator: how do you vote?
    Prepare,
    /// For it, and I will keep to that.
    Yes,
    /// Against it.
    No,
    /// It stands.
    Commit,
    /// It is undone.
    Abort,
    /// What has been decided?
    Ask,
    /// I know no more than you.
    Unknown,
}

impl TwoPhaseCommit {
    /// Process `id` of n, in a transaction of this coordinator.
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

    /// Participant: answers, once it has been asked and its user has said what it wants.
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

    /// Participant that is free to abort: does so, and says so.
    fn refuse(&mut self, out: &mut Effects<Self>) {
        out.send(self.coordinator, Message::No);
        self.decide(Value::ABORT, out);
    }

    /// Coordinator: asks everybody, or aborts at once.
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

    /// Coordinator: decides for all. What it has decided it remembers before it tells anybody.
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

    /// Participant that cannot go back: asks the coordinator, or all the others if there is none.
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
        // One that has not voted yet is free to abort, and does so that the other need not wait.
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
            // Who is against it has aborted already.
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
                // Whoever is back may know.
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
            Phase::Decided(_) => {}
            // Nobody can have been told anything but to prepare.
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

    /// A liar says the contrary.
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
        summary: "a coordinator collects votes; one against it aborts",
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
        // A coordinator that is against it tells everybody, and asks nobody.
        Cost::between("3(n - 1), to abort n - 1 or more", n - 1, 3 * (n - 1))
            .with_delays(0..=3, 0..=0)
    }
}

impl Sound for TwoPhaseCommit {}
