//! Mutual exclusion by votes of a quorum that changes with failures: the monograph's algorithm, corrected
//! so that it excludes, at the price that it was published with.
//!
//! - **Source**: Lopes' monograph on a fault-tolerant quorum mutex over the VCube (Quadro 4.1), with quorums by
//!   Rodrigues. Sanders, "The Information Structure of Distributed Mutual Exclusion Algorithms", ACM TOCS 5(3), 1987, has
//!   the cause of its deadlock. Settled quorums are our own. The proof is in `docs/settled-quorums.md`.
//! - **Assumes**: fixed membership; links that neither lose nor duplicate and keep the order of messages; a perfect
//!   detector. Over view-dependent systems, which must be monotone, crashed processes never recover. Over fixed coteries
//!   they may recover if they remember that they were down.
//! - **Guarantees**: ME1. ME2 with up to n - 1 crashes over view-dependent systems, and over fixed coteries while a
//!   quorum is alive. If no quorum is alive, the process reports this and gives up. Not ME3.
//! - **Costs**: 3K messages for a quorum of K, including the process itself, without contention or failures; up to 6K
//!   with contention. A crash costs at most 3(n - 1) messages, over view-dependent systems only. Over the VCube diagnosis
//!   it costs none, because acknowledgements piggyback on its answers and take up to log2 n rounds. Two message delays
//!   into a free section, two from the holder to its successor.
//! - **Departs from the paper**: (1) A candidate returns a vote whenever it is asked for it, unless it is inside, as in
//!   Agrawal and El Abbadi's algorithm. As printed, it returns it only after a FAILED, which not every waiting request
//!   receives, and the algorithm deadlocks. Sanders' correction is to send FAILED to all of them; this way none is sent.
//!   (2) Over view-dependent systems processes acknowledge crashes, only while outside the section. A crash is settled
//!   when all processes that have not crashed have acknowledged it. A process asks the quorum of the settled crashes, not
//!   of those that it believes in, and needs all of its votes. As printed, the algorithm lets two processes in. (3) A
//!   request carries an attempt, fresh after each CANCEL to that voter, and every answer echoes it. (4) A process that
//!   recovers asks all others for a welcome before it votes, and its votes that no request needs are returned. (5) On
//!   request it never sends CANCEL and keeps the votes until it leaves.

mod over_coteries;
mod over_views;
mod phase_rows;
mod piggyback;
#[cfg(test)]
mod tests;

use alloc::vec::Vec;
use core::convert::Infallible;
use core::fmt::Debug;
use core::hash::Hash;
use core::marker::PhantomData;
use core::mem;

use quorate_core::mutex::{Command, Misuse, Output};
use quorate_core::quorum::{AnySystem, QuorumSystem};
use quorate_core::{
    Assumption, Belief, Cost, Effects, Kind, LamportClock, Layer, Message as CoreMessage,
    Permission, Process, ProcessId, ProcessSet, Profile, Property,
};

pub use over_coteries::OverCoteries;
pub use over_views::OverViews;
use piggyback::VotingOutput;

use super::voting::{
    Agreement, AttemptClaim, Ballot, BallotReply, Basis, Candidacy, Claim, Gathering,
    SYNCHRONISATION_DIFFERS, SentRequest, Ticket, Views,
};
pub(super) use super::voting::{RoundMessage, ViewRule};
use crate::literature::{MutexFigure, Prediction};
use crate::{Algorithm, Setup, Sound};

/// One process of the algorithm.
pub type Quorum = QuorumVoting<SettledQuorums>;

/// The differences between the algorithm and its variants.
pub trait VotingRules: Clone + Eq + Hash + Debug + Send + Sync {
    /// The profile of the algorithm with these rules.
    const PROFILE: Profile;

    /// The quorums over view-dependent systems.
    const OVER_VIEWS: ViewRule;

    /// Names of the supported quorum systems, the default first.
    const QUORUMS: &'static [&'static str];

    /// Whether a cancelled request is sent again under a new attempt number.
    const FRESH_ATTEMPTS: bool = true;

    /// The quorum system to use instead of the requested one.
    fn system(requested: &AnySystem) -> AnySystem {
        requested.clone()
    }
}

