//! The world: machines, messages in transit, and the checks.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::fmt::{self, Debug, Write};

use quorate_algorithms::mutex::leased_quorum::{
    Call, CandidateId, ChainMessage, Configuration, PeerMessage, Report, RequestId, Terms,
    ToCandidate, ToVoter,
};
use quorate_core::{Drift, Span};

use crate::changes::{Members, first};
use crate::clients::ClientMachine;
use crate::followed::Follower;
use crate::nodes::Node;
use crate::rng::{DRIFT, MS, Rng, TTL};

pub(crate) type Name = u8;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Setup {
    pub(crate) system: &'static str,
    pub(crate) voters: usize,
    pub(crate) marks: bool,
    /// Number of nodes that are not voters at first. With any, the voters change.
    pub(crate) spares: usize,
    /// Whether the storm is one that can be followed in the model of the locks.
    pub(crate) followed: bool,
}

/// Counts of events, so that a storm that proves nothing is noticed.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    pub(crate) entries: u64,
    pub(crate) lost: u64,
    pub(crate) switches: u64,
    pub(crate) restarts: u64,
    pub(crate) forgotten: u64,
    pub(crate) forced: u64,
    /// Locks that outlived the restart of a voter or a change of candidate.
    pub(crate) kept: u64,
    pub(crate) exits: u64,
    /// Changes of the voters that were proposed.
    pub(crate) proposals: u64,
    /// Configurations that followed the first one.
    pub(crate) changes: u64,
    /// Sessions with a time-to-live that the first configuration does not permit.
    pub(crate) longer: u64,
    /// Digest of all events, so that a changed order or message is noticed.
    pub(crate) digest: Digest,
}

impl Counts {
    pub(crate) fn add(&mut self, other: Self) {
        self.entries += other.entries;
        self.lost += other.lost;
        self.switches += other.switches;
        self.restarts += other.restarts;
        self.forgotten += other.forgotten;
        self.forced += other.forced;
        self.kept += other.kept;
        self.exits += other.exits;
        self.proposals += other.proposals;
        self.changes += other.changes;
        self.longer += other.longer;
        self.digest.add(&other.digest);
    }
}

/// FNV-1a with 64 bits: the same on every machine and in every version of the compiler.
#[derive(Clone, Copy)]
pub(crate) struct Digest(u64);

impl Digest {
    fn add(&mut self, value: &impl Debug) {
        write!(self, "{value:?}").expect("a digest takes everything");
    }
}

impl Default for Digest {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Write for Digest {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for byte in text.bytes() {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
        Ok(())
    }
}

impl Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// A machine to which messages can be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Endpoint {
    Node(usize),
    Client(usize),
}

#[derive(Clone, Debug)]
pub(crate) enum Message {
    ToVoter(CandidateId, ToVoter<Name>),
    ToCandidate(CandidateId, ToCandidate<Name>),
    Peer(PeerMessage),
    Call(CandidateId, Call<Name>),
    Answer(Vec<Report>),
    Force(Name, RequestId),
    Chain(Box<ChainMessage<Members>>),
    Configuration(Box<Configuration<Members>>),
}

#[derive(Clone, Debug)]
pub(crate) enum Event {
    Arrive { from: Endpoint, to: Endpoint, message: Message },
    WakeNode { at: usize, process: u64 },
    Gossip(usize),
    WakeClient { at: usize, process: u64 },
    Beat { at: usize, process: u64 },
    Ask { at: usize, lock: Name },
    Leave { at: usize, process: u64, request: RequestId },
    Fault,
    Change,
    Resume(Endpoint),
    Return(usize),
    ReturnClient(usize),
}

pub(crate) struct Storm {
    pub(crate) setup: Setup,
    pub(crate) rng: Rng,
    pub(crate) now: u64,
    due: BinaryHeap<Reverse<(u64, usize)>>,
    /// All events so far. Each one is taken when it happens.
    events: Vec<Option<Event>>,
    pub(crate) nodes: Vec<Node>,
    pub(crate) clients: Vec<ClientMachine>,
    /// All configurations so far.
    pub(crate) chain: Vec<Configuration<Members>>,
    cuts: BTreeMap<(Endpoint, Endpoint), u64>,
    /// Faults happen only before this time.
    pub(crate) calm_from: u64,
    /// The greatest token of each lock.
    tokens: BTreeMap<Name, u64>,
    pub(crate) counts: Counts,
    pub(crate) candidates: u64,
    /// Observes every input, if there is one.
    pub(crate) follower: Option<Box<dyn Follower>>,
}

