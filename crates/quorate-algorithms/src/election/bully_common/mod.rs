//! The contest shared by the bully algorithms: ask, and lead if no greater process answers. The algorithms differ in
//! the processes that they ask and notify.
//!
//! ```text
//!            begins                 its rank's delay is over
//!   Idle ------------> Delaying -----------------------------> Asking ---- no answer in time ----> leads
//!    ^                    ^                                       |
//!    |                    |  no COORDINATOR in time               | ANSWER
//!    |                    +------------------------------- Expecting
//!    +------------------------ COORDINATOR, in any phase
//! ```
//!
//! A message takes at most the bound. A process answers ELECTION immediately, so the answer arrives within two bounds.
//! A process that has answered stands itself, and so does every process above it. The greatest of them receives no
//! answer for two more bounds and then notifies all, so COORDINATOR arrives within four bounds after the question.
//!
//! An ELECTION that was sent before its sender learned the new leader may arrive at processes that have learned it already.
//! A process that has known its leader for less than two bounds therefore answers and does nothing else: the sender will
//! learn the same leader, or ask again. If each such ELECTION began an election, as the textbook literally says, then with
//! varying delays 64 processes that begin at the same time would send millions of messages instead of a few thousand.
//!
//! The headers of `bully` and `bully-all` list the differences to the paper: an ELECTION from a greater process counts as an
//! ANSWER, processes that are known to have crashed are not asked, and the rule above about recent leaders.

use core::fmt::Debug;
use core::hash::Hash;

use quorate_core::election::{Candidates, Command, Identifier, Misuse, Output};
use quorate_core::{Belief, Effects, Kind, Message, Process, ProcessId, ProcessSet, Span, Time};

use super::common::{IDENTIFIER_BYTES, KIND_BYTES, OwnIdentifier};
use crate::Setup;
use crate::literature::{ElectionCase, Order, Starters};

/// Cases in which the cost of a bully differs.
pub(super) const CASES: &[ElectionCase] = &[
    (Starters::One, Order::Best),
    (Starters::One, Order::Worst),
    (Starters::One, Order::Random),
    (Starters::All, Order::Any),
];

/// The processes that a bully asks, and the ones that it notifies.
pub trait BullyPeers: Clone + Eq + Hash + Debug + Send + Sync {
    /// The selection for process `id`.
    fn new(n: usize, id: ProcessId, candidates: &Candidates) -> Self;

    /// Processes that may have a greater identifier. They are asked.
    fn challenged(&self) -> &ProcessSet;

    /// Processes that must learn of a new leader.
    fn notified(&self) -> &ProcessSet;

    /// Whether identifiers are known in advance, and so cannot change.
    const KNOWN: bool;
}

/// A process that stands for leader whenever there may be none.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct BullyElection<A> {
    peers: A,
    own_identifier: OwnIdentifier,
    phase: Phase,
    leader: Option<Identifier>,
    /// When this process learned its leader.
    decided_at: Time,
    crashed: ProcessSet,
    timeouts: BullyTimeouts,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Phase {
    /// Takes part in no election.
    Idle,
    /// Gives greater processes time to begin first.
    Delaying,
    /// Has sent ELECTION and waits for answers.
    Asking,
    /// Has received an ANSWER from a greater process and waits for COORDINATOR.
    Expecting,
}

/// The waiting times of the phases.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct BullyTimeouts {
    /// Delay before asking, proportional to the number of greater processes.
    delay: Span,
    answer: Span,
    coordinator: Span,
}

/// The messages of the bully algorithms.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum BullyMessage {
    /// The sender stands with this identifier and asks for greater ones.
    Election(Identifier),
    /// The sender has a greater identifier.
    Answer,
    /// The sender is the leader, with this identifier.
    Coordinator(Identifier),
}

/// The timers of the bully algorithms.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Timer {
    /// The delay by rank is over.
    Delay,
    /// No answer has arrived in time.
    Answer,
    /// No COORDINATOR has arrived in time.
    Coordinator,
}

impl<A: BullyPeers> BullyElection<A> {
    /// Creates process `id`, with timeouts derived from the setup.
    pub(super) fn new(setup: &Setup, id: ProcessId) -> Self {
        let rank = setup.candidates.above(id).len() as u64;
        let delay = setup.rank_delay.0.saturating_mul(rank);
        let bounds = |many: u64| setup.delay_bounds.bound.0.saturating_mul(many);
        // One tick more than two bounds: an answer that takes the whole bound is handled before the timeout.
        let answer = Span(bounds(2).saturating_add(1));
        // Processes above wait for their rank as well, but each of them less than this one.
        let coordinator = Span(bounds(4).saturating_add(1).saturating_add(delay));
        Self {
            peers: A::new(setup.n, id, &setup.candidates),
            own_identifier: OwnIdentifier::new(setup.candidates.of(id)),
            phase: Phase::Idle,
            leader: None,
            decided_at: Time::ZERO,
            crashed: ProcessSet::new(),
            timeouts: BullyTimeouts { delay: Span(delay), answer, coordinator },
        }
    }

    /// Takes part in an election, for the first time or again.
    fn begin(&mut self, out: &mut Effects<Self>) {
        if self.phase == Phase::Idle {
            out.output(Output::Undecided);
            self.own_identifier.freeze();
        }
        if self.timeouts.delay > Span::ZERO {
            self.phase = Phase::Delaying;
            return out.set_timer(Timer::Delay, self.timeouts.delay);
        }
        self.ask(out);
    }

    fn ask(&mut self, out: &mut Effects<Self>) {
        let challenged = self.peers.challenged() - &self.crashed;
        if challenged.is_empty() {
            return self.lead(out);
        }
        self.phase = Phase::Asking;
        out.multicast(challenged, BullyMessage::Election(self.own_identifier.identifier()));
        out.set_timer(Timer::Answer, self.timeouts.answer);
    }

