//! Voters, candidates and clients of leases in disorder: the parts of leased-quorum with inputs that its process in the catalogue
//! never gives them.
//!
//! Clients use nodes or reach the voters themselves. Messages arrive late, twice, at the wrong party or with other
//! numbers; voters restart with and without their file; requests are ended by force, withdrawn and forgotten. After each input a
//! digest takes the effects, the state and the answers to all questions.

#[path = "changing.rs"]
mod changing;

use std::fmt::Debug;
use std::hash::Hash;
use std::io::Write as _;

use quorate_algorithms::mutex::leased_quorum::{
    Candidate, CandidateEffect, CandidateEffects, CandidateId, Client, ClientEvent, DirectClient,
    DirectEffect, DirectEffects, Electorate, Memory, PeerMessage, Record, Report, RequestId,
    RestartId, Terms, ToCandidate, ToVoter, Voter, VoterEffect, VoterEffects, VoterSession,
};
use quorate_core::quorum::AnyCoterie;
use quorate_core::{Drift, ProcessId, Span, Time};
use quorate_sim::random::{Random, Stream};

use crate::fnv::Fnv;
use crate::lease_messages;

/// Number of runs, each with a seed of its own.
const SEEDS: u64 = 24;

/// Number of inputs of a run.
const INPUTS: usize = 1500;

/// Number of candidates in nodes for each client that does not reach the voters itself.
const NODES: usize = 2;

const LOCKS: u64 = 3;
const TTL: Span = Span(9_000);

const TERMS: Terms = Terms { ttl_least: Span(3_000), ttl_most: TTL, drift: Drift::NONE };

/// A message on its way: its sender if that matters, its recipient and its contents.
#[derive(Clone, Debug)]
pub(crate) enum Envelope {
    Voter(CandidateId, ProcessId, ToVoter<u8>),
    Candidate(ProcessId, CandidateId, ToCandidate<u8>),
    Peer(ProcessId, ProcessId, PeerMessage),
    Caller(usize, Report),
}

/// A voter with its vote file.
struct Node {
    voter: Voter<u8>,
    file: Vec<Record<u8>>,
    /// Numbers that the voter has asked to make durable.
    reserving: Option<u64>,
    restarts: u64,
}

/// Voters, candidates and clients, and all messages that were sent and not delivered.
struct Leases {
    random: Random,
    now: Time,
    electorate: Electorate,
    nodes: Vec<Node>,
    /// Clients that use candidates in nodes. Client `c` uses the candidates from `c * NODES` on.
    callers: Vec<Client<u8>>,
    relays: Vec<Candidate<u8>>,
    /// Clients that reach the voters themselves. Their candidates are numbered after the relays.
    direct: Vec<DirectClient<u8>>,
    messages: Vec<Envelope>,
    digest: Fnv,
}

impl Leases {
    fn new(seed: u64) -> Self {
        let (quorums, n) = [("majority", 3), ("grid-fixed", 4), ("majority", 5)][seed as usize % 3];
        let coterie = AnyCoterie::by_name(quorums, n).expect("a coterie");
        Self::with_voters(seed, Electorate::new(coterie), n)
    }

    /// Some of `n` nodes vote.
    fn with_voters(seed: u64, electorate: Electorate, n: usize) -> Self {
        let node = |id| {
            let voter = Voter::new(id, electorate.clone(), TERMS);
            let voter = voter.with_ceiling(2 + seed % 3).with_ballots_most(1);
            Node { voter, file: Vec::new(), reserving: None, restarts: 0 }
        };
        // The last two processes share a session.
        let client = |number: u128| {
            let incarnation = 7 + number as u64;
            Client::new(number.min(3), incarnation, TTL, TERMS)
        };
        let (callers, direct) = (vec![client(0), client(1)], [client(2), client(3), client(4)]);
        let relay = |id: usize| {
            let session = callers[id / NODES].presented();
            let id = CandidateId(id as u64);
            Candidate::new(id, electorate.clone(), session).recording_entries()
        };
        let relays: Vec<Candidate<u8>> = (0..callers.len() * NODES).map(relay).collect();
        let first = relays.len() as u64;
        let direct = direct
            .into_iter()
            .zip(first..)
            .map(|(client, id)| DirectClient::new(client, CandidateId(id), electorate.clone()));
        Self {
            random: Random::new(seed, Stream::Worlds),
            now: Time(1),
            nodes: ProcessId::all(n).map(node).collect(),
            direct: direct.collect(),
            electorate,
            callers,
            relays,
            messages: Vec::new(),
            digest: Fnv::new(),
        }
    }

