//! Ricart-Agrawala with sessions: a process asks all others and enters once all have agreed. Requests for the same session
//! do not defer each other.

use core::convert::Infallible;
use core::fmt::Debug;
use core::hash::Hash;
use core::marker::PhantomData;
use core::mem;

use quorate_core::allocation::{Claim, ClaimKind, Command, Misuse, Output};
use quorate_core::{
    Cost, Effects, Kind, LamportClock, Message as CoreMessage, Process, ProcessId, ProcessSet,
    Profile, Stamp,
};

use crate::{Algorithm, Setup};

/// The claims that an algorithm maps to sessions. The algorithms differ in nothing else.
pub trait SessionRule: Clone + Eq + Hash + Debug + Send + Sync {
    /// The profile of the algorithm with these claims.
    const PROFILE: Profile;

    /// The kind of claims.
    const CLAIM_KIND: ClaimKind;

    /// The session of a claim. `None` if the algorithm does not serve such a claim.
    fn session(claim: &Claim) -> Option<Session>;
}

/// A session that a process takes part in while it is inside.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Session {
    /// The process is inside alone.
    Exclusive,
    /// The process is inside together with all others in the session of this number.
    Shared(u32),
}

impl Session {
    /// Whether two processes in these sessions may be inside together.
    fn admits(self, other: Self) -> bool {
        self != Self::Exclusive && self == other
    }
}

/// A process that asks all others. It defers its reply to a request that its own request precedes, unless both are for one
/// session.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct AskForSession<R> {
    id: ProcessId,
    n: usize,
    clock: LamportClock,
    phase: Phase,
    /// Processes whose reply is deferred until this process has left.
    deferred: ProcessSet,
    rule: PhantomData<R>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Phase {
    Outside,
    Waiting { mine: Stamp, session: Session, missing: ProcessSet },
    Inside(Session),
}

/// A message of the algorithm.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// Requests entry, since this time of the sender's clock.
    Request {
        /// Time of the request.
        time: u64,
        /// Session that the sender wants to take part in.
        session: Session,
    },
    /// Permits the recipient to enter, with the time of the sender's clock.
    Reply(u64),
}

impl<R: SessionRule> AskForSession<R> {
    /// Creates process `id` of n processes.
    pub fn new(n: usize, id: ProcessId) -> Self {
        let (clock, deferred) = (LamportClock::default(), ProcessSet::new());
        Self { id, n, clock, phase: Phase::Outside, deferred, rule: PhantomData }
    }

    fn request(&mut self, session: Session, out: &mut Effects<Self>) {
        let mine = Stamp { time: self.clock.tick(), process: self.id };
        self.phase = Phase::Waiting { mine, session, missing: ProcessSet::others(self.n, self.id) };
        out.send_to_others(Message::Request { time: mine.time, session });
        self.enter_if_unanimous(out);
    }

    fn release(&mut self, out: &mut Effects<Self>) {
        self.phase = Phase::Outside;
        if !self.deferred.is_empty() {
            out.multicast(mem::take(&mut self.deferred), Message::Reply(self.clock.time()));
        }
    }

    /// Returns `true` if a request with this stamp for this session has to wait for this process.
    fn defers(&self, theirs: Stamp, session: Session) -> bool {
        match &self.phase {
            Phase::Outside => false,
            Phase::Waiting { mine, session: own, .. } => *mine < theirs && !own.admits(session),
            Phase::Inside(own) => !own.admits(session),
        }
    }

    fn enter_if_unanimous(&mut self, out: &mut Effects<Self>) {
        if let Phase::Waiting { session, missing, .. } = &self.phase
            && missing.is_empty()
        {
            self.phase = Phase::Inside(*session);
            out.output(Output::Entered);
        }
    }
}

impl<R: SessionRule> Process for AskForSession<R> {
    type Command = Command;
    type Message = Message;
    type Timer = Infallible;
    type Output = Output;
    type Misuse = Misuse;

    fn on_command(&mut self, command: Command, out: &mut Effects<Self>) -> Result<(), Misuse> {
        match (command, &self.phase) {
            (Command::Request(claim), Phase::Outside) => {
                self.request(R::session(&claim).ok_or(Misuse::OtherClaim)?, out);
            }
            (Command::Request(_), _) => return Err(Misuse::AlreadyAsked),
            (Command::Release, Phase::Inside(_)) => self.release(out),
            (Command::Release, _) => return Err(Misuse::NotInside),
        }
        Ok(())
    }

    fn on_message(&mut self, from: ProcessId, message: Message, out: &mut Effects<Self>) {
        match message {
            Message::Request { time, session } => {
                self.clock.merge(time);
                if self.defers(Stamp { time, process: from }, session) {
                    self.deferred.insert(from);
                } else {
                    out.send(from, Message::Reply(self.clock.time()));
                }
            }
            Message::Reply(time) => {
                self.clock.merge(time);
                let Phase::Waiting { missing, .. } = &mut self.phase else {
                    return out.ignored("a reply to no request");
                };
                missing.remove(from);
                self.enter_if_unanimous(out);
            }
        }
    }

    fn waits_for(&self) -> ProcessSet {
        match &self.phase {
            Phase::Waiting { missing, .. } => missing.clone(),
            _ => ProcessSet::new(),
        }
    }
}

impl CoreMessage for Message {
    const KINDS: &'static [Kind] = &[Kind::allocation("REQUEST"), Kind::allocation("REPLY")];

    fn kind(&self) -> usize {
        match self {
            Self::Request { .. } => 0,
            Self::Reply(_) => 1,
        }
    }

    fn stamp(&self) -> Option<u64> {
        match self {
            Self::Request { time, .. } => Some(*time),
            Self::Reply(_) => None,
        }
    }

    fn forged(&self, choice: u64) -> Self {
        match self {
            Self::Request { session, .. } => Self::Request { time: choice % 8, session: *session },
            Self::Reply(_) => Self::Reply(choice % 8),
        }
    }
}

impl<R: SessionRule> Algorithm for AskForSession<R> {
    const PROFILE: Profile = R::PROFILE;
    const CLAIM_KIND: ClaimKind = R::CLAIM_KIND;

    fn build(setup: &Setup, id: ProcessId) -> Self {
        Self { clock: setup.clock(id), ..Self::new(setup.n, id) }
    }

    fn cost(setup: &Setup) -> Cost {
        Cost::exact("2(n - 1)", 2 * (setup.n as u64 - 1))
            .with_delays(2..=2, 0..=0)
            .without_delays_if_single(setup.n)
    }
}
