//! Clients: with their own candidate, or through changing candidates in nodes.

use quorate_algorithms::mutex::leased_quorum::{
    CandidateId, Client, ClientEvent, DirectClient, DirectEffect, DirectEffects, RequestId,
};
use quorate_core::{ProcessId, Span, Time};

use crate::nodes::RECORDS_BIT;
use crate::rng::{Clock, MS, Rng, TTL};
use crate::world::{Endpoint, Event, Message, Name, Storm};

/// A machine on which a client process runs.
pub(crate) struct ClientMachine {
    id: usize,
    pub(crate) clock: Clock,
    pub(crate) paused: bool,
    pub(crate) backlog: Vec<Event>,
    pub(crate) process: u64,
    /// The earliest scheduled wake.
    wake: u64,
    pub(crate) kind: Option<ClientKind>,
    /// Lock and token of each lock that was held when a node restarted or the candidate changed.
    pub(crate) tested: Vec<(Name, u64)>,
}

pub(crate) enum ClientKind {
    /// Reaches the voters itself.
    Direct(Box<DirectClient<Name>>, CandidateId),
    /// Uses a candidate in a node.
    Relayed {
        client: Client<Name>,
        node: usize,
        candidate: CandidateId,
        unanswered: u32,
        /// Whether its candidates record tokens.
        records: bool,
        /// Whether they may withdraw tokens that they have not reported.
        lease: bool,
    },
}

impl ClientMachine {
    pub(crate) fn new(id: usize, rng: &mut Rng) -> Self {
        let (paused, backlog, tested) = (false, Vec::new(), Vec::new());
        let (clock, process, wake) = (Clock::new(rng), 0, u64::MAX);
        Self { id, clock, paused, backlog, process, wake, kind: None, tested }
    }

    pub(crate) fn client(&self) -> Option<&Client<Name>> {
        match self.kind.as_ref()? {
            ClientKind::Direct(direct, _) => Some(direct.client()),
            ClientKind::Relayed { client, .. } => Some(client),
        }
    }

    pub(crate) fn is_lease(&self) -> bool {
        matches!(self.kind, Some(ClientKind::Relayed { lease: true, .. }))
    }

    /// Locks on which this client relies, by its own clock, with their tokens.
    pub(crate) fn valid(&self, now: u64) -> impl Iterator<Item = (Name, u64)> + '_ {
        let local_time = self.clock.local_time(now);
        self.client().into_iter().flat_map(move |client| {
            let held = client.held().filter(move |(_, request, _)| {
                client.valid_until(*request).is_some_and(|until| local_time < until)
            });
            held.map(|(lock, _, token)| (*lock, token))
        })
    }

    pub(crate) fn waiting(&self) -> Vec<Name> {
        let wanted = self.client().map(Client::all_wanted).unwrap_or_default();
        wanted.into_iter().filter(|it| it.inside.is_none()).map(|it| it.lock).collect()
    }
}

impl Storm {
    /// Starts a client process: the first one, or a later one in the same session or in a new one.
    pub(crate) fn start_client(&mut self, at: usize) {
        let (incarnation, relayed) = (self.rng.next(), self.rng.one_in(2));
        let records = relayed && self.rng.one_in(2);
        // All votes of a session whose tokens are recorded lapse together, so it has only one process.
        let same = !records && self.rng.one_in(2);
        let machine = &mut self.clients[at];
        machine.process += 1;
        machine.wake = u64::MAX;
        let session = machine.id as u128 | if same { 0 } else { u128::from(machine.process) << 64 };
        let process = machine.process;
        let node = if relayed { self.rng.index(self.nodes.len()) } else { self.first_node() };
        let present = self.nodes[node].chain.present();
        let (electorate, terms) = (present.electorate(), present.terms());
        // Every process of a session has the same time-to-live.
        let longer = !same && terms.ttl_most > Span(TTL) && self.rng.one_in(2);
        let ttl = if longer { terms.ttl_most } else { Span(TTL) };
        self.counts.longer += u64::from(longer);
        let client = Client::new(session, incarnation, ttl, terms);
        let lease = self.is_followed() && records && self.rng.one_in(2);
        if let Some(follower) = &mut self.follower {
            let clock = self.clients[at].clock;
            let identity = (session, incarnation);
            follower.client_starts((at, clock), process, identity, (relayed, records, lease));
        }
        let kind = if relayed {
            let candidate = self.new_handle(node, records);
            ClientKind::Relayed { client, node, candidate, unanswered: 0, records, lease }
        } else {
            let candidate = self.new_candidate(Endpoint::Client(at));
            let direct = DirectClient::new(client, candidate, electorate);
            ClientKind::Direct(Box::new(direct), candidate)
        };
        self.clients[at].kind = Some(kind);
        self.schedule(self.now, Event::Beat { at, process });
    }