    fn step(&mut self) {
        self.input();
        if self.random.chance(0.004) {
            self.restart();
        }
    }

    /// Draws an input and passes it on.
    fn input(&mut self) {
        let pause = if self.random.chance(0.02) { TTL.0 / 2 } else { TTL.0 / 60 };
        self.now = self.now + Span(self.random.below(pause));
        match self.random.below(24) {
            0..=13 => self.deliver(),
            14..=16 => self.call(),
            17 | 18 => self.command_of_direct(),
            19 => self.command_of_caller(),
            20 | 21 => self.command_of_relay(),
            22 => self.command_of_voter(),
            _ => self.wake_all(),
        }
    }

    fn deliver(&mut self) {
        if self.messages.is_empty() {
            return;
        }
        let most = self.messages.len() as u64;
        let recent = if self.random.chance(0.8) { most.min(6) } else { most };
        let index = (most - 1 - self.random.below(recent)) as usize;
        let mut envelope = match self.random.chance(0.85) {
            true => self.messages.remove(index),
            false => self.messages[index].clone(),
        };
        if self.random.chance(0.1) {
            lease_messages::alter(&mut envelope, &mut self.random);
        }
        let now = self.now;
        match envelope {
            Envelope::Voter(from, to, message) => {
                self.voter(to, |voter, out| voter.on_message(from, message, now, out));
            }
            Envelope::Candidate(from, to, message) => match self.relays.len() {
                relays if (to.0 as usize) < relays => {
                    self.relay(to.0 as usize, |it, out| it.on_message(from, message, out));
                }
                relays => {
                    let of = to.0 as usize - relays;
                    self.direct(of, |it, now, out| it.on_message(from, message, now, out));
                }
            },
            // An altered sender may be no node.
            Envelope::Peer(_, to, _) if to.index() >= self.nodes.len() => {}
            Envelope::Peer(from, to, message) => {
                self.voter(to, |voter, out| voter.on_peer(from, message, out));
            }
            Envelope::Caller(caller, report) => self.report(caller, report),
        }
    }

    /// A client begins a beat and calls one of its nodes, or all voters.
    fn call(&mut self) {
        let (now, at) = (self.now, self.below(self.callers.len() + self.direct.len()));
        let Some(of) = at.checked_sub(self.callers.len()) else {
            let beat = self.callers[at].begin_beat(now);
            let relay = at * NODES + self.below(NODES);
            let call = self.callers[at].call();
            let may_end = self.random.chance(0.2);
            return self.relay(relay, |it, out| {
                it.begin_beat(beat.number, call.issued, out);
                for mut wanted in call.wanted {
                    wanted.ended = if may_end { wanted.attempt - 1 } else { 0 };
                    it.pursue(wanted, out);
                }
            });
        };
        match self.random.chance(0.8) {
            true => self.direct(of, |it, now, out| it.beat(now, out)),
            false => self.direct(of, |it, now, _| it.note_beat(0, now)),
        }
    }

