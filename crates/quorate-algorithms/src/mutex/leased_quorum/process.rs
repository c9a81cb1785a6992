//! One lock as a [`Process`], for the simulator, the checker and campaigns.
//!
//! Every process is a client with its own candidate. With majorities, the last three processes are also voters (all
//! processes if there are fewer), so that with more than three processes the first ones are pure clients. Given quorums
//! make every process a voter. A process that recovers with its memory models a process that was killed and has read
//! its vote file: its client is a new one, outside the section.

mod changing;
mod over_locks;

use alloc::vec::Vec;

use quorate_core::mutex::{Command, Misuse, Output, voters};
use quorate_core::quorum::{AnyCoterie, AnySystem, Majority};
use quorate_core::{
    Assumption, Belief, Cost, Effects, Layer, Process, ProcessId, ProcessSet, Profile, Property,
    Span, Time,
};

pub use self::changing::{ChangingMessage, ChangingTimer, LeasedQuorumChanging, Members};
pub use self::over_locks::{
    ClientName, FollowedClient, FollowedKind, FollowedLock, OverLocks, Restart,
};
use super::client::{Client, ClientEvent};
use super::direct::{DirectClient, DirectEffect, DirectEffects};
use super::electorate::Electorate;
use super::id::{CandidateId, RequestId};
use super::terms::Terms;
use super::voter::{PeerMessage, RestartId, Voter, VoterEffect, VoterEffects};
use super::wire::Message;
use crate::literature::{MutexFigure, Prediction};
use crate::{Algorithm, Setup, Shape, Sound};

/// One process: a client, and a voter if it is one of the last three.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LeasedQuorum {
    id: ProcessId,
    cluster: Cluster,
    voter: Option<Voter<()>>,
    client: DirectClient<()>,
    /// The request that waits or is inside.
    request: Option<RequestId>,
    /// Number of beats since the request was made.
    renewed: u32,
    /// Number of restarts of the process.
    restarts: u64,
    /// The end of validity for which a timer is set. Extending the validity does not change the timer.
    expires: Option<Time>,
    /// The lapse of a session for which a timer is set.
    lapses: Option<Time>,
}

/// The configuration that all processes share, or the newest one that this process knows.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Cluster {
    /// The process that is voter 0.
    first: u32,
    /// Number of processes from that one on that are voters, now or in another configuration.
    voters_most: u32,
    electorate: Electorate,
    /// The electorate of the configuration before, until the present one is settled.
    previous: Option<Electorate>,
    terms: Terms,
    /// Number of beats per request after which a client gives up, if any.
    renewals: Option<u32>,
}

/// The timers of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Timer {
    /// The client begins its next beat, or gives up.
    Beat,
    /// The client's validity ends, unless it was extended.
    Validity,
    /// A session lapses at the voter, unless a newer beat has arrived.
    Lapse,
}

impl Cluster {
    fn new(setup: &Setup) -> Self {
        let terms = Terms::fixed(setup.lease, setup.clock.limits.drift);
        let (first, coterie) = match &setup.quorums {
            AnySystem::Fixed(given @ AnyCoterie::Given(_)) => (0, given.clone()),
            _ => {
                let voters = voters(setup.n);
                let first = voters.first().map_or(0, ProcessId::number);
                (first, AnyCoterie::Majority(Majority::new(voters.len())))
            }
        };
        let electorate = Electorate::new(coterie);
        let (voters_most, renewals) = (electorate.len() as u32, setup.renewals);
        Self { first, voters_most, electorate, previous: None, terms, renewals }
    }

    /// The process of this voter.
    fn process_of(&self, voter: ProcessId) -> ProcessId {
        ProcessId::new(self.first + voter.number())
    }

    /// The voter at this process, if any.
    fn voter_of(&self, process: ProcessId) -> Option<ProcessId> {
        let voter = process.number().checked_sub(self.first)?;
        (voter < self.voters_most).then_some(ProcessId::new(voter))
    }

    fn voters(&self) -> ProcessSet {
        self.electorate.all().iter().map(|voter| self.process_of(voter)).collect()
    }

    fn voter(&self, process: ProcessId) -> Option<Voter<()>> {
        let voter = self.voter_of(process)?;
        Some(Voter::new(voter, self.electorate.clone(), self.terms))
    }