impl Storm {
    pub(crate) fn new(seed: u64, setup: Setup, follower: Option<Box<dyn Follower>>) -> Self {
        let mut rng = Rng(seed);
        let machines = setup.voters + setup.spares;
        let nodes = (0..machines).map(|id| Node::new(id, setup, &mut rng)).collect();
        let count = 3 + rng.index(3);
        let clients = (0..count).map(|id| ClientMachine::new(id, &mut rng)).collect();
        let mut storm = Self {
            setup,
            rng,
            now: 0,
            due: BinaryHeap::new(),
            events: Vec::new(),
            nodes,
            clients,
            chain: vec![first(setup).present],
            cuts: BTreeMap::new(),
            calm_from: if setup.followed { 5 * TTL } else { 12 * TTL },
            tokens: BTreeMap::new(),
            counts: Counts::default(),
            candidates: 0,
            follower,
        };
        (0..count).for_each(|at| storm.start_client(at));
        for node in 0..machines {
            storm.schedule(storm.now, Event::Gossip(node));
        }
        let (events, locks) = if setup.followed { (12, 1) } else { (30, 2) };
        let calm_from = storm.calm_from;
        for _ in 0..events {
            let (time, at) = (storm.rng.below(calm_from + 2 * TTL), storm.rng.index(count));
            let lock = storm.rng.below(locks) as Name;
            storm.schedule(time, Event::Ask { at, lock });
        }
        for _ in 0..events {
            let time = storm.rng.below(calm_from - TTL);
            storm.schedule(time, Event::Fault);
        }
        for _ in 0..6 * setup.spares.min(2) {
            let time = storm.rng.below(13 * TTL);
            storm.schedule(time, Event::Change);
        }
        storm
    }

    pub(crate) fn schedule(&mut self, time: u64, event: Event) {
        self.due.push(Reverse((time.max(self.now), self.events.len())));
        self.events.push(Some(event));
    }

    pub(crate) fn is_stormy(&self) -> bool {
        self.now < self.calm_from
    }

    /// Sends over a link that may lose, duplicate, delay and reorder.
    pub(crate) fn send(&mut self, from: Endpoint, to: Endpoint, message: Message) {
        let local = matches!((from, to), (Endpoint::Node(a), Endpoint::Node(b)) if a == b);
        if local {
            return self.schedule(self.now, Event::Arrive { from, to, message });
        }
        let stormy = self.is_stormy();
        let cut = self.cuts.get(&(from, to)).is_some_and(|until| *until > self.now);
        if cut || (stormy && self.rng.one_in(15)) {
            return;
        }
        let copies = if stormy && self.rng.one_in(20) { 2 } else { 1 };
        for _ in 0..copies {
            let slow = match self.rng.below(40) {
                0 if stormy => 3 * TTL,
                1 | 2 if stormy => TTL / 2,
                _ => 4 * MS,
            };
            let time = self.now + self.rng.below(slow) + 1;
            self.schedule(time, Event::Arrive { from, to, message: message.clone() });
        }
    }

    pub(crate) fn cut(&mut self, from: Endpoint, to: Endpoint, until: u64) {
        let cut = self.cuts.entry((from, to)).or_default();
        *cut = until.max(*cut);
    }

    /// Checks an entry that a client reports: its token must be greater than all earlier ones.
    pub(crate) fn check_entry(&mut self, at: usize, lock: Name, token: u64) {
        self.counts.entries += 1;
        let before = self.tokens.insert(lock, token).unwrap_or(0);
        assert!(token > before, "client {at} has token {token} of lock {lock} after {before}");
        self.check_exclusion();
    }