    fn command_of_direct(&mut self) {
        let of = self.below(self.direct.len());
        let (lock, stamp) = (self.random.below(LOCKS) as u8, self.random.below(2) * 9);
        let request = self.request(2 + of, 7 + 2 + of as u64);
        let voter = self.any_voter();
        match self.random.below(20) {
            0..=6 => self.direct(of, |it, now, out| _ = it.acquire(lock, stamp, now, out)),
            7..=12 => self.direct(of, |it, now, out| _ = it.release(request, now, out)),
            13 | 14 => self.direct(of, |it, now, out| it.widen(request, now, out)),
            15 => self.direct(of, |it, now, out| it.avoid(voter, now, out)),
            16 | 17 => self.direct(of, |it, now, out| it.resume(voter, now, out)),
            18 => self.direct(of, |it, now, out| it.end(now, out)),
            _ => {
                let mut renumbered = self.direct[of].clone();
                renumbered.moments(&mut |number| *number += 3);
                renumbered.hash(&mut self.digest);
            }
        }
    }

    fn command_of_caller(&mut self) {
        let caller = self.below(self.callers.len());
        let (lock, stamp) = (self.random.below(LOCKS) as u8, self.random.below(2) * 9);
        let request = self.request(caller, 7 + caller as u64);
        let client = &mut self.callers[caller];
        match self.random.below(10) {
            0..=4 => _ = client.acquire(lock, stamp),
            5..=7 => {
                let had = client.release(request);
                self.add(&had);
                let relay = caller * NODES + self.below(NODES);
                self.relay(relay, |it, out| it.release(request, out));
            }
            8 => client.change_candidate(),
            _ => client.moments(&mut |number| *number += 0),
        }
        self.ask_caller(caller);
    }

    fn command_of_relay(&mut self) {
        let relay = self.below(self.relays.len());
        let caller = relay / NODES;
        let request = self.request(caller, 7 + caller as u64);
        let (voter, number) = (self.any_voter(), self.random.below(30));
        let (flag, token) = (self.random.chance(0.5), self.random.below(4));
        let sent = flag.then_some(token);
        match self.random.below(16) {
            0 | 1 => self.relay(relay, |it, out| it.widen(request, out)),
            2 => self.relay(relay, |it, out| it.release(request, out)),
            3 => {
                let mut withdrawn = false;
                self.relay(relay, |it, out| withdrawn = it.withdraw(request, flag, out));
                self.add(&withdrawn);
            }
            4 => self.relay(relay, |it, _| it.forget(request)),
            5 if flag => self.relay(relay, |it, out| it.end(out)),
            5 | 6 => self.relay(relay, |it, out| it.avoid(voter, out)),
            7 => self.relay(relay, |it, out| it.resume(voter, out)),
            8 => self.relay(relay, |it, out| it.repeat_requests(voter, out)),
            9 => self.relay(relay, |it, out| it.announce(out)),
            10 => self.relay(relay, |it, _| it.take_back_grants()),
            11 => self.relay(relay, |it, _| it.not_raised(request, token, sent)),
            12 | 13 => {
                self.relay(relay, |it, out| it.confirm(if flag { u64::MAX } else { number }, out));
            }
            14 => self.relay(relay, |it, _| it.note_beat(number, 0)),
            _ => {
                let mut renumbered = self.relays[relay].clone();
                renumbered.beat_numbers(&mut |number| *number += 3);
                renumbered.hash(&mut self.digest);
            }
        }
    }

    fn command_of_voter(&mut self) {
        let (at, session) = (self.any_voter(), self.below(5));
        let (lock, millis) = (self.random.below(LOCKS) as u8, self.random.below(40));
        let request = self.request(session, 7 + session as u64);
        let (attempt, token) = (1 + self.random.below(3), self.random.below(4));
        let node = &mut self.nodes[at.index()];
        match self.random.below(10) {
            0..=2 => {
                let reserving = node.reserving.take();
                if let Some(number) = reserving {
                    self.voter(at, |voter, out| voter.reserved(number, out));
                }
            }
            3 => node.voter.set_wall_clock(millis),
            4 | 5 => self.voter(at, |voter, out| voter.gossip(out)),
            6 => {
                let mut forced = false;
                self.voter(at, |voter, out| forced = voter.force(&lock, request, out));
                self.add(&forced);
            }
            7 => {
                let mut known = false;
                let token = (token > 0).then_some(token);
                self.voter(at, |voter, out| known = voter.release(request, attempt, token, out));
                self.add(&known);
            }
            8 => node.file = node.voter.records(),
            _ => {
                let mut renumbered = node.voter.clone();
                renumbered.moments(&mut |number| *number += 3);
                renumbered.beat_numbers(&mut |number| *number += 5);
                renumbered.hash(&mut self.digest);
            }
        }
    }

