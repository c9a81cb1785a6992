//! Nodes: a voter with its vote file, and candidates for remote clients.

use std::collections::{BTreeMap, BTreeSet};

use quorate_algorithms::mutex::leased_quorum::{
    Call, Candidate, CandidateEffect, CandidateId, Chain, ChainState, Entry, Memory, Record,
    Report, RequestId, RequestStatus, RestartId, ToVoter, Voter, VoterEffect, VoterEffects,
};
use quorate_core::ProcessId;

use crate::changes::{Members, first};
use crate::followed::{Remembers, candidate_of, client_of};
use crate::rng::{Clock, MS, Rng, TTL};
use crate::world::{Endpoint, Event, Message, Name, Setup, Storm};

/// Size of the blocks of numbers that a voter reserves.
const BLOCK: u64 = 1 << 20;

/// The bit that marks candidates of clients whose tokens are recorded.
pub(crate) const RECORDS_BIT: u32 = 63;

pub(crate) struct Node {
    pub(crate) voter: Option<Voter<Name>>,
    pub(crate) clock: Clock,
    /// Offset of the wall clock, in milliseconds.
    skew: u64,
    pub(crate) paused: bool,
    pub(crate) backlog: Vec<Event>,
    /// Counts the processes of this node. Timers of an earlier process are ignored.
    pub(crate) process: u64,
    /// The earliest scheduled wake.
    wake: u64,
    pub(crate) incarnation: u64,
    /// The vote file. Records written before a crash survive it.
    file: Vec<Record<Name>>,
    /// The durable mark of numbers.
    mark: u64,
    pub(crate) relays: BTreeMap<CandidateId, Relay>,
    /// Handles of all candidates that the node has had.
    handles: BTreeSet<CandidateId>,
    /// Survives when the votes are forgotten, unless the whole data folder is lost.
    pub(crate) chain: Chain<Members>,
}

/// A candidate for a remote client.
pub(crate) struct Relay {
    pub(crate) client: usize,
    /// The number by which the client calls the candidate. A restarted node answers late calls with another candidate.
    handle: CandidateId,
    pub(crate) candidate: Candidate<Name>,
    /// Whether its client is one with a lease, whose token it may withdraw.
    pub(crate) lease: bool,
    /// Requests that it has reported to be granted or held.
    pub(crate) reported: BTreeSet<RequestId>,
}

impl Relay {
    pub(crate) fn records(&self) -> bool {
        records(self.handle)
    }
}

/// Returns `true` if the candidates that a client calls by this number record tokens before they report them.
fn records(handle: CandidateId) -> bool {
    handle.0 >> RECORDS_BIT & 1 == 1
}

impl Node {
    pub(crate) fn new(id: usize, setup: Setup, rng: &mut Rng) -> Self {
        let mut node = Self {
            voter: None,
            clock: Clock::new(rng),
            skew: rng.below(200),
            paused: false,
            backlog: Vec::new(),
            process: 0,
            wake: u64::MAX,
            incarnation: 0,
            file: Vec::new(),
            mark: 0,
            relays: BTreeMap::new(),
            handles: BTreeSet::new(),
            chain: Chain::new(ProcessId::from_index(id), first(setup)),
        };
        node.voter = Some(node.blank(id, setup));
        node
    }

    fn blank(&self, id: usize, setup: Setup) -> Voter<Name> {
        let present = self.chain.present();
        let (electorate, terms) = (present.electorate(), present.terms());
        let voter = Voter::new(ProcessId::from_index(id), electorate, terms);
        // Some voters evict idle ballots as early as possible.
        let voter = if id.is_multiple_of(2) { voter.with_ballots_most(0) } else { voter };
        if setup.marks { voter.with_ceiling(self.mark) } else { voter }
    }

    /// Returns `true` if the node is up and its voter votes.
    fn is_voting(&self) -> bool {
        self.voter.as_ref().is_some_and(Voter::is_voting)
    }
}

impl Storm {
    pub(crate) fn with_voter(
        &mut self,
        at: usize,
        input: impl FnOnce(&mut Voter<Name>, quorate_core::Time, &mut VoterEffects<Name>),
    ) {
        let (now, mut out) = (self.now, Vec::new());
        let node = &mut self.nodes[at];
        let Some(voter) = &mut node.voter else { return };
        voter.set_wall_clock(now / MS + node.skew);
        input(voter, node.clock.local_time(now), &mut out);
        if let Some(follower) = &mut self.follower {
            follower.voter(now, at, (voter, None), &out);
        }
        self.apply(at, out);
        let node = &self.nodes[at];
        if let Some(time) = node.voter.as_ref().and_then(Voter::next_wake) {
            let (time, process) = (node.clock.true_time(time), node.process);
            if time < node.wake {
                self.nodes[at].wake = time;
                self.schedule(time, Event::WakeNode { at, process });
            }
        }
    }