    fn client(&self, process: ProcessId, incarnation: u64) -> DirectClient<()> {
        let number = u64::from(process.number());
        let client = Client::new(number.into(), incarnation, self.terms.ttl_most, self.terms);
        DirectClient::new(client, CandidateId(number), self.electorate.clone())
    }
}

impl LeasedQuorum {
    fn new(cluster: Cluster, id: ProcessId) -> Self {
        let (voter, client) = (cluster.voter(id), cluster.client(id, 0));
        let (request, renewed, restarts, expires, lapses) = (None, 0, 0, None, None);
        Self { id, cluster, voter, client, request, renewed, restarts, expires, lapses }
    }

    fn is_inside(&self) -> bool {
        self.client.client().held().next().is_some()
    }

    /// Asks the preferred voters. The request carries the beat that opens or extends the session.
    fn acquire(&mut self, out: &mut Effects<Self>) {
        self.client.note_beat(out.now().0, out.now());
        self.catch_up(out);
        let mut request = None;
        self.with_client(out.now(), out, |client, now, effects| {
            request = Some(client.acquire((), 0, now, effects));
        });
        (self.request, self.renewed) = (request, 0);
        self.await_beat(out);
    }

    /// Adopts a newer configuration. The client needs it only for a request.
    fn adopt(
        &mut self,
        electorate: Electorate,
        previous: Option<Electorate>,
        out: &mut Effects<Self>,
    ) {
        self.cluster.electorate = electorate.clone();
        self.cluster.previous.clone_from(&previous);
        self.with_voter(out.now(), out, |voter, now, effects| {
            voter.adopt(electorate, previous, now, effects);
        });
        if self.request.is_some() {
            self.catch_up(out);
        }
    }

    /// Takes note that the present configuration is settled.
    fn settled(&mut self) {
        self.cluster.previous = None;
        self.voter.iter_mut().for_each(Voter::settled);
    }

    /// Lets the client adopt the newest configuration.
    fn catch_up(&mut self, out: &mut Effects<Self>) {
        let Cluster { electorate, terms, .. } = &self.cluster;
        if electorate.index() > self.client.candidate().electorate().index() {
            let (electorate, terms) = (electorate.clone(), *terms);
            self.with_client(out.now(), out, |client, now, effects| {
                client.adopt(electorate, terms, now, effects);
            });
        }
    }

    /// Returns `true` if the client may not renew its lease any more.
    fn renewals_exhausted(&self) -> bool {
        self.cluster.renewals.is_some_and(|most| self.renewed >= most)
    }

    fn await_beat(&self, out: &mut Effects<Self>) {
        let ttl = self.cluster.terms.ttl_most;
        out.set_timer(Timer::Beat, if self.renewals_exhausted() { ttl } else { Terms::beat(ttl) });
    }

    /// Renews the lease and repeats messages that may have been lost. Gives up if the renewals are exhausted.
    fn beat(&mut self, out: &mut Effects<Self>) {
        if self.renewals_exhausted() {
            if !self.is_inside() {
                self.release(out);
                out.output(Output::NoQuorum);
            }
            return;
        }
        self.renewed += 1;
        self.with_client(out.now(), out, |client, now, effects| {
            client.beat_at_least(now.0, now, effects);
        });
        self.await_beat(out);
    }

    /// Releases the request. An idle client sends no beats, so its session lapses.
    fn release(&mut self, out: &mut Effects<Self>) {
        let Some(request) = self.request.take() else { return };
        self.with_client(out.now(), out, |client, now, effects| {
            client.release(request, now, effects);
        });
        out.cancel_timer(Timer::Beat);
    }

    fn with_client(
        &mut self,
        now: Time,
        out: &mut Effects<Self>,
        input: impl FnOnce(&mut DirectClient<()>, Time, &mut DirectEffects<()>),
    ) {
        let mut effects = Vec::new();
        input(&mut self.client, now, &mut effects);
        for effect in effects {
            match effect {
                DirectEffect::Send(voter, message) => {
                    out.send(self.cluster.process_of(voter), Message::ToVoter(message));
                }
                DirectEffect::Event(event) => self.tell_user(event, out),
                DirectEffect::Refused(_) => out.ignored("a refusal: all have the same terms"),
            }
        }
        match (self.client.next_wake(), self.expires) {
            (Some(end), None) => {
                self.expires = Some(end);
                out.set_timer(Timer::Validity, end.since(now));
            }
            (None, Some(_)) => {
                self.expires = None;
                out.cancel_timer(Timer::Validity);
            }
            _ => {}
        }
    }