    /// Passes the time to every party.
    fn wake_all(&mut self) {
        let now = self.now;
        for at in ProcessId::all(self.nodes.len()) {
            self.voter(at, |voter, out| voter.wake(now, out));
        }
        for of in 0..self.direct.len() {
            self.direct(of, |it, now, out| it.wake(now, out));
        }
        for caller in 0..self.callers.len() {
            let mut events = Vec::new();
            self.callers[caller].wake(now, &mut events);
            self.handle(caller, events);
        }
    }

    /// A voter restarts from its file, or has forgotten its votes with or without a durable mark.
    fn restart(&mut self) {
        let (at, kind, now) = (self.any_voter(), self.random.below(4), self.now);
        let node = &mut self.nodes[at.index()];
        node.restarts += 1;
        let (number, incarnation) = (node.restarts, node.restarts);
        let ceiling = 1 << 21;
        let new = Voter::new(at, self.electorate.clone(), TERMS).with_ballots_most(1);
        node.voter = match kind {
            0 => new.forgotten(Memory { incarnation, mark: None }, now),
            1 => new.forgotten(Memory { incarnation, mark: Some(50) }, now).with_ceiling(ceiling),
            _ => {
                let id = RestartId { incarnation: 0, number };
                new.restored(id, node.file.clone(), now).with_ceiling(ceiling)
            }
        };
        if kind < 2 {
            node.file.clear();
        }
        node.voter.hash(&mut self.digest);
    }

    fn voter(&mut self, at: ProcessId, input: impl FnOnce(&mut Voter<u8>, &mut VoterEffects<u8>)) {
        let (node, mut out) = (&mut self.nodes[at.index()], Vec::new());
        input(&mut node.voter, &mut out);
        for effect in out {
            write!(self.digest, "{effect:?}").expect("a digest takes everything");
            match effect {
                VoterEffect::Persist(record) => node.file.push(record),
                VoterEffect::Reserve(number) => node.reserving = Some(number),
                VoterEffect::Send(to, message) => {
                    self.messages.push(Envelope::Candidate(at, to, message));
                }
                VoterEffect::SendPeer(to, message) => {
                    self.messages.push(Envelope::Peer(at, to, message));
                }
            }
        }
        let voter = &node.voter;
        voter.hash(&mut self.digest);
        let ask = (voter.unheard(), voter.next_wake(), voter.is_voting(), voter.last(&0));
        let request = RequestId { session: 2, incarnation: 9, number: 1 };
        let session = |(id, it): (u128, &VoterSession<u8>)| {
            (id, it.ttl(), it.lapses(), it.is_continuous(), it.has(request), it.requests().len())
        };
        let sessions: Vec<_> = voter.sessions().map(session).collect();
        let listed: Vec<_> = voter.sessions().map(|(id, _)| voter.entries(id)).collect();
        self.add(&(ask, sessions, listed));
    }