    fn lead(&mut self, out: &mut Effects<Self>) {
        let leader = self.own_identifier.identifier();
        self.end(leader, out);
        if !self.peers.notified().is_empty() {
            out.multicast(self.peers.notified().clone(), BullyMessage::Coordinator(leader));
        }
    }

    /// Ends the election with this leader.
    fn end(&mut self, leader: Identifier, out: &mut Effects<Self>) {
        self.phase = Phase::Idle;
        self.own_identifier.unfreeze();
        (self.leader, self.decided_at) = (Some(leader), out.now());
        for timer in [Timer::Delay, Timer::Answer, Timer::Coordinator] {
            out.cancel_timer(timer);
        }
        out.output(Output::Elected(leader));
    }

    fn on_election(&mut self, from: ProcessId, theirs: Identifier, out: &mut Effects<Self>) {
        if theirs > self.own_identifier.identifier() {
            return self.on_answer(out);
        }
        out.send(from, BullyMessage::Answer);
        let since = out.now().since(self.decided_at);
        let fresh = self.leader.is_some() && since < self.timeouts.answer;
        if self.phase == Phase::Idle && !fresh {
            self.begin(out);
        }
    }

    /// Handles evidence that a greater process is up and takes part.
    fn on_answer(&mut self, out: &mut Effects<Self>) {
        match self.phase {
            Phase::Asking | Phase::Delaying => {
                self.phase = Phase::Expecting;
                out.cancel_timer(Timer::Delay);
                out.cancel_timer(Timer::Answer);
                out.set_timer(Timer::Coordinator, self.timeouts.coordinator);
            }
            Phase::Idle | Phase::Expecting => {
                out.ignored("it is known that somebody is greater");
            }
        }
    }

    fn on_coordinator(&mut self, leader: Identifier, out: &mut Effects<Self>) {
        // A process does not give way to a smaller one. Its own election will inform the smaller one.
        if leader < self.own_identifier.identifier() {
            out.ignored("a smaller one that says it leads");
            return if self.phase == Phase::Idle {
                self.begin(out)
            };
        }
        self.end(leader, out);
        // The detector reported the leader's crash before COORDINATOR arrived.
        if self.crashed.contains(leader.process) {
            self.begin(out);
        }
    }
}

impl<A: BullyPeers> Process for BullyElection<A> {
    type Command = Command;
    type Message = BullyMessage;
    type Timer = Timer;
    type Output = Output;
    type Misuse = Misuse;

    fn on_command(&mut self, command: Command, out: &mut Effects<Self>) -> Result<(), Misuse> {
        match command {
            Command::Elect if self.phase != Phase::Idle => return Err(Misuse::UnderWay),
            Command::Elect => self.begin(out),
            Command::Identify(_) if A::KNOWN => return Err(Misuse::Known),
            Command::Identify(value) => self.own_identifier.identify(value),
        }
        Ok(())
    }

    fn on_message(&mut self, from: ProcessId, message: BullyMessage, out: &mut Effects<Self>) {
        match message {
            BullyMessage::Election(theirs) => self.on_election(from, theirs, out),
            BullyMessage::Answer => self.on_answer(out),
            BullyMessage::Coordinator(leader) => self.on_coordinator(leader, out),
        }
    }

    fn on_timer(&mut self, timer: Timer, out: &mut Effects<Self>) {
        match timer {
            Timer::Delay => self.ask(out),
            Timer::Answer => self.lead(out),
            Timer::Coordinator => self.begin(out),
        }
    }

    fn on_belief(&mut self, belief: Belief, out: &mut Effects<Self>) {
        match belief {
            Belief::Crashed(process) => {
                self.crashed.insert(process);
                let led = self.leader.is_some_and(|leader| leader.process == process);
                if led && self.phase == Phase::Idle {
                    self.begin(out);
                }
            }
            Belief::Alive(process) => {
                self.crashed.remove(process);
            }
        }
    }

    fn visit_shift_invariant(&mut self, visit: &mut dyn FnMut(&mut u64)) {
        visit(&mut self.decided_at.0);
    }

    /// A recovered process stands again, whichever process leads. The name of the algorithm comes from this.
    fn on_recovery(&mut self, out: &mut Effects<Self>) {
        self.phase = Phase::Idle;
        self.own_identifier.unfreeze();
        self.crashed.clear();
        self.begin(out);
    }
}

/// The longest delay by rank of any process, in message delays, rounded up.
pub(super) fn ranks(setup: &Setup) -> u64 {
    let longest = setup.rank_delay.0.saturating_mul(setup.n as u64 - 1);
    longest.div_ceil(setup.delay_bounds.delay.0.max(1))
}

impl Message for BullyMessage {
    const KINDS: &'static [Kind] =
        &[Kind::election("ELECTION"), Kind::election("ANSWER"), Kind::election("COORDINATOR")];

    fn kind(&self) -> usize {
        match self {
            Self::Election(_) => 0,
            Self::Answer => 1,
            Self::Coordinator(_) => 2,
        }
    }

    fn bytes(&self) -> Option<u64> {
        match self {
            Self::Election(_) | Self::Coordinator(_) => Some(KIND_BYTES + IDENTIFIER_BYTES),
            Self::Answer => Some(KIND_BYTES),
        }
    }

    fn forged(&self, choice: u64) -> Self {
        match self {
            Self::Election(identifier) => Self::Election(identifier.forged(choice)),
            Self::Answer => Self::Answer,
            Self::Coordinator(leader) => Self::Coordinator(leader.forged(choice)),
        }
    }
}
