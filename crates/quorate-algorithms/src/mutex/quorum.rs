//! Mutual exclusion by votes of a quorum that changes with failures: the monograph's algorithm, made to exclude.
//!
//! - **Source**: Lopes' monograph on a fault-tolerant quorum mutex over the VCube (Quadro 4.1), with quorums by
//!   Rodrigues; corrected by Sanders, "The Information Structure of Distributed Mutual Exclusion Algorithms", ACM
//!   TOCS 5(3), 1987, and by acknowledged failures, which are our own. The proof is in `docs/quorum-mutex.md`.
//! - **Assumes**: fixed membership; links that neither lose nor duplicate and keep the order of messages; a
//!   perfect detector. Over view-dependent systems the crashed stay away; over fixed coteries they may come back
//!   if they remember that they were away.
//! - **Guarantees**: ME1. ME2 with up to n - 1 crashes over view-dependent systems, and over fixed coteries as long
//!   as a quorum is alive; where none is, the process says so and gives up. Not ME3.
//! - **Costs**: 3K messages for a quorum of K, oneself included, without rivals or failures; up to 6K with rivals.
//!   A crash costs up to n - 1 acknowledgements of each process, over view-dependent systems only; over the VCube
//!   diagnosis none, since they ride on its answers and take up to log2 n rounds. Two message delays into a free
//!   section, two from the holder to its successor.
//! - **Departs from the paper**: (1) whoever is not the best waiting request is told FAILED, also a displaced
//!   head: as printed, it deadlocks. (2) Over view-dependent systems crashes are acknowledged to everyone, outside
//!   the section only, and a quorum counts only with the votes of more than half of those outside the crashes that
//!   everyone has acknowledged: as printed, it lets two in. (3) A request carries an attempt, fresh after each
//!   CANCEL to that voter, and every answer echoes it. (4) A process that comes back asks everyone to be welcomed
//!   before it votes. (5) On request it never sends CANCEL and keeps the votes until it leaves.

mod piggyback;

use core::convert::Infallible;
use core::fmt::Debug;
use core::hash::Hash;
use core::marker::PhantomData;
use core::mem;

use quorate_core::mutex::{Command, Misuse, Output};
use quorate_core::quorum::AnySystem;
use quorate_core::{
    Assumption, Belief, Cost, Effects, Kind, LamportClock, Layer, Message as CoreMessage, Process,
    ProcessId, ProcessSet, Profile, Property,
};

use piggyback::VotingOutput;

use super::voting::{
    AttemptClaim, Ballot, BallotReply, Basis, Candidacy, Claim, SentRequest, Ticket,
};
use crate::{Algorithm, Setup, Sound};

/// One process of the algorithm.
pub type Quorum = QuorumVoting<Attempts>;

/// What the algorithm and its broken variants differ in.
pub trait AttemptRule: Clone + Eq + Hash + Debug + Send + Sync {
    /// What the algorithm with this rule says of itself.
    const PROFILE: Profile;

    /// Whether a request that was cancelled is asked again under a new number.
    const FRESH_ATTEMPTS: bool;

    /// The quorum system to use where this one is asked for.
    fn system(requested: &AnySystem) -> AnySystem {
        requested.clone()
    }
}

/// The rule that keeps the algorithm safe.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Attempts;

/// A process that enters with the votes of its quorum. `O` is what it puts out: what a mutex tells its user, or [`piggyback::PiggybackOutput`]
/// if the layer below takes its acknowledgements to the others.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct QuorumVoting<R, O = Output> {
    id: ProcessId,
    basis: Basis,
    /// Whether votes that are no longer needed are given back before leaving.
    cancels: bool,
    crashed: ProcessSet,
    clock: LamportClock,
    ballot: Ballot<AttemptClaim>,
    phase: Phase,
    /// After coming back: whose welcome is still missing.
    awaiting_welcome: ProcessSet,
    /// Who is to be welcomed once we have left.
    welcomes_owed: ProcessSet,
    /// Came back where nobody may: takes part in nothing any more.
    retired: bool,
    rule: PhantomData<(R, O)>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Phase {
    Outside,
    Waiting(Candidacy),
    Inside(SentRequest),
}