    fn relay(
        &mut self,
        relay: usize,
        input: impl FnOnce(&mut Candidate<u8>, &mut CandidateEffects<u8>),
    ) {
        let (it, mut out) = (&mut self.relays[relay], Vec::new());
        input(it, &mut out);
        it.hash(&mut self.digest);
        let beats = (it.echoed(), it.echoed_continuously(), it.is_continuous(), it.is_broken(5));
        let confirmable: Vec<u64> = it.confirmable_with().collect();
        let counts: Vec<bool> = ProcessId::all(6).map(|voter| it.counts(voter)).collect();
        let lists = (it.listed().count(), it.listed_since(4).count(), it.clock());
        let requests: Vec<_> = it.reports().map(|report| report.request).collect();
        let of_requests: Vec<_> = requests
            .iter()
            .map(|id| (it.inside(*id), it.found_token(*id), it.recorded(*id), it.ended(*id)))
            .collect();
        self.add(&(beats, confirmable, counts, lists, of_requests));
        for effect in out {
            self.add(&effect);
            match effect {
                CandidateEffect::Send(to, message) => {
                    let from = CandidateId(relay as u64);
                    self.messages.push(Envelope::Voter(from, to, message));
                }
                CandidateEffect::Report(report) => {
                    self.messages.push(Envelope::Caller(relay / NODES, report));
                }
                CandidateEffect::Refused(_) => {}
            }
        }
    }

    fn direct(
        &mut self,
        of: usize,
        input: impl FnOnce(&mut DirectClient<u8>, Time, &mut DirectEffects<u8>),
    ) {
        let (it, mut out) = (&mut self.direct[of], Vec::new());
        input(it, self.now, &mut out);
        it.hash(&mut self.digest);
        let wakes = it.next_wake();
        self.add(&wakes);
        let from = CandidateId((self.relays.len() + of) as u64);
        for effect in out {
            self.add(&effect);
            if let DirectEffect::Send(to, message) = effect {
                self.messages.push(Envelope::Voter(from, to, message));
            }
        }
    }

    fn report(&mut self, caller: usize, report: Report) {
        let mut events = Vec::new();
        self.callers[caller].on_report(report, self.now, &mut events);
        self.handle(caller, events);
    }

    /// Passes events of a client to one of its candidates.
    fn handle(&mut self, caller: usize, events: Vec<ClientEvent>) {
        self.add(&events);
        for event in events {
            let relay = caller * NODES + self.below(NODES);
            match event {
                ClientEvent::Entered { request, .. } | ClientEvent::Again(request) => {
                    let wanted = self.callers[caller].wanted(request);
                    let Some(wanted) = wanted else { continue };
                    self.relay(relay, |it, out| it.pursue(wanted, out));
                }
                ClientEvent::Lost { request, .. } | ClientEvent::Gone(request) => {
                    self.relay(relay, |it, out| it.release(request, out));
                }
                ClientEvent::Waiting(..) => {}
            }
        }
        self.ask_caller(caller);
    }

    fn ask_caller(&mut self, caller: usize) {
        let it = &self.callers[caller];
        it.hash(&mut self.digest);
        let held: Vec<_> = it.held().map(|(_, request, _)| it.valid_until(request)).collect();
        let request =
            RequestId { session: caller as u128, incarnation: 7 + caller as u64, number: 1 };
        let asked = (held, it.next_wake(), it.has(request), it.issued());
        self.add(&asked);
    }

    fn add(&mut self, value: &impl Debug) {
        write!(self.digest, "{value:?}").expect("a digest takes everything");
    }

    fn below(&mut self, most: usize) -> usize {
        self.random.below(most as u64) as usize
    }

    fn any_voter(&mut self) -> ProcessId {
        ProcessId::from_index(self.below(self.nodes.len()))
    }

    /// One of the last requests of a client.
    fn request(&mut self, client: usize, incarnation: u64) -> RequestId {
        let issued = match client.checked_sub(self.callers.len()) {
            None => self.callers[client].issued(),
            Some(of) => self.direct[of].client().issued(),
        };
        let number = issued.saturating_sub(self.random.below(3));
        RequestId { session: client.min(3) as u128, incarnation, number }
    }
}

#[test]
fn in_disorder() {
    let mut row = String::new();
    for seed in 0..SEEDS {
        let mut leases = Leases::new(seed);
        (0..INPUTS).for_each(|_| leases.step());
        row += &format!(" {seed}:{}", leases.digest.short());
    }
    insta::assert_snapshot!("leases_in_disorder", row);
}