    fn apply(&mut self, at: usize, effects: VoterEffects<Name>) {
        let mut marks = Vec::new();
        for effect in effects {
            match effect {
                VoterEffect::Persist(record) => self.nodes[at].file.push(record),
                // Small blocks leave small gaps, because the follower knows every number.
                VoterEffect::Reserve(mark) if self.is_followed() => marks.push(mark - BLOCK + 1),
                VoterEffect::Reserve(mark) => marks.push(mark),
                VoterEffect::Send(candidate, message) => {
                    let to = self.endpoint_of_candidate(candidate);
                    self.tell_of_chain(at, candidate, &message);
                    self.send(Endpoint::Node(at), to, Message::ToCandidate(candidate, message));
                }
                VoterEffect::SendPeer(voter, message) => {
                    let to = Endpoint::Node(voter.index());
                    self.send(Endpoint::Node(at), to, Message::Peer(message));
                }
            }
        }
        if self.nodes[at].file.len() > 64
            && let Some(voter) = &self.nodes[at].voter
        {
            self.nodes[at].file = voter.records();
        }
        for mark in marks {
            self.nodes[at].mark = self.nodes[at].mark.max(mark);
            self.with_voter(at, |voter, _, out| voter.reserved(mark, out));
        }
    }

    /// Candidates of clients have even numbers, candidates in nodes have odd numbers.
    pub(crate) fn endpoint_of_candidate(&self, candidate: CandidateId) -> Endpoint {
        let host = (candidate.0 >> 1 & 0xff) as usize;
        if candidate.0 & 1 == 0 { Endpoint::Client(host) } else { Endpoint::Node(host) }
    }

    pub(crate) fn new_candidate(&mut self, host: Endpoint) -> CandidateId {
        self.candidates += 1;
        let (index, odd) = match host {
            Endpoint::Client(at) => (at, 0),
            Endpoint::Node(at) => (at, 1),
        };
        CandidateId(self.candidates << 9 | (index as u64) << 1 | odd)
    }

    pub(crate) fn node_hears(&mut self, at: usize, from: Endpoint, message: Message) {
        match message {
            Message::ToVoter(candidate, message) => {
                self.with_voter(at, |voter, now, out| {
                    voter.on_message(candidate, message, now, out)
                });
            }
            Message::Peer(message) => {
                let Endpoint::Node(from) = from else { return };
                let from = ProcessId::from_index(from);
                self.with_voter(at, |voter, _, out| voter.on_peer(from, message, out));
            }
            Message::Force(lock, request) => {
                self.with_voter(at, |voter, _, out| {
                    voter.force(&lock, request, out);
                });
            }
            Message::ToCandidate(candidate, message) => {
                let Endpoint::Node(voter) = from else { return };
                self.with_relay(at, candidate, |relay, out| {
                    relay.on_message(ProcessId::from_index(voter), message, out);
                });
            }
            Message::Call(handle, call) => {
                let Endpoint::Client(client) = from else { return };
                if self.nodes[at].voter.is_none() {
                    return;
                }
                let electorate = self.nodes[at].chain.present().electorate();
                let relays = self.nodes[at].relays.iter();
                let mut known =
                    relays.filter(|(_, relay)| relay.handle == handle).map(|(id, _)| *id);
                let known = known.next_back();
                let has_ended = known.is_none() && self.nodes[at].handles.contains(&handle);
                if self.is_followed() && (has_ended || !self.is_valid(client, &call)) {
                    return;
                }
                self.nodes[at].handles.insert(handle);
                let lease = self.clients[client].is_lease();
                let new = || match self.is_followed() {
                    true => candidate_of(handle),
                    false => self.new_candidate(Endpoint::Node(at)),
                };
                let candidate = known.unwrap_or_else(new);
                let relay = self.nodes[at].relays.entry(candidate);
                let relay = relay.or_insert_with(|| {
                    let candidate = Candidate::new(candidate, electorate, call.session);
                    let candidate =
                        if records(handle) { candidate.recording_entries() } else { candidate };
                    Relay { client, handle, candidate, lease, reported: BTreeSet::new() }
                });
                let known = relay.candidate.session().beat.number;
                let is_new =
                    relay.candidate.reports().next().is_none() && known <= call.session.beat.number;
                if call.session.beat.number <= known && !is_new {
                    return;
                }
                let ended: Vec<_> =
                    relay.candidate.reports().map(|report| report.request).collect();
                let wanted = |request| call.wanted.iter().any(|it| it.request == request);
                let ended: Vec<_> = ended.into_iter().filter(|request| !wanted(*request)).collect();
                self.with_relay(at, candidate, |relay, out| {
                    ended.into_iter().for_each(|request| relay.release(request, out));
                    call.wanted.iter().cloned().for_each(|wanted| relay.pursue(wanted, out));
                    relay.begin_beat(call.session.beat.number, call.issued, out);
                });
                self.release_unwanted(at, candidate, &call);
                let Some(relay) = self.nodes[at].relays.get(&candidate) else { return };
                let reports: Vec<Report> = relay.candidate.reports().collect();
                self.answer(at, candidate, reports);
            }
            Message::Chain(message) => self.node_hears_of_chain(at, from, *message),
            Message::Answer(_) | Message::Configuration(_) => {}
        }
    }