/// What processes say.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// Candidate: I want in.
    Request(Ticket),
    /// Voter: my vote is yours.
    Reply(Ticket),
    /// Candidate: I have left.
    Release(Ticket),
    /// Voter: may I have my vote back?
    Inquire(Ticket),
    /// Voter: another is better than you.
    Failed(Ticket),
    /// Candidate: have your vote back, for now.
    Yield(Ticket),
    /// Candidate: I no longer need your vote.
    Cancel(Ticket),
    /// I have dropped all votes of these crashed processes, and am outside.
    Acknowledge(ProcessSet),
    /// I was away and have come back.
    Rejoin,
    /// I make no use of any vote of yours from before.
    Welcome,
}

impl<R: AttemptRule, O: VotingOutput> QuorumVoting<R, O> {
    /// Process `id` over a quorum system; one that never cancels keeps all votes until it leaves.
    pub fn new(id: ProcessId, system: &AnySystem, clock: LamportClock, cancels: bool) -> Self {
        let none = ProcessSet::new;
        let (basis, ballot) = (Basis::new(system), Ballot::default());
        let (crashed, awaiting_welcome, welcomes_owed) = (none(), none(), none());
        let (phase, retired, rule) = (Phase::Outside, false, PhantomData);
        Self {
            id,
            basis,
            cancels,
            crashed,
            clock,
            ballot,
            phase,
            awaiting_welcome,
            welcomes_owed,
            retired,
            rule,
        }
    }

    fn acquire(&mut self, out: &mut Effects<Self>) {
        if self.retired {
            return out.output(Output::NoQuorum.into());
        }
        self.phase = Phase::Waiting(Candidacy::new(self.clock.tick()));
        self.reconsider(out);
    }

    /// Takes the quorum of the present view: asks whoever is new, cancels at whoever has left, gives up if there is
    /// none, and enters if it is complete.
    fn reconsider(&mut self, out: &mut Effects<Self>) {
        let Phase::Waiting(candidacy) = &mut self.phase else { return };
        let Some(quorum) = self.basis.quorum(self.id, &self.crashed) else {
            send_to_voters(&candidacy.request, &candidacy.request.voters, Message::Release, out);
            self.phase = Phase::Outside;
            return out.output(Output::NoQuorum.into());
        };
        let left = &candidacy.request.voters - &quorum;
        if self.cancels && !left.is_empty() {
            send_to_voters(&candidacy.request, &left, Message::Cancel, out);
            for voter in &left {
                candidacy.discount(voter);
                candidacy.request.withdraw_from(voter, R::FRESH_ATTEMPTS);
            }
        }
        let new = &quorum - &candidacy.request.voters;
        send_to_voters(&candidacy.request, &new, Message::Request, out);
        candidacy.request.voters.union_with(&new);
        candidacy.quorum = quorum;
        self.enter_if_complete(out);
    }

    fn enter_if_complete(&mut self, out: &mut Effects<Self>) {
        let Phase::Waiting(candidacy) = &mut self.phase else { return };
        let complete = candidacy.quorum.is_subset(&candidacy.votes)
            && candidacy.quorum.len() >= self.basis.votes_needed();
        if complete {
            self.phase = Phase::Inside(mem::take(&mut candidacy.request));
            out.output(Output::Entered.into());
        }
    }

    #[inline]
    fn yield_if_hopeless(&mut self, out: &mut Effects<Self>) {
        let Phase::Waiting(candidacy) = &mut self.phase else { return };
        // Most of the time nobody wants a vote back.
        if candidacy.inquiries.is_empty() {
            return;
        }
        let back = candidacy.give_back();
        send_to_voters(&candidacy.request, &back, Message::Yield, out);
    }

    fn release(&mut self, out: &mut Effects<Self>) {
        let Phase::Inside(request) = &self.phase else { return };
        send_to_voters(request, &request.voters, Message::Release, out);
        self.phase = Phase::Outside;
        self.acknowledge(out);
        let welcomes_owed = mem::take(&mut self.welcomes_owed);
        if !welcomes_owed.is_empty() {
            out.multicast(welcomes_owed, Message::Welcome);
        }
    }

