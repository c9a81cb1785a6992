//! The world: nodes, clients, the events in progress between them, and the checks.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use quorate_core::{SortedMap, SortedSet};
use quorate_protocol::{ClientMessage, ServerMessage};

use super::clients::Client;
use super::links::{Connection, Link};
use super::nodes::Node;
use super::rng::{Rng, SECOND};
use crate::core::{Action, CallerId};
use crate::lease::{LeaseCall, LeaseId};
use crate::peer::PeerMessage;

/// Configuration of a storm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Setup {
    pub(super) nodes: usize,
    /// One node at a time restarts, connections break only for moments, and clients neither pause nor lose their network.
    /// Then no lock may be lost.
    pub(super) gentle: bool,
    /// Clients request a lock again as soon as its release is confirmed.
    pub(super) hasty: bool,
    /// Clients with a lease do not look at their own clocks: a lock whose validity has expired is valid again once a
    /// keep-alive is answered with a time-to-live.
    pub(super) trusting: bool,
    /// Number of nodes that have not joined the cluster at first. With any, the members change.
    pub(super) spares: usize,
}

/// Counters that show whether a storm has exercised anything.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    pub(super) entries: u64,
    /// Entries of clients that hold the lock with a lease.
    pub(super) leased: u64,
    pub(super) lost: u64,
    /// Locks that were still valid when their client stopped, although it had changed its node while inside.
    pub(super) kept: u64,
    pub(super) switches: u64,
    /// Tokens that have grown while the lock was held.
    pub(super) raised: u64,
    pub(super) restarts: u64,
    pub(super) forgotten: u64,
    /// Requests that an answer lists although the client has released them.
    pub(super) leaked: u64,
    /// Locks whose validity had expired, and which a keep-alive has made valid again.
    pub(super) revived: u64,
    /// Configurations after the first one.
    pub(super) changes: u64,
    /// Sessions with a time-to-live that the first configuration does not permit.
    pub(super) longer: u64,
}

impl Counts {
    pub(super) fn add(&mut self, other: Self) {
        self.entries += other.entries;
        self.leased += other.leased;
        self.lost += other.lost;
        self.kept += other.kept;
        self.switches += other.switches;
        self.raised += other.raised;
        self.restarts += other.restarts;
        self.forgotten += other.forgotten;
        self.leaked += other.leaked;
        self.revived += other.revived;
        self.changes += other.changes;
        self.longer += other.longer;
    }
}

/// Input of a node over a connection: a call of a client, or the end of the connection.
#[derive(Clone, Debug)]
pub(super) enum Input {
    Call(ClientMessage),
    LeaseCall(LeaseId, LeaseCall),
    Closed { answer_received: bool },
}

#[derive(Clone, Debug)]
pub(super) enum Event {
    /// A message between nodes arrives, unless the link has broken since.
    Peer {
        from: usize,
        to: usize,
        link: u64,
        message: PeerMessage,
    },
    PeerUp {
        at: usize,
        peer: usize,
        link: u64,
    },
    PeerDown {
        at: usize,
        peer: usize,
        process: u64,
    },
    Connect {
        a: usize,
        b: usize,
    },
    WakeNode {
        at: usize,
        process: u64,
    },
    Reserved {
        at: usize,
        process: u64,
        mark: u64,
    },
    ToNode {
        connection: CallerId,
        input: Input,
    },
    ToClient {
        connection: CallerId,
        message: ServerMessage,
    },
    /// A client notices that a connection is broken.
    Broken {
        connection: CallerId,
    },
    /// A call of a client has had no answer for too long.
    Late {
        at: usize,
        process: u64,
        number: u64,
    },
    Beat {
        at: usize,
        process: u64,
    },
    Want {
        at: usize,
        lock: u8,
    },
    Stop {
        at: usize,
        process: u64,
        lock: u8,
        request: u64,
    },
    StartClient {
        at: usize,
    },
    Fault,
    /// An operator changes the members.
    Change,
    /// A leaving node may have become idle.
    Depart {
        at: usize,
        process: u64,
        until: u64,
    },
    StartNode {
        at: usize,
    },
    ResumeNode {
        at: usize,
    },
    ResumeClient {
        at: usize,
    },
}

pub(super) struct World {
    pub(super) setup: Setup,
    pub(super) rng: Rng,
    pub(super) now: u64,
    count: u64,
    due: BinaryHeap<Reverse<(u64, u64)>>,
    events: SortedMap<u64, Event>,
    pub(super) nodes: Vec<Node>,
    pub(super) clients: Vec<Client>,
    pub(super) links: SortedMap<(usize, usize), Link>,
    pub(super) connections: SortedMap<CallerId, Connection>,
    /// Cuts between a client and a node, with the time at which each ends.
    pub(super) cuts: SortedMap<(usize, usize), u64>,
    /// Faults happen only before this time.
    pub(super) calm_from: u64,
    /// The greatest token of each lock, with the client and the process that had it.
    tokens: SortedMap<u8, (u64, usize, u64)>,
    /// Locks whose greatest token belongs to a client that has released it, with a confirmed release.
    released: SortedSet<u8>,
    pub(super) counts: Counts,
    pub(super) logs: bool,
    pub(super) numbers: u64,
    /// FNV-1a of all actions of all nodes, for storms whose behaviour is pinned.
    digest: Option<u64>,
}