    fn tell_user(&mut self, event: ClientEvent, out: &mut Effects<Self>) {
        match event {
            ClientEvent::Entered { .. } => out.output(Output::Entered),
            ClientEvent::Lost { .. } => {
                self.request = None;
                out.cancel_timer(Timer::Beat);
                out.output(Output::Expelled);
            }
            // Queue positions are not reported here, and no request is ended by force.
            ClientEvent::Waiting(..) | ClientEvent::Again(_) | ClientEvent::Gone(_) => {}
        }
    }

    fn with_voter(
        &mut self,
        now: Time,
        out: &mut Effects<Self>,
        input: impl FnOnce(&mut Voter<()>, Time, &mut VoterEffects<()>),
    ) {
        let Some(voter) = &mut self.voter else { return };
        let mut effects = Vec::new();
        voter.set_wall_clock(now.0 / Span::from_millis(1).0);
        input(voter, now, &mut effects);
        for effect in effects {
            match effect {
                VoterEffect::Send(CandidateId(process), message) => {
                    out.send(ProcessId::new(process as u32), Message::ToCandidate(message));
                }
                // Every voter reads the wall clock.
                VoterEffect::SendPeer(_, PeerMessage::Clock(_)) => {}
                VoterEffect::SendPeer(to, message) => {
                    out.send(self.cluster.process_of(to), Message::ToPeer(message));
                }
                // The process keeps its memory, which models the vote file.
                VoterEffect::Persist(_) | VoterEffect::Reserve(_) => {}
            }
        }
        // All sessions have the same time-to-live, so a session with a later beat does not lapse earlier.
        if self.lapses.is_none()
            && let Some(lapses) = voter.next_wake()
        {
            self.lapses = Some(lapses);
            out.set_timer(Timer::Lapse, lapses.since(now));
        }
    }
}

impl Process for LeasedQuorum {
    type Command = Command;
    type Message = Message;
    type Timer = Timer;
    type Output = Output;
    type Misuse = Misuse;

    fn on_command(&mut self, command: Command, out: &mut Effects<Self>) -> Result<(), Misuse> {
        match (command, self.request) {
            (Command::Acquire, None) => self.acquire(out),
            (Command::Acquire, Some(_)) => return Err(Misuse::AlreadyAsked),
            (Command::Release, Some(_)) if self.is_inside() => self.release(out),
            (Command::Release, _) => return Err(Misuse::NotInside),
        }
        Ok(())
    }

    fn on_message(&mut self, from: ProcessId, message: Message, out: &mut Effects<Self>) {
        match (message, self.cluster.voter_of(from)) {
            (Message::ToVoter(_) | Message::ToPeer(_), _) if self.voter.is_none() => {
                out.ignored("a message for a voter at a process that is none");
            }
            (Message::ToVoter(message), _) => {
                let candidate = CandidateId(from.number().into());
                self.with_voter(out.now(), out, |voter, now, effects| {
                    voter.on_message(candidate, message, now, effects);
                });
            }
            (Message::ToCandidate(message), Some(voter)) => {
                self.with_client(out.now(), out, |client, now, effects| {
                    client.on_message(voter, message, now, effects);
                });
            }
            (Message::ToPeer(message), Some(peer)) => {
                self.with_voter(out.now(), out, |voter, _, effects| {
                    voter.on_peer(peer, message, effects);
                });
            }
            (Message::ToCandidate(_) | Message::ToPeer(_), None) => {
                out.ignored("a voter's message of another process");
            }
        }
    }

    /// A timer may fire slightly early by the clock. The event for which it was set is handled as due.
    fn on_timer(&mut self, timer: Timer, out: &mut Effects<Self>) {
        match timer {
            Timer::Beat => self.beat(out),
            Timer::Validity => {
                let now = self.expires.take().unwrap_or_default().max(out.now());
                self.with_client(now, out, DirectClient::wake);
            }
            Timer::Lapse => {
                let now = self.lapses.take().unwrap_or_default().max(out.now());
                self.with_voter(now, out, Voter::wake);
            }
        }
    }