    /// Tells everyone still alive which crashes it has taken note of, if that is news and it is outside: with messages
    /// of its own, unless the layer below takes it along.
    fn acknowledge(&mut self, out: &mut Effects<Self>) {
        if matches!(self.phase, Phase::Inside(_)) {
            return;
        }
        let Basis::Agreed { views, .. } = &mut self.basis else { return };
        if views.has_acknowledged(self.id, &self.crashed) {
            return;
        }
        views.acknowledge(self.id, &self.crashed);
        if let Some(output) = O::acknowledged(&self.crashed) {
            return out.output(output);
        }
        let others = &ProcessSet::others(self.basis.processes(), self.id) - &self.crashed;
        if !others.is_empty() {
            out.multicast(others, Message::Acknowledge(self.crashed.clone()));
        }
    }

    /// The candidacy that a voter's message is about, if it is the present one.
    fn candidacy(&mut self, from: ProcessId, ticket: Ticket) -> Option<&mut Candidacy> {
        match &mut self.phase {
            Phase::Waiting(candidacy)
                if candidacy.request.voters.contains(from)
                    && candidacy.request.ticket(from) == ticket =>
            {
                Some(candidacy)
            }
            _ => None,
        }
    }

    fn on_reply(&mut self, from: ProcessId, ticket: Ticket, out: &mut Effects<Self>) {
        let Some(candidacy) = self.candidacy(from, ticket) else {
            return out.ignored("a vote for no request, or for one taken back");
        };
        candidacy.votes.insert(from);
        candidacy.failed.remove(from);
        self.enter_if_complete(out);
        self.yield_if_hopeless(out);
    }

    fn on_failed(&mut self, from: ProcessId, ticket: Ticket, out: &mut Effects<Self>) {
        let Some(candidacy) = self.candidacy(from, ticket) else {
            return out.ignored("a refusal of no request, or of one taken back");
        };
        if !candidacy.votes.contains(from) {
            candidacy.failed.insert(from);
            self.yield_if_hopeless(out);
        }
    }

    fn on_inquire(&mut self, from: ProcessId, ticket: Ticket, out: &mut Effects<Self>) {
        let Some(candidacy) = self.candidacy(from, ticket) else {
            return out.ignored("an inquiry after a vote that is used or returned");
        };
        candidacy.inquiries.insert(from);
        self.yield_if_hopeless(out);
    }

    fn on_acknowledge(&mut self, from: ProcessId, crashed: &ProcessSet, out: &mut Effects<Self>) {
        let Basis::Agreed { views, .. } = &mut self.basis else {
            return out.ignored("an acknowledgement that nobody needs");
        };
        if views.acknowledge(from, crashed) {
            self.reconsider(out);
        }
    }

    /// A process has come back and has forgotten whom it voted for: its votes of before are worth nothing.
    fn on_rejoin(&mut self, from: ProcessId, out: &mut Effects<Self>) {
        if let Basis::Agreed { .. } = self.basis {
            return out.ignored("a process that comes back where nobody may");
        }
        self.crashed.remove(from);
        self.ballot.forget(from, reply_sender(out));
        self.on_welcome(from, out);
        match &mut self.phase {
            Phase::Outside => out.send(from, Message::Welcome),
            Phase::Waiting(candidacy) => {
                candidacy.discount(from);
                candidacy.request.withdraw_from(from, R::FRESH_ATTEMPTS);
                out.send(from, Message::Welcome);
                self.reconsider(out);
            }
            Phase::Inside(request) => {
                request.voters.remove(from);
                self.welcomes_owed.insert(from);
            }
        }
    }

    fn on_welcome(&mut self, from: ProcessId, out: &mut Effects<Self>) {
        if !self.awaiting_welcome.remove(from) {
            return;
        }
        // What it asked before it knew that we were away, it asks again if it still wants it.
        self.ballot.forget(from, reply_sender(out));
        if self.awaiting_welcome.is_empty() {
            self.ballot.open(reply_sender(out));
        }
    }

    fn on_crash(&mut self, process: ProcessId, out: &mut Effects<Self>) {
        self.crashed.insert(process);
        self.ballot.forget(process, reply_sender(out));
        self.welcomes_owed.remove(process);
        match &mut self.phase {
            Phase::Outside => {}
            Phase::Waiting(candidacy) => {
                candidacy.discount(process);
                candidacy.request.withdraw_from(process, R::FRESH_ATTEMPTS);
            }
            Phase::Inside(request) => {
                request.voters.remove(process);
            }
        }
        self.acknowledge(out);
        self.on_welcome(process, out);
    }
}