/// The rules of the algorithm: quorums of the settled crashes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SettledQuorums;

/// A process that enters with the votes of its quorum. `O` is its output: [`Output`] of a mutex, or
/// [`piggyback::PiggybackOutput`] if the layer below transports its acknowledgements.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct QuorumVoting<R, O = Output> {
    id: ProcessId,
    basis: Basis,
    /// Whether votes that are no longer needed are returned before leaving.
    cancels: bool,
    crashed: ProcessSet,
    clock: LamportClock,
    ballot: Ballot<AttemptClaim>,
    phase: Phase,
    /// After a recovery: the processes whose welcome is still missing.
    awaiting_welcome: ProcessSet,
    /// Processes that may have recovered: those that have said so, and after an own recovery all others.
    rejoined: ProcessSet,
    /// The processes to welcome after leaving the section.
    welcomes_owed: ProcessSet,
    /// Set if the process has recovered although the basis does not allow it. It then takes no further part.
    retired: bool,
    rule: PhantomData<(R, O)>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Phase {
    Outside,
    Waiting(Candidacy),
    Inside(SentRequest),
}

/// A message of the algorithm.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// A candidate requests the vote.
    Request(Ticket),
    /// A voter gives its vote to the candidate.
    Reply(Ticket),
    /// A candidate has left the section.
    Release(Ticket),
    /// A voter asks for its vote back.
    Inquire(Ticket),
    /// A candidate returns the vote but keeps its request.
    Yield(Ticket),
    /// A candidate no longer needs the vote.
    Cancel(Ticket),
    /// The sender has dropped all votes of these crashed processes and is outside the section.
    Acknowledge(ProcessSet),
    /// The sender has recovered from a crash.
    Rejoin,
    /// The sender does not use any earlier vote of the recipient.
    Welcome,
    /// A step of a round in which acknowledgements are gathered.
    Round(RoundMessage),
}