    fn with_direct(
        &mut self,
        at: usize,
        input: impl FnOnce(&mut DirectClient<Name>, Time, &mut DirectEffects<Name>),
    ) {
        let (now, mut out) = (self.now, Vec::new());
        let machine = &mut self.clients[at];
        let local_time = machine.clock.local_time(now);
        let Some(ClientKind::Direct(direct, candidate)) = &mut machine.kind else { return };
        input(direct, local_time, &mut out);
        let candidate = *candidate;
        if let Some(follower) = &mut self.follower {
            let sent = out.iter().filter_map(|effect| match effect {
                DirectEffect::Send(voter, message) => Some((*voter, message.clone())),
                _ => None,
            });
            let client = Some((direct.client(), candidate));
            follower.client(now, client, Some(direct.candidate()), &sent.collect::<Vec<_>>());
        }
        let mut events = Vec::new();
        for effect in out {
            match effect {
                DirectEffect::Send(voter, message) => {
                    let to = Endpoint::Node(voter.index());
                    self.send(Endpoint::Client(at), to, Message::ToVoter(candidate, message));
                }
                DirectEffect::Event(event) => events.push(event),
                DirectEffect::Refused(ttl) => panic!("no ttl but one was asked for: {ttl:?}"),
            }
        }
        self.on_events(at, events);
        self.schedule_wake(at);
    }

    fn schedule_wake(&mut self, at: usize) {
        let machine = &self.clients[at];
        if let Some(time) = machine.client().and_then(Client::next_wake) {
            let (time, process) = (machine.clock.true_time(time), machine.process);
            if time < machine.wake {
                self.clients[at].wake = time;
                self.schedule(time, Event::WakeClient { at, process });
            }
        }
    }

    fn on_events(&mut self, at: usize, events: Vec<ClientEvent>) {
        for event in events {
            match event {
                ClientEvent::Entered { request, token } => {
                    let client = self.clients[at].client().expect("it has just entered");
                    let lock = client.wanted(request).expect("it has just entered").lock;
                    self.check_entry(at, lock, token);
                    let hold_time = match self.rng.below(4) {
                        0 => self.rng.below(4 * TTL),
                        _ => self.rng.below(TTL / 2),
                    };
                    let (time, process) = (self.now + hold_time, self.clients[at].process);
                    self.schedule(time, Event::Leave { at, process, request });
                    self.call_now(at);
                }
                ClientEvent::Lost { .. } => {
                    self.counts.lost += 1;
                    self.call_now(at);
                }
                ClientEvent::Gone(_) | ClientEvent::Again(_) => self.call_now(at),
                ClientEvent::Waiting(..) => {}
            }
        }
    }

    /// Sends the call of a relayed client to its node. Every call is a beat.
    fn call_now(&mut self, at: usize) {
        let now = self.now;
        let machine = &mut self.clients[at];
        let local_time = machine.clock.local_time(now);
        let Some(ClientKind::Relayed { client, node, candidate, .. }) = &mut machine.kind else {
            return;
        };
        client.begin_beat(local_time);
        let (call, to, candidate) = (client.call(), Endpoint::Node(*node), *candidate);
        self.follow_client(at);
        self.send(Endpoint::Client(at), to, Message::Call(candidate, call));
    }

    pub(crate) fn client_hears(&mut self, at: usize, from: Endpoint, message: Message) {
        let now = self.now;
        match message {
            Message::ToCandidate(candidate, message) => {
                let Endpoint::Node(voter) = from else { return };
                if matches!(&self.clients[at].kind, Some(ClientKind::Direct(_, own)) if *own == candidate)
                {
                    self.with_direct(at, |direct, now, out| {
                        direct.on_message(ProcessId::from_index(voter), message, now, out);
                    });
                }
            }
            Message::Configuration(present) => {
                let (electorate, terms) = (present.electorate(), present.terms());
                self.with_direct(at, |direct, now, out| direct.adopt(electorate, terms, now, out));
            }
            // Answers of earlier candidates arrive too; the client has to tolerate them.
            Message::Answer(reports) => {
                let machine = &mut self.clients[at];
                let local_time = machine.clock.local_time(now);
                let Some(ClientKind::Relayed { client, unanswered, .. }) = &mut machine.kind else {
                    return;
                };
                *unanswered = 0;
                let mut events = Vec::new();
                for report in reports {
                    client.on_report(report, local_time, &mut events);
                }
                self.follow_client(at);
                self.on_events(at, events);
                self.schedule_wake(at);
            }
            _ => {}
        }
    }