/// Says something about a request to each of these voters.
fn send_to_voters<R: AttemptRule, O: VotingOutput>(
    request: &SentRequest,
    voters: &ProcessSet,
    message: fn(Ticket) -> Message,
    out: &mut Effects<QuorumVoting<R, O>>,
) {
    if voters.is_empty() {
        return;
    }
    if let Some(ticket) = request.only_ticket() {
        return out.multicast(voters.clone(), message(ticket));
    }
    request.by_ticket(voters).for_each(|(to, ticket)| out.multicast(to, message(ticket)));
}

fn reply_sender<R: AttemptRule, O: VotingOutput>(
    out: &mut Effects<QuorumVoting<R, O>>,
) -> impl FnMut(BallotReply<AttemptClaim>) + '_ {
    |answer| {
        let (claim, message): (AttemptClaim, fn(Ticket) -> Message) = match answer {
            BallotReply::Reply(claim) => (claim, Message::Reply),
            BallotReply::Inquire(claim) => (claim, Message::Inquire),
            BallotReply::Failed(claim) => (claim, Message::Failed),
        };
        out.send(claim.process(), message(claim.ticket()));
    }
}

impl<R: AttemptRule, O: VotingOutput> Process for QuorumVoting<R, O> {
    type Command = Command;
    type Message = Message;
    type Timer = Infallible;
    type Output = O;
    type Misuse = Misuse;

    fn on_command(&mut self, command: Command, out: &mut Effects<Self>) -> Result<(), Misuse> {
        match (command, &self.phase) {
            (Command::Acquire, Phase::Outside) => self.acquire(out),
            (Command::Acquire, _) => return Err(Misuse::AlreadyAsked),
            (Command::Release, Phase::Inside(_)) => self.release(out),
            (Command::Release, _) => return Err(Misuse::NotInside),
        }
        Ok(())
    }

    fn on_message(&mut self, from: ProcessId, message: Message, out: &mut Effects<Self>) {
        if self.retired {
            return out.ignored("this process has come back where nobody may");
        }
        if self.crashed.contains(from) && message != Message::Rejoin {
            return out.ignored("a message of a crashed process");
        }
        match message {
            Message::Request(ticket) => {
                self.clock.merge(ticket.time);
                self.ballot.request(ticket.of(from), reply_sender(out));
            }
            Message::Yield(ticket) => {
                self.ballot.give_back(ticket.of(from), reply_sender(out));
            }
            Message::Release(ticket) | Message::Cancel(ticket) => {
                self.ballot.release(ticket.of(from), reply_sender(out));
            }
            Message::Reply(ticket) => self.on_reply(from, ticket, out),
            Message::Failed(ticket) => self.on_failed(from, ticket, out),
            Message::Inquire(ticket) => self.on_inquire(from, ticket, out),
            Message::Acknowledge(crashed) => self.on_acknowledge(from, &crashed, out),
            Message::Rejoin => self.on_rejoin(from, out),
            Message::Welcome => self.on_welcome(from, out),
        }
    }

    fn on_belief(&mut self, belief: Belief, out: &mut Effects<Self>) {
        match (belief, &self.basis) {
            (Belief::Crashed(process), _) => self.on_crash(process, out),
            (Belief::Alive(process), Basis::Fixed(_)) => {
                self.crashed.remove(process);
            }
            (Belief::Alive(_), Basis::Agreed { .. }) => {
                return out.ignored("a process that comes back where nobody may");
            }
        }
        self.reconsider(out);
    }

    fn on_recovery(&mut self, out: &mut Effects<Self>) {
        let before = mem::replace(&mut self.phase, Phase::Outside);
        if let Phase::Inside(_) = before {
            out.output(Output::Expelled.into());
        }
        self.welcomes_owed.clear();
        if let Basis::Agreed { .. } = self.basis {
            self.retired = true;
            if let Phase::Waiting(_) = before {
                out.output(Output::NoQuorum.into());
            }
            return;
        }
        // What it believed of others may be out of date; its detector tells it anew.
        self.crashed.clear();
        self.ballot = Ballot::closed();
        self.awaiting_welcome = ProcessSet::others(self.basis.processes(), self.id);
        if self.awaiting_welcome.is_empty() {
            self.ballot.open(reply_sender(out));
        } else {
            out.multicast(self.awaiting_welcome.clone(), Message::Rejoin);
        }
        if let Phase::Waiting(_) = before {
            self.acquire(out);
        }
    }