    /// A suspected voter is only avoided. A wrong suspicion costs nothing but messages.
    fn on_belief(&mut self, belief: Belief, out: &mut Effects<Self>) {
        let Some(voter) = self.cluster.voter_of(belief.about()) else { return };
        self.with_client(out.now(), out, |client, now, effects| match belief {
            Belief::Crashed(_) => client.avoid(voter, now, effects),
            Belief::Alive(_) => client.resume(voter, now, effects),
        });
    }

    fn on_recovery(&mut self, out: &mut Effects<Self>) {
        let was_inside = self.is_inside();
        self.restarts += 1;
        self.client = self.cluster.client(self.id, self.restarts);
        (self.expires, self.lapses) = (None, None);
        let restart_id = RestartId { incarnation: 0, number: self.restarts };
        let restored = |voter: Voter<()>| {
            let new = self.cluster.voter(self.id)?;
            let restored = new.restored(restart_id, voter.records(), out.now());
            let Cluster { electorate, previous, .. } = &self.cluster;
            Some(restored.in_configuration(electorate.clone(), previous.clone(), out.now()))
        };
        self.voter = self.voter.take().and_then(restored);
        self.with_voter(out.now(), out, |_, _, _| {});
        match self.request.take() {
            Some(_) if was_inside => out.output(Output::Expelled),
            Some(_) => self.acquire(out),
            None => {}
        }
    }

    fn visit_shift_invariant(&mut self, show: &mut dyn FnMut(&mut u64)) {
        self.client.moments(show);
        if let Some(voter) = &mut self.voter {
            voter.beat_numbers(show);
            voter.moments(show);
        }
        self.expires.iter_mut().for_each(|time| show(&mut time.0));
        self.lapses.iter_mut().for_each(|time| show(&mut time.0));
    }

    fn waits_for(&self) -> ProcessSet {
        match self.request {
            Some(_) if !self.is_inside() => self.cluster.voters(),
            _ => ProcessSet::new(),
        }
    }
}

impl Sound for LeasedQuorum {}

impl Algorithm for LeasedQuorum {
    const PROFILE: Profile = Profile {
        name: "leased-quorum",
        layer: Layer::Mutex,
        summary: "votes are leases; the last three processes vote, and locks outlive voters",
        source: "after Maekawa, ACM TOCS 3(2), 1985; Gray and Cheriton, SOSP 1989",
        specimen: None,
        assumes: &[
            Assumption::BoundedDrift,
            Assumption::EventualSynchrony,
            Assumption::Memory,
            Assumption::QuorumUp,
            Assumption::Honesty,
        ],
        guarantees: &[Property::ME1, Property::ME2],
        cost: "3K to 5K messages per entry without rivals, K the size of a quorum; while waiting or inside, 2 per voter each third of a ttl",
        never_quiescent: true,
    };

    const QUORUMS: &'static [&'static str] = &["majority"];

    const SHAPE: Shape = Shape::Everybody;

    fn build(setup: &Setup, id: ProcessId) -> Self {
        Self::new(Cluster::new(setup), id)
    }

    fn cost(setup: &Setup) -> Cost {
        let electorate = Cluster::new(setup).electorate;
        let quorum = electorate.preferred(&(), &ProcessSet::new()).len() as u64;
        // 5K if the voters' numbers differ, so that each voter has to confirm the token.
        Cost::between("3K to 5K", 3 * quorum, 5 * quorum).with_delays(0..=2, 0..=2)
    }

    fn predict_entry(figure: MutexFigure, setup: &Setup, _: &[Vec<ProcessId>]) -> Prediction {
        let cost = Self::cost(setup);
        let promised = Prediction::of_cost(figure, &cost);
        match figure {
            MutexFigure::Saturated => {
                let least = *cost.messages.start() as f64;
                Prediction::between("3K to infinity", least, f64::INFINITY).with_remark(
                    "a waiting process sends beats and repeats its request each third of a ttl: messages per entry \
                     grow with the waiting time",
                )
            }
            MutexFigure::Synchronisation => promised.with_difference(
                "2 is RELEASE and then VOTE: less where the voter is one of the two itself, more where a vote is first \
                 asked back",
            ),
            MutexFigure::Light | MutexFigure::Client => promised,
        }
    }
}