impl<R: VotingRules, O: VotingOutput> QuorumVoting<R, O> {
    /// Creates process `id` over a quorum system. A process that never cancels keeps all votes until it leaves.
    pub fn new(id: ProcessId, system: &AnySystem, clock: LamportClock, cancels: bool) -> Self {
        let none = ProcessSet::new;
        let (basis, ballot) = (Self::basis(system, id), Ballot::default());
        let (crashed, awaiting_welcome, welcomes_owed) = (none(), none(), none());
        let rejoined = none();
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
            rejoined,
            welcomes_owed,
            retired,
            rule,
        }
    }

    fn basis(system: &AnySystem, id: ProcessId) -> Basis {
        let n = system.processes();
        let agreement = match R::OVER_VIEWS {
            ViewRule::Settled if !O::PIGGYBACKS => Agreement::Gathered(Gathering::new(n, id)),
            _ => Agreement::ToAll(Views::new(n)),
        };
        Basis::new(system, R::OVER_VIEWS, agreement)
    }

    fn acquire(&mut self, out: &mut Effects<Self>) {
        if self.retired {
            return out.output(Output::NoQuorum.into());
        }
        self.phase = Phase::Waiting(Candidacy::new(self.clock.tick()));
        self.reconsider(out);
    }

    /// Adopts the quorum of the present view: asks new members, cancels at removed members, gives up if no quorum
    /// exists, and enters if the quorum is complete.
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
                candidacy.votes.remove(voter);
                candidacy.request.withdraw_from(voter, R::FRESH_ATTEMPTS);
            }
        }
        let new = &(&quorum - &candidacy.request.voters) - &self.crashed;
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

    /// Acknowledges the crashes that this process knows to all live processes, if there are new ones and it is outside.
    /// It sends messages of its own, unless the layer below piggybacks the acknowledgement.
    fn acknowledge(&mut self, out: &mut Effects<Self>) {
        if matches!(self.phase, Phase::Inside(_)) {
            return;
        }
        let Basis::Agreed { agreement, .. } = &mut self.basis else { return };
        let views = match agreement {
            Agreement::ToAll(views) => views,
            Agreement::Gathered(gathering) => {
                gathering.acknowledge(&self.crashed, round_sender(out));
                return;
            }
        };
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

    /// The candidacy to which a voter's message refers, if it is the present one.
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
            self.return_stray(from, ticket, out);
            return out.ignored("a vote for no request, or for one taken back");
        };
        candidacy.votes.insert(from);
        self.enter_if_complete(out);
    }

    /// Returns a vote that no request of this process needs. A request may reach its voter after the voter has crashed and
    /// recovered: the candidate has withdrawn it by then, and would never release it. Any other voter has crashed, or
    /// receives a CANCEL or RELEASE.
    fn return_stray(&self, from: ProcessId, ticket: Ticket, out: &mut Effects<Self>) {
        let is_kept = match &self.phase {
            Phase::Inside(request) => {
                request.voters.contains(from) && request.ticket(from) == ticket
            }
            _ => false,
        };
        if self.rejoined.contains(from) && !is_kept {
            out.send(from, Message::Release(ticket));
        }
    }

    /// Returns the vote. A candidate that returned it only if it could not win would have to be told that: by FAILED, for
    /// every request that waits. This way no such message is needed.
    fn on_inquire(&mut self, from: ProcessId, ticket: Ticket, out: &mut Effects<Self>) {
        let candidacy = self.candidacy(from, ticket);
        if candidacy.is_some_and(|candidacy| candidacy.votes.remove(from)) {
            out.send(from, Message::Yield(ticket));
        } else {
            out.ignored("an inquiry after a vote that is used or returned");
        }
    }

    fn on_acknowledge(&mut self, from: ProcessId, crashed: &ProcessSet, out: &mut Effects<Self>) {
        let Basis::Agreed { agreement: Agreement::ToAll(views), .. } = &mut self.basis else {
            return out.ignored("an acknowledgement that no process needs");
        };
        if views.acknowledge(from, crashed) {
            self.reconsider(out);
        }
    }

    fn on_round(&mut self, from: ProcessId, message: RoundMessage, out: &mut Effects<Self>) {
        let Basis::Agreed { agreement: Agreement::Gathered(gathering), .. } = &mut self.basis
        else {
            return out.ignored("a round of acknowledgements that no process needs");
        };
        if gathering.on_message(from, message, round_sender(out)) {
            self.reconsider(out);
        }
    }

    /// Handles a process that has recovered and has forgotten for which request it voted. Its earlier votes are void.
    fn on_rejoin(&mut self, from: ProcessId, out: &mut Effects<Self>) {
        let Basis::Fixed(_) = self.basis else {
            return out.ignored("a process that comes back where nobody may");
        };
        self.rejoined.insert(from);
        self.crashed.remove(from);
        self.ballot.forget(from, reply_sender(out));
        self.on_welcome(from, out);
        match &mut self.phase {
            Phase::Outside => out.send(from, Message::Welcome),
            Phase::Waiting(candidacy) => {
                candidacy.votes.remove(from);
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
        // Requests that the process sent before it knew of this recovery are dropped. It sends them again if
        // it still needs them.
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
                candidacy.votes.remove(process);
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

/// Sends a message about a request to each of these voters, with the ticket that the voter knows.
fn send_to_voters<R: VotingRules, O: VotingOutput>(
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

fn round_sender<R: VotingRules, O: VotingOutput>(
    out: &mut Effects<QuorumVoting<R, O>>,
) -> impl FnMut(ProcessSet, RoundMessage) + '_ {
    |to, message| out.multicast(to, Message::Round(message))
}

fn reply_sender<R: VotingRules, O: VotingOutput>(
    out: &mut Effects<QuorumVoting<R, O>>,
) -> impl FnMut(BallotReply<AttemptClaim>) + '_ {
    |answer| match answer {
        BallotReply::Reply(claim) => out.send(claim.process(), Message::Reply(claim.ticket())),
        BallotReply::Inquire(claim) => out.send(claim.process(), Message::Inquire(claim.ticket())),
        // A candidate returns a vote whenever it is asked, so it need not know that it cannot win for now.
        BallotReply::Failed(_) => {}
    }
}

impl<R: VotingRules, O: VotingOutput> Process for QuorumVoting<R, O> {
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
            if let Message::Reply(ticket) = message {
                self.return_stray(from, ticket, out);
            }
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
            Message::Inquire(ticket) => self.on_inquire(from, ticket, out),
            Message::Acknowledge(crashed) => self.on_acknowledge(from, &crashed, out),
            Message::Round(message) => self.on_round(from, message, out),
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
            (Belief::Alive(_), _) => {
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
        let Basis::Fixed(_) = self.basis else {
            self.retired = true;
            if let Phase::Waiting(_) = before {
                out.output(Output::NoQuorum.into());
            }
            return;
        };
        // The beliefs about other processes may be out of date. The detector reports them again.
        self.crashed.clear();
        self.ballot = Ballot::closed();
        self.awaiting_welcome = ProcessSet::others(self.basis.processes(), self.id);
        self.rejoined = self.awaiting_welcome.clone();
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

    fn permission(&self) -> Permission {
        Permission::given_to(&self.ballot.holder())
    }
}

impl CoreMessage for Message {
    const KINDS: &'static [Kind] = &[
        Kind::mutex("REQUEST"),
        Kind::mutex("REPLY"),
        Kind::mutex("RELEASE"),
        Kind::mutex("INQUIRE"),
        Kind::mutex("YIELD"),
        Kind::mutex("CANCEL"),
        Kind::view("ACKNOWLEDGE"),
        Kind::view("REJOIN"),
        Kind::view("WELCOME"),
        Kind::view("GATHER"),
        Kind::view("GATHERED"),
        Kind::view("SETTLED"),
    ];

    fn kind(&self) -> usize {
        match self {
            Self::Request(_) => 0,
            Self::Reply(_) => 1,
            Self::Release(_) => 2,
            Self::Inquire(_) => 3,
            Self::Yield(_) => 4,
            Self::Cancel(_) => 5,
            Self::Acknowledge(_) => 6,
            Self::Rejoin => 7,
            Self::Welcome => 8,
            Self::Round(RoundMessage::Gather(_)) => 9,
            Self::Round(RoundMessage::Gathered(_)) => 10,
            Self::Round(RoundMessage::Settled(_)) => 11,
        }
    }

    fn stamp(&self) -> Option<u64> {
        match self {
            Self::Request(ticket) => Some(ticket.time),
            _ => None,
        }
    }
}

impl VotingRules for SettledQuorums {
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
        cost: "3K to 6K messages per entry, K the size of a quorum; at most 3(n - 1) more for each crash",
        never_quiescent: false,
    };

    const OVER_VIEWS: ViewRule = ViewRule::Settled;

    const QUORUMS: &'static [&'static str] =
        &["vcube", "tree", "grid", "grid-fixed", "majority", "majority-live", "plane", "wall"];
}

impl Sound for Quorum {}

impl<R: VotingRules> Algorithm for QuorumVoting<R> {
    const PROFILE: Profile = R::PROFILE;

    const QUORUMS: &'static [&'static str] = R::QUORUMS;

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
        let (system, none) = (R::system(&setup.quorums), ProcessSet::new());
        let basis = Self::basis(&system, ProcessId::new(0));
        let quorums = ProcessId::all(setup.n).filter_map(|id| basis.quorum(id, &none));
        let (least, most) = quorums.fold((usize::MAX, 0), |(least, most), quorum| {
            (least.min(quorum.len()), most.max(quorum.len()))
        });
        // A process without any quorum has no cost.
        let (least, most) = (least.min(most) as u64, most as u64);
        Cost::between("3K to 6K", 3 * least, 6 * most).with_delays(0..=2, 0..=2)
    }

    fn predict_entry(figure: MutexFigure, setup: &Setup, _: &[Vec<ProcessId>]) -> Prediction {
        let promised = Prediction::of_cost(figure, &Self::cost(setup));
        match figure {
            MutexFigure::Synchronisation => promised.with_difference(SYNCHRONISATION_DIFFERS),
            _ => promised,
        }
    }
}