/// Number of locks that clients compete for.
pub(super) const LOCKS: u64 = 2;

/// Time after the last fault within which every waiting client must have entered.
const CALM: u64 = 60 * SECOND;

impl World {
    pub(super) fn new(seed: u64, setup: Setup, logs: bool) -> Self {
        let mut rng = Rng(seed);
        let machines = setup.nodes + setup.spares;
        let nodes = (0..machines).map(|_| Node::new(&mut rng)).collect();
        let count = 3 + rng.index(3);
        let clients = (0..count).map(|_| Client::new(&mut rng)).collect();
        let mut world = Self {
            setup,
            rng,
            now: 0,
            count: 0,
            due: BinaryHeap::new(),
            events: SortedMap::new(),
            nodes,
            clients,
            links: SortedMap::new(),
            connections: SortedMap::new(),
            cuts: SortedMap::new(),
            calm_from: 50 * SECOND,
            tokens: SortedMap::new(),
            released: SortedSet::new(),
            counts: Counts::default(),
            logs,
            numbers: 0,
            digest: None,
        };
        (0..machines).for_each(|at| world.start_node(at));
        for at in 0..count {
            let time = world.rng.below(SECOND);
            world.plan(time, Event::StartClient { at });
        }
        for _ in 0..40 {
            let (time, at) = (world.rng.below(55 * SECOND), world.rng.index(count));
            let lock = world.rng.below(LOCKS) as u8;
            world.plan(time, Event::Want { at, lock });
        }
        world.plan_faults();
        for _ in 0..2 * setup.spares {
            let time = world.rng.below(55 * SECOND);
            world.plan(time, Event::Change);
        }
        world
    }

    pub(super) fn plan(&mut self, time: u64, event: Event) {
        self.count += 1;
        self.due.push(Reverse((time.max(self.now), self.count)));
        self.events.insert(self.count, event);
    }