    fn waits_for(&self) -> ProcessSet {
        match &self.phase {
            Phase::Waiting(candidacy) => &candidacy.quorum - &candidacy.votes,
            _ => self.ballot.holder(),
        }
    }
}

impl CoreMessage for Message {
    const KINDS: &'static [Kind] = &[
        Kind::mutex("REQUEST"),
        Kind::mutex("REPLY"),
        Kind::mutex("RELEASE"),
        Kind::mutex("INQUIRE"),
        Kind::mutex("FAILED"),
        Kind::mutex("YIELD"),
        Kind::mutex("CANCEL"),
        Kind::view("ACKNOWLEDGE"),
        Kind::view("REJOIN"),
        Kind::view("WELCOME"),
    ];

    fn kind(&self) -> usize {
        match self {
            Self::Request(_) => 0,
            Self::Reply(_) => 1,
            Self::Release(_) => 2,
            Self::Inquire(_) => 3,
            Self::Failed(_) => 4,
            Self::Yield(_) => 5,
            Self::Cancel(_) => 6,
            Self::Acknowledge(_) => 7,
            Self::Rejoin => 8,
            Self::Welcome => 9,
        }
    }

    fn stamp(&self) -> Option<u64> {
        match self {
            Self::Request(ticket) => Some(ticket.time),
            _ => None,
        }
    }
}

impl AttemptRule for Attempts {
    const PROFILE: Profile = Profile {
        name: "quorum",
        layer: Layer::Mutex,
        summary: "the votes of a quorum that changes with failures",
        source: "after Lopes' monograph on a quorum mutex over the VCube; Sanders, ACM TOCS 5(3), 1987",
        specimen: None,
        assumes: &[
            Assumption::NoLoss,
            Assumption::NoDuplication,
            Assumption::Fifo,
            Assumption::CrashStop,
            Assumption::PerfectDetector,
            Assumption::Honesty,
        ],
        guarantees: &[Property::ME1, Property::ME2],
        cost: "3K to 6K messages per entry, K the size of a quorum; a crash is acknowledged by everyone to everyone",
        never_quiescent: false,
    };

    const FRESH_ATTEMPTS: bool = true;
}

impl Sound for Quorum {}

impl<R: AttemptRule> Algorithm for QuorumVoting<R> {
    const PROFILE: Profile = R::PROFILE;

    const QUORUMS: &'static [&'static str] =
        &["vcube", "tree", "grid", "grid-fixed", "majority", "majority-live", "plane"];

    fn profile(setup: &Setup) -> Profile {
        match R::system(&setup.quorums) {
            AnySystem::PerView(_) => R::PROFILE,
            AnySystem::Fixed(_) => Profile {
                assumes: &[
                    Assumption::NoLoss,
                    Assumption::NoDuplication,
                    Assumption::Fifo,
                    Assumption::Memory,
                    Assumption::PerfectDetector,
                    Assumption::Honesty,
                ],
                ..R::PROFILE
            },
        }
    }

    fn build(setup: &Setup, id: ProcessId) -> Self {
        Self::new(id, &R::system(&setup.quorums), setup.clock(id), !setup.no_cancel)
    }

    fn cost(setup: &Setup) -> Cost {
        let basis = Basis::new(&R::system(&setup.quorums));
        let none = ProcessSet::new();
        let quorums = ProcessId::all(setup.n).filter_map(|id| basis.quorum(id, &none));
        let (least, most) = quorums.fold((usize::MAX, 0), |(least, most), quorum| {
            (least.min(quorum.len()), most.max(quorum.len()))
        });
        // Whoever has no quorum at all pays nothing.
        let (least, most) = (least.min(most) as u64, most as u64);
        Cost::between("3K to 6K", 3 * least, 6 * most).with_delays(0..=2, 0..=2)
    }
}