    /// Whether the client still relies on every lock of which a call says so.
    fn is_valid(&self, at: usize, call: &Call<Name>) -> bool {
        let valid: Vec<_> = self.clients[at].valid(self.now).collect();
        let mut held = call.wanted.iter().filter_map(|wanted| Some((wanted.lock, wanted.inside?)));
        held.all(|held| valid.contains(&held))
    }

    /// A candidate that records tokens leaves unknown requests to other candidates. Here a client has one candidate at
    /// a time, which releases the requests that its client no longer wants.
    fn release_unwanted(&mut self, at: usize, id: CandidateId, call: &Call<Name>) {
        let Some(relay) = self.nodes[at].relays.get(&id).filter(|it| records(it.handle)) else {
            return;
        };
        let wanted = |request| call.wanted.iter().any(|it| it.request == request);
        let ended = |entry: &Entry<Name>| {
            let request = entry.claim.request;
            request.number <= call.issued && !wanted(request)
        };
        let listed = relay.candidate.listed().filter(|(_, entry)| ended(entry));
        let releases = listed.map(|(voter, entry)| {
            let (lock, request, attempt) = (entry.lock, entry.claim.request, u64::MAX);
            (voter, ToVoter::Release { lock, request, attempt, token: None })
        });
        let releases: Vec<_> = releases.collect();
        if let Some(follower) = &mut self.follower {
            let client = client_of(self.clients[relay.client].kind.as_ref(), &relay.candidate);
            follower.client(self.now, client, Some(&relay.candidate), &releases);
        }
        for (voter, release) in releases {
            let to = Endpoint::Node(voter.index());
            self.send(Endpoint::Node(at), to, Message::ToVoter(id, release));
        }
    }

    fn answer(&mut self, at: usize, candidate: CandidateId, reports: Vec<Report>) {
        let listed = |report| self.with_listed(at, candidate, report);
        let reports: Vec<Report> = reports.into_iter().map(listed).collect();
        let Some(relay) = self.nodes[at].relays.get_mut(&candidate) else { return };
        let tells = |report: &&Report| {
            matches!(report.standing, RequestStatus::Granted { .. } | RequestStatus::Held(_))
        };
        relay.reported.extend(reports.iter().filter(tells).map(|report| report.request));
        let to = Endpoint::Client(relay.client);
        self.send(Endpoint::Node(at), to, Message::Answer(reports));
    }