    pub(crate) fn beat(&mut self, at: usize, process: u64) {
        if self.clients[at].process != process || self.clients[at].kind.is_none() {
            return;
        }
        self.with_direct(at, |direct, now, out| direct.beat(now, out));
        self.maybe_change_candidate(at);
        self.call_now(at);
        let machine = &self.clients[at];
        let next = machine.clock.true_time(machine.clock.local_time(self.now) + Span(TTL / 3));
        self.schedule(next, Event::Beat { at, process });
    }

    /// Moves a relayed client to another node if its node does not answer, and sometimes without a reason.
    fn maybe_change_candidate(&mut self, at: usize) {
        let (nodes, stormy) = (self.nodes.len(), self.is_stormy());
        let spontaneous = stormy && self.rng.one_in(if self.is_followed() { 3 } else { 6 });
        let node = self.rng.index(nodes);
        let kind = &mut self.clients[at].kind;
        let Some(ClientKind::Relayed { unanswered, records, .. }) = kind else { return };
        *unanswered += 1;
        if *unanswered < 3 && !spontaneous {
            return;
        }
        let records = *records;
        // Relays choose attempts themselves, and two of them may choose the same one.
        let raises = !(self.is_followed() && records) || self.rng.one_in(2);
        let next = self.new_handle(node, records);
        self.counts.switches += 1;
        self.remember_held(at);
        if let Some(ClientKind::Relayed { client, node: at_node, candidate, unanswered, .. }) =
            &mut self.clients[at].kind
        {
            if raises {
                client.change_candidate();
            }
            (*at_node, *candidate, *unanswered) = (node, next, 0);
        }
    }

    fn new_handle(&mut self, node: usize, records: bool) -> CandidateId {
        CandidateId(self.new_candidate(Endpoint::Node(node)).0 | u64::from(records) << RECORDS_BIT)
    }

    /// Remembers the locks that a client holds, to count later that they were kept.
    pub(crate) fn remember_held(&mut self, at: usize) {
        self.clients[at].tested = self.clients[at].valid(self.now).collect();
    }

    pub(crate) fn ask(&mut self, at: usize, lock: Name) {
        let machine = &mut self.clients[at];
        let Some(client) = machine.client() else { return };
        // A newer request for the same lock is made only once the older one has ended.
        if client.all_wanted().iter().any(|it| it.lock == lock) {
            return;
        }
        self.with_direct(at, |direct, now, out| {
            direct.acquire(lock, 0, now, out);
        });
        if let Some(ClientKind::Relayed { client, .. }) = &mut self.clients[at].kind {
            client.acquire(lock, 0);
            self.call_now(at);
        }
    }

    pub(crate) fn leave(&mut self, at: usize, process: u64, request: RequestId) {
        if self.clients[at].process != process {
            return;
        }
        let valid: Vec<(Name, u64)> = self.clients[at].valid(self.now).collect();
        let tested = std::mem::take(&mut self.clients[at].tested);
        self.counts.kept += tested.iter().filter(|held| valid.contains(held)).count() as u64;
        self.counts.exits += 1;
        self.with_direct(at, |direct, now, out| {
            direct.release(request, now, out);
        });
        if let Some(ClientKind::Relayed { client, .. }) = &mut self.clients[at].kind {
            client.release(request);
            self.call_now(at);
        }
    }

    pub(crate) fn wake_client(&mut self, at: usize, process: u64) {
        self.clients[at].wake = u64::MAX;
        if self.clients[at].process != process {
            return;
        }
        self.with_direct(at, |direct, now, out| direct.wake(now, out));
        let local_time = self.clients[at].clock.local_time(self.now);
        if let Some(ClientKind::Relayed { client, .. }) = &mut self.clients[at].kind {
            let mut events = Vec::new();
            client.wake(local_time, &mut events);
            self.on_events(at, events);
        }
        self.schedule_wake(at);
    }

    /// Kills a client process silently and schedules the start of another one on its machine.
    pub(crate) fn crash_client(&mut self, at: usize) {
        let machine = &mut self.clients[at];
        (machine.kind, machine.paused) = (None, false);
        machine.process += 1;
        machine.backlog.clear();
        let after = self.rng.below(2 * TTL) + MS;
        self.schedule(self.now + after, Event::ReturnClient(at));
    }
}

impl Storm {
    /// Breaks a client's connection to a voter and restores it.
    pub(crate) fn avoid_and_resume(&mut self, at: usize, voter: ProcessId) {
        if self.clients[at].paused {
            return;
        }
        self.with_direct(at, |direct, now, out| direct.avoid(voter, now, out));
        self.with_direct(at, |direct, now, out| direct.resume(voter, now, out));
    }
}