    /// Adds an action of a node to the digest.
    pub(super) fn note_action(&mut self, at: usize, action: &Action) {
        let Some(digest) = &mut self.digest else { return };
        for byte in format!("{} {at} {action:?}", self.now).bytes() {
            *digest = (*digest ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    pub(super) fn is_stormy(&self) -> bool {
        self.now < self.calm_from
    }

    pub(super) fn log(&self, text: impl FnOnce() -> String) {
        if self.logs {
            super::print(&format!("{:>14} {}", self.now, text()));
        }
    }

    /// Checks the entry of a client into a lock.
    pub(super) fn check_entry(&mut self, at: usize, lock: u8, token: u64, leased: bool) {
        self.counts.entries += 1;
        self.counts.leased += u64::from(leased);
        self.log(|| format!("client {at} enters lock {lock} with token {token}"));
        self.check_token(at, lock, token);
        self.check_exclusion();
    }

    /// Checks that tokens grow.
    pub(super) fn check_token(&mut self, at: usize, lock: u8, token: u64) {
        let process = self.clients[at].process;
        if let Some((before, of, its)) = self.tokens.insert(lock, (token, at, process)) {
            // A client may confirm a lock that it holds. A client that has released it and requests it anew
            // must get another token.
            let same = (of, its) == (at, process) && before == token;
            let same = same && !self.released.contains(&lock);
            assert!(
                token > before || same,
                "client {at} has token {token} of lock {lock} after {before} of client {of}"
            );
        }
        self.released.remove(&lock);
    }

    /// Checks that no other client has entered a lock since this one, whose validity had expired and which a keep-alive
    /// has made valid again.
    pub(super) fn check_revived(&mut self, at: usize, lock: u8, token: u64) {
        self.counts.revived += 1;
        let process = self.clients[at].process;
        let last = self.tokens.get(&lock).copied();
        assert_eq!(
            last,
            Some((token, at, process)),
            "client {at} is told that its lease is alive, and has lost lock {lock}"
        );
    }

    /// Records that the release of a lock with this token was confirmed to the client.
    pub(super) fn note_released(&mut self, at: usize, lock: u8, token: u64) {
        let process = self.clients[at].process;
        if self.tokens.get(&lock) == Some(&(token, at, process)) {
            self.released.insert(lock);
        }
    }

    /// Checks that at most one client is valid per lock.
    pub(super) fn check_exclusion(&self) {
        for lock in 0..LOCKS as u8 {
            let is_valid = |(_, client): &(usize, &Client)| client.valid(lock, self.now).is_some();
            let mut valid = self.clients.iter().enumerate().filter(is_valid).map(|(at, _)| at);
            let (first, second) = (valid.next(), valid.next());
            assert!(
                second.is_none(),
                "clients {first:?} and {second:?} are valid for lock {lock} at {}",
                self.now
            );
        }
    }

    fn dispatch(&mut self, event: Event) {
        match event {
            Event::Peer { from, to, link, message } => {
                self.on_peer_message(from, to, link, message)
            }
            Event::PeerUp { at, peer, link } => self.peer_is_up(at, peer, link),
            Event::PeerDown { at, peer, process } => self.peer_is_down(at, peer, process),
            Event::Connect { a, b } => self.connect(a, b),
            Event::WakeNode { at, process } => self.wake_node(at, process),
            Event::Reserved { at, process, mark } => self.reserved(at, process, mark),
            Event::ToNode { connection, input } => self.on_node_input(connection, input),
            Event::ToClient { connection, message } => self.on_server_message(connection, message),
            Event::Broken { connection } => self.on_connection_broken(connection),
            Event::Late { at, process, number } => self.call_is_late(at, process, number),
            Event::Beat { at, process } => self.beat(at, process),
            Event::Want { at, lock } => self.want(at, lock),
            Event::Stop { at, process, lock, request } => self.stop(at, process, lock, request),
            Event::StartClient { at } => self.start_client(at),
            Event::Fault => self.inject_fault(),
            Event::Change => self.change_members(),
            Event::Depart { at, process, until } => self.depart(at, process, until),
            Event::StartNode { at } => self.start_node(at),
            Event::ResumeNode { at } => self.resume_node(at),
            Event::ResumeClient { at } => self.resume_client(at),
        }
    }

    /// Defers an event of a paused machine until the machine resumes; returns whether it was deferred.
    fn hold_back(&mut self, event: &Event) -> bool {
        let backlog = match event {
            Event::Peer { to: at, .. }
            | Event::PeerUp { at, .. }
            | Event::PeerDown { at, .. }
            | Event::WakeNode { at, .. }
            | Event::Reserved { at, .. }
            | Event::Depart { at, .. } => self.nodes[*at].backlog.as_mut(),
            Event::ToNode { connection, .. } => {
                let at = self.connections.get(connection).map(|it| it.node);
                at.and_then(|at| self.nodes[at].backlog.as_mut())
            }
            Event::Late { at, .. }
            | Event::Beat { at, .. }
            | Event::Want { at, .. }
            | Event::Stop { at, .. } => self.clients[*at].backlog.as_mut(),
            Event::ToClient { connection, .. } | Event::Broken { connection } => {
                let at = self.connections.get(connection).map(|it| it.client);
                at.and_then(|at| self.clients[at].backlog.as_mut())
            }
            _ => None,
        };
        backlog.map(|backlog| backlog.push(event.clone())).is_some()
    }

    pub(super) fn handle(&mut self, event: Event) {
        if !self.hold_back(&event) {
            self.dispatch(event);
        }
    }

    pub(super) fn run(mut self) -> Counts {
        self.run_to_end();
        self.counts
    }

    /// Runs the world, and returns four digits that change with any action of any node.
    pub(super) fn run_digested(mut self) -> String {
        self.digest = Some(0xcbf2_9ce4_8422_2325);
        self.run_to_end();
        let digest = self.digest.unwrap_or_default();
        let halves = digest >> 32 ^ digest;
        format!("{:04x}", (halves >> 16 ^ halves) & 0xffff)
    }

    fn run_to_end(&mut self) {
        let end = self.calm_from + CALM;
        while let Some(Reverse((time, number))) = self.due.pop() {
            if time > end {
                break;
            }
            self.now = time;
            let event = self.events.remove(&number).expect("it was planned");
            let quiet = matches!(
                event,
                Event::WakeNode { .. } | Event::Peer { message: PeerMessage::Detector(..), .. }
            );
            if self.logs && !quiet {
                self.log(|| format!("{event:?}"));
            }
            self.handle(event);
            self.check_exclusion();
            let all_asked = self.now > self.calm_from + 10 * SECOND;
            if all_asked && !self.clients.iter().any(Client::waits) {
                break;
            }
        }
        for node in self.nodes.iter().filter_map(|node| node.core.as_ref()) {
            self.log(|| format!("{:?}", node.voter().ballots().collect::<Vec<_>>()));
        }
        for (at, client) in self.clients.iter().enumerate() {
            assert!(!client.waits(), "client {at} still waits: {client:?}");
        }
        let newest = self.nodes.iter().filter_map(|node| node.core.as_ref());
        self.counts.changes = newest.map(|core| core.electorate.index()).max().unwrap_or(0);
    }
}