    pub(crate) fn with_relay(
        &mut self,
        at: usize,
        id: CandidateId,
        input: impl FnOnce(&mut Candidate<Name>, &mut Vec<CandidateEffect<Name>>),
    ) {
        if self.is_followed() {
            self.check_validity(at, id);
        }
        let Some(relay) = self.nodes[at].relays.get_mut(&id) else { return };
        let mut out = Vec::new();
        input(&mut relay.candidate, &mut out);
        if let Some(follower) = &mut self.follower {
            let sent = out.iter().filter_map(|effect| match effect {
                CandidateEffect::Send(voter, message) => Some((*voter, message.clone())),
                _ => None,
            });
            let client = client_of(self.clients[relay.client].kind.as_ref(), &relay.candidate);
            follower.client(self.now, client, Some(&relay.candidate), &sent.collect::<Vec<_>>());
        }
        let mut reports = Vec::new();
        for effect in out {
            match effect {
                CandidateEffect::Send(voter, message) => {
                    let to = Endpoint::Node(voter.index());
                    self.send(Endpoint::Node(at), to, Message::ToVoter(id, message));
                }
                CandidateEffect::Report(report) => reports.push(report),
                // The client has moved to a node that does not know the terms of its session yet.
                CandidateEffect::Refused(_) => assert!(self.setup.spares > 0, "the same terms"),
            }
        }
        if !reports.is_empty() {
            self.answer(at, id, reports);
        }
    }

    pub(crate) fn wake_node(&mut self, at: usize, process: u64) {
        if self.nodes[at].process == process {
            self.nodes[at].wake = u64::MAX;
            self.with_voter(at, |voter, now, out| voter.wake(now, out));
        }
    }

    pub(crate) fn gossip(&mut self, at: usize) {
        self.with_voter(at, |voter, _, out| voter.gossip(out));
        if self.setup.spares > 0 {
            self.tick_chain(at);
        }
        self.schedule(self.now + TTL / 4, Event::Gossip(at));
    }

    /// Stops a node and schedules its restart.
    pub(crate) fn stop_node(&mut self, at: usize, after: u64) {
        let node = &mut self.nodes[at];
        (node.voter, node.paused) = (None, false);
        node.process += 1;
        node.wake = u64::MAX;
        node.relays.clear();
        // Gossip must stay scheduled exactly once.
        let gossips = node.backlog.drain(..).any(|event| matches!(event, Event::Gossip(_)));
        if gossips {
            self.schedule(self.now, Event::Gossip(at));
        }
        self.schedule(self.now + after, Event::Return(at));
    }

    pub(crate) fn return_node(&mut self, at: usize) {
        // A voter that is killed while it abstains has no usable vote file.
        let forgets = self.nodes[at].file.is_empty() && self.nodes[at].incarnation > 0;
        let forgets = forgets || (self.rng.one_in(3) && self.may_forget_now(at));
        self.counts.restarts += 1;
        let loses_folder = forgets && self.setup.spares > 0 && !self.setup.marks;
        let state = match loses_folder && self.rng.one_in(2) {
            true => ChainState::after_loss(first(self.setup).present),
            false => self.nodes[at].chain.state().clone(),
        };
        let chain = Chain::new(ProcessId::from_index(at), state);
        let (electorate, previous) = (chain.present().electorate(), chain.previous());
        self.nodes[at].chain = chain;
        if forgets {
            self.counts.forgotten += 1;
            let node = &mut self.nodes[at];
            node.clock.reset(&mut self.rng);
            node.incarnation += 1;
            node.file.clear();
            let mark = self.setup.marks.then_some(node.mark);
            let memory = Memory { incarnation: node.incarnation, mark };
            let blank = node.blank(at, self.setup);
            let now = node.clock.local_time(self.now);
            let voter = blank.forgotten(memory, now);
            let mut voter = voter.in_configuration(electorate, previous, now);
            voter.stay_out(node.chain.stays_out());
            node.voter = Some(voter);
        } else {
            let node = &mut self.nodes[at];
            let (restart_id, file) =
                (RestartId { incarnation: node.incarnation, number: node.process }, &node.file);
            let blank = node.blank(at, self.setup);
            let now = node.clock.local_time(self.now);
            let voter = blank.restored(restart_id, file.clone(), now);
            node.voter = Some(voter.in_configuration(electorate, previous, now));
        }
        let remembers = match forgets {
            true if self.setup.marks => Remembers::Mark,
            true => Remembers::Nothing,
            false => Remembers::File,
        };
        if let (Some(follower), Some(voter)) = (&mut self.follower, &self.nodes[at].voter) {
            follower.voter(self.now, at, (voter, Some(remembers)), &[]);
        }
        self.with_voter(at, |voter, now, out| voter.wake(now, out));
    }

    /// Without durable marks a voter may forget its votes only while all others remember.
    fn may_forget_now(&self, at: usize) -> bool {
        let others = self.nodes.iter().enumerate().filter(|(other, _)| *other != at);
        self.setup.marks || others.map(|(_, node)| node).all(Node::is_voting)
    }
}
