//! The contest of the bully algorithms: ask, and lead if nobody greater answers. Whom to ask and whom to tell is what
//! makes them differ.
//!
//! ```text
//!            begins                 its rank's delay is over
//!   Idle ------------> Delaying -----------------------------> Asking ---- nobody answers in time ----> leads
//!    ^                    ^                                       |
//!    |                    |  no COORDINATOR in time               | ANSWER
//!    |                    +------------------------------- Expecting
//!    +------------------------ COORDINATOR, in any phase
//! ```
//!
//! A message takes the bound at most. Who is asked answers at once, so an answer is here after two bounds. Who has
//! answered stands itself, and so does everybody above: the greatest of them hears nothing for two bounds more and tells
//! everybody, so that its word is here four bounds after the question.
//!
//! Who asks before it has heard of the new leader may be heard by others after they have. A process that has known its
//! leader for less than two bounds therefore answers and leaves it at that: who asked will hear of the same leader, or ask
//! again. If each such question began an election, as the words of the textbook have it, then with delays that vary 64
//! processes that begin at once would send millions of messages, and not a few thousand.
//!
//! The question of a greater one is as good as an answer.

use core::fmt::Debug;
use core::hash::Hash;

use quorate_core::election::{Candidates, Command, Identifier, Misuse, Output};
use quorate_core::{Belief, Effects, Kind, Message, Process, ProcessId, ProcessSet, Span, Time};

use super::common::{IDENTIFIER_BYTES, KIND_BYTES, OwnIdentifier};
use crate::Setup;

/// Whom a bully asks and whom it tells.
pub trait BullyPeers: Clone + Eq + Hash + Debug + Send + Sync {
    /// Those of process `id`.
    fn new(n: usize, id: ProcessId, candidates: &Candidates) -> Self;

    /// Who may be greater.
    fn challenged(&self) -> &ProcessSet;

    /// Who has to know of a new leader.
    fn notified(&self) -> &ProcessSet;

    /// Whether identifiers are known beforehand, and so cannot change.
    const KNOWN: bool;
}

/// A process that stands for leader whenever there might be none.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct BullyElection<A> {
    peers: A,
    own_identifier: OwnIdentifier,
    phase: Phase,
    leader: Option<Identifier>,
    /// When it came to know its leader.
    decided_at: Time,
    crashed: ProcessSet,
    timeouts: BullyTimeouts,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Phase {
    /// It takes part in no election.
    Idle,
    /// It leaves the greater ones time to begin.
    Delaying,
    /// It has asked whether anybody is greater.
    Asking,
    /// Somebody is, and should say who leads.
    Expecting,
}

/// How long a process waits, and for what.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct BullyTimeouts {
    /// Before it asks: the more, the more are greater.
    delay: Span,
    answer: Span,
    coordinator: Span,
}

/// What processes say.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum BullyMessage {
    /// I stand with this; is anybody greater?
    Election(Identifier),
    /// I am.
    Answer,
    /// I lead.
    Coordinator(Identifier),
}

/// What a process waits for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Timer {
    /// Its turn to ask.
    Delay,
    /// Answers.
    Answer,
    /// Word of who leads.
    Coordinator,
}

impl<A: BullyPeers> BullyElection<A> {
    /// Process `id` in such a world.
    pub(super) fn new(setup: &Setup, id: ProcessId) -> Self {
        let rank = setup.candidates.above(id).len() as u64;
        let delay = setup.rank_delay.0.saturating_mul(rank);
        let bounds = |many: u64| setup.delay_bounds.bound.0.saturating_mul(many);
        // What arrives just in time is handled before time is up.
        let answer = Span(bounds(2).saturating_add(1));
        // Those above delay as well, each less than this one.
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

    /// Takes part in an election, from the beginning or anew.
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

    /// The election is over.
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

    /// Somebody is greater, and stands.
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
        // Nobody gives way to a smaller one: that will hear of it.
        if leader < self.own_identifier.identifier() {
            out.ignored("a smaller one that says it leads");
            return if self.phase == Phase::Idle {
                self.begin(out)
            };
        }
        self.end(leader, out);
        // The news of its crash was quicker.
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

    /// One who is back stands again, whoever leads: hence the name.
    fn on_recovery(&mut self, out: &mut Effects<Self>) {
        self.phase = Phase::Idle;
        self.own_identifier.unfreeze();
        self.crashed.clear();
        self.begin(out);
    }
}

/// The longest that a process waits for those above it before it asks, in message delays.
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