    /// Checks that at most one client is valid per lock.
    pub(crate) fn check_exclusion(&self) {
        let valid: Vec<(Name, usize, u64)> = self
            .clients
            .iter()
            .enumerate()
            .flat_map(|(at, machine)| {
                machine.valid(self.now).map(move |(lock, token)| (lock, at, token))
            })
            .collect();
        for (index, first) in valid.iter().enumerate() {
            let second = valid[index + 1..].iter().find(|second| second.0 == first.0);
            assert!(second.is_none(), "{first:?} and {second:?} are valid at {}", self.now);
        }
    }

    fn is_paused(&self, endpoint: Endpoint) -> bool {
        match endpoint {
            Endpoint::Node(at) => self.nodes[at].paused,
            Endpoint::Client(at) => self.clients[at].paused,
        }
    }

    fn endpoint_of(event: &Event) -> Option<Endpoint> {
        Some(match event {
            Event::Arrive { to, .. } => *to,
            Event::WakeNode { at, .. } | Event::Gossip(at) => Endpoint::Node(*at),
            Event::WakeClient { at, .. } | Event::Beat { at, .. } | Event::Ask { at, .. } => {
                Endpoint::Client(*at)
            }
            Event::Leave { at, .. } => Endpoint::Client(*at),
            _ => return None,
        })
    }

    pub(crate) fn dispatch(&mut self, event: Event) {
        self.counts.digest.add(&(self.now, &event));
        if let Some(endpoint) =
            Self::endpoint_of(&event).filter(|endpoint| self.is_paused(*endpoint))
        {
            return match endpoint {
                Endpoint::Node(at) => self.nodes[at].backlog.push(event),
                Endpoint::Client(at) => self.clients[at].backlog.push(event),
            };
        }
        match event {
            Event::Arrive { from, to: Endpoint::Node(at), message } => {
                self.node_hears(at, from, message);
            }
            Event::Arrive { from, to: Endpoint::Client(at), message } => {
                self.client_hears(at, from, message);
            }
            Event::WakeNode { at, process } => self.wake_node(at, process),
            Event::Gossip(at) => self.gossip(at),
            Event::WakeClient { at, process } => self.wake_client(at, process),
            Event::Beat { at, process } => self.beat(at, process),
            Event::Ask { at, lock } => self.ask(at, lock),
            Event::Leave { at, process, request } => self.leave(at, process, request),
            Event::Fault => self.inject_fault(),
            Event::Change => self.propose_change(),
            Event::Resume(endpoint) => self.resume(endpoint),
            Event::Return(at) => self.return_node(at),
            Event::ReturnClient(at) => self.start_client(at),
        }
    }

    pub(crate) fn run(mut self) -> Counts {
        let end = self.calm_from + 40 * TTL;
        let logs = std::env::var_os("QUORATE_STORM_LOG").is_some();
        while let Some(Reverse((time, number))) = self.due.pop() {
            if time > end {
                break;
            }
            self.now = time;
            let event = self.events[number].take().expect("it was planned");
            if logs {
                crate::eprintln_of(&format!("{time:>12} {event:?}"));
            }
            // Neither time nor an event at a node makes a client valid.
            let at_node = matches!(Self::endpoint_of(&event), Some(Endpoint::Node(_)));
            self.dispatch(event);
            if !at_node {
                self.check_exclusion();
            }
            let all_asked = self.now > self.calm_from + 3 * TTL;
            if all_asked && self.clients.iter().all(|machine| machine.waiting().is_empty()) {
                break;
            }
        }
        for (at, machine) in self.clients.iter().enumerate() {
            let waiting = machine.waiting();
            if logs && !waiting.is_empty() {
                let nodes = self.nodes.iter().map(|node| &node.voter);
                crate::eprintln_of(&format!("{:#?}", nodes.collect::<Vec<_>>()));
            }
            assert!(waiting.is_empty(), "client {at} still waits for {waiting:?}");
        }
        self.counts.changes = self.chain.len() as u64 - 1;
        self.counts
    }
}

pub(crate) fn terms() -> Terms {
    Terms::fixed(Span(TTL), Drift(DRIFT))
}
