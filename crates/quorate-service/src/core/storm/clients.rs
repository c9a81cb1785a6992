//! Client processes: the locks that they hold and want, and the schedule of their calls.

use quorate_core::{SortedMap, Span, Time};
use quorate_protocol::SessionKey;

use super::calls::{OpenCall, Operation};
use super::rng::{Clock, MS, Rng, SECOND};
use super::world::{Event, World};
use crate::core::CallerId;
use crate::lease::LeaseId;

/// The protocol that a client uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// One connection at a time. The client counts validity from when it sent a call, by its own clock.
    Native,
    /// One connection per call. The client counts validity from when it sent the call, with the duration that
    /// the front end computed.
    Http,
    /// One connection per call. The client counts validity from when an answer arrives.
    Etcd,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Key {
    Session(SessionKey),
    Lease(LeaseId),
}

/// A lock that a client wants or holds.
#[derive(Clone, Debug)]
pub(super) struct Want {
    pub(super) request: u64,
    pub(super) wait_ms: Option<u64>,
    pub(super) holding: Option<Holding>,
}

/// A lock that a client is inside of.
#[derive(Clone, Copy, Debug)]
pub(super) struct Holding {
    pub(super) token: u64,
    /// When the client learned this token.
    pub(super) token_since: Time,
    /// End of validity by the client's own clock.
    pub(super) until: Time,
    pub(super) since: Time,
    /// The client knows that the lock is lost, and has not stopped yet.
    pub(super) lost: bool,
    /// The client has changed its node since it entered.
    pub(super) moved: bool,
}

/// A release that no node has confirmed yet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ending {
    pub(super) lock: u8,
    pub(super) request: u64,
    pub(super) token: Option<u64>,
}

/// The longest time-to-live without a change of the terms. Clients whose sessions live longer wait and stay no longer than the
/// others, because the world ends.
pub(super) const USUAL_TTL: Span = Span::from_millis(4_500);

#[derive(Debug)]
pub(super) struct Client {
    pub(super) clock: Clock,
    pub(super) kind: Kind,
    pub(super) process: u64,
    pub(super) running: bool,
    /// Events during a pause of the machine; `None` while it runs.
    pub(super) backlog: Option<Vec<Event>>,
    pub(super) key: Option<Key>,
    /// Time-to-live as the client knows it.
    pub(super) ttl: Span,
    /// End of the lease's validity, for clients with a lease.
    pub(super) lease_until: Time,
    /// Whether a late call may still release a lock of this lease. Then the client uses another lease once
    /// this one holds nothing.
    pub(super) spoiled: bool,
    pub(super) node: usize,
    pub(super) connection: Option<CallerId>,
    pub(super) calls: SortedMap<u64, OpenCall>,
    pub(super) numbers: u64,
    requests: u64,
    pub(super) wants: SortedMap<u8, Want>,
    pub(super) endings: Vec<Ending>,
    /// Released requests, and when the client learned that each was released.
    pub(super) ended: SortedMap<u64, Time>,
}

impl Client {
    pub(super) fn new(rng: &mut Rng) -> Self {
        Self {
            clock: Clock::new(rng),
            kind: Kind::Native,
            process: 0,
            running: false,
            backlog: None,
            key: None,
            ttl: Span::from_millis(3_000),
            lease_until: Time::ZERO,
            spoiled: false,
            node: 0,
            connection: None,
            calls: SortedMap::new(),
            numbers: 0,
            requests: 0,
            wants: SortedMap::new(),
            endings: Vec::new(),
            ended: SortedMap::new(),
        }
    }

    /// Returns the token of a lock that the client relies on, by its own clock.
    pub(super) fn valid(&self, lock: u8, now: u64) -> Option<u64> {
        let holding = self.wants.get(&lock).filter(|_| self.running)?.holding?;
        (self.clock.local_time(now) < holding.until).then_some(holding.token)
    }

    /// Returns whether the client waits for a lock.
    pub(super) fn waits(&self) -> bool {
        self.running && self.wants.values().any(|it| it.holding.is_none())
    }

    pub(super) fn next_request(&mut self) -> u64 {
        self.requests += 1;
        self.process << 32 | self.requests
    }

    pub(super) fn is_called(&self, lock: u8) -> bool {
        let asks = |call: &OpenCall| matches!(call.operation, Operation::Acquire { lock: of, inside: None, .. } if of == lock);
        self.calls.values().any(asks)
    }
}

impl World {
    /// Starts a client process, with a new session or with the key of the previous process.
    pub(super) fn start_client(&mut self, at: usize) {
        let kind = match self.rng.below(5) {
            0 | 1 => Kind::Native,
            2 | 3 if !self.setup.trusting => Kind::Http,
            _ => Kind::Etcd,
        };
        let keeps = self.rng.one_in(3);
        let ttl = match kind {
            // A node without terms that permit as much gives less.
            _ if self.setup.spares > 0 && self.rng.one_in(2) => 8 * SECOND,
            Kind::Etcd => (1 + self.rng.below(3)) * SECOND,
            _ => 1_500 * MS + self.rng.below(3 * SECOND),
        };
        let node = self.rng.index(self.nodes.len());
        let client = &mut self.clients[at];
        let known = client.key.take().filter(|_| keeps && kind != Kind::Etcd);
        let known = known.filter(|key| matches!(key, Key::Session(_)));
        let ttl = if known.is_some() { client.ttl } else { Span(ttl / MS * MS) };
        *client = Client {
            kind,
            ttl,
            node,
            clock: client.clock,
            process: client.process + 1,
            running: true,
            key: known,
            numbers: client.numbers,
            ..Client::new(&mut self.rng)
        };
        let process = client.process;
        self.plan(self.now, Event::Beat { at, process });
    }

    /// Crashes a client process without notice. Another process starts on its machine.
    pub(super) fn crash_client(&mut self, at: usize) {
        let client = &mut self.clients[at];
        if !std::mem::replace(&mut client.running, false) {
            return;
        }
        client.backlog = None;
        let process = client.process;
        client.process += 1;
        let mine = self.connections.iter();
        let mine = mine.filter(|(_, it)| it.client == at && it.client_process == process);
        for connection in mine.map(|(id, _)| *id).collect::<Vec<_>>() {
            self.close_connection(connection);
        }
        let time = self.now + self.rng.below(8 * SECOND);
        self.plan(time, Event::StartClient { at });
    }

    /// Sends a keep-alive, or opens a session. Every client does so at least four times per ttl.
    pub(super) fn beat(&mut self, at: usize, process: u64) {
        let client = &mut self.clients[at];
        if client.process != process {
            return;
        }
        let interval = client.ttl.0 / 4;
        let next = client.clock.world_time(client.clock.local_time(self.now) + Span(interval));
        self.plan(next, Event::Beat { at, process });
        self.drop_expired(at);
        let client = &mut self.clients[at];
        if client.spoiled && client.wants.is_empty() && client.endings.is_empty() {
            (client.key, client.spoiled) = (None, false);
        }
        // The client changes its node at random.
        if self.is_stormy() && self.rng.one_in(12) {
            self.switch_node(at);
        }
        let client = &self.clients[at];
        if client.key.is_some() {
            self.call(at, self.clients[at].node, Operation::KeepAlive);
        } else if !client.calls.values().any(|call| matches!(call.operation, Operation::Open(_))) {
            self.open(at);
        }
    }

    /// Ends locks that are no longer valid by the client's own clock.
    pub(super) fn drop_expired(&mut self, at: usize) {
        if self.setup.trusting && self.clients[at].kind == Kind::Etcd {
            return;
        }
        let local_time = self.clients[at].clock.local_time(self.now);
        for lock in 0..super::world::LOCKS as u8 {
            let holding = self.clients[at].wants.get(&lock).and_then(|want| want.holding);
            if let Some(holding) = holding.filter(|holding| holding.until <= local_time) {
                if !holding.lost {
                    self.lose(at, lock, "it has expired");
                }
                self.leave(at, lock);
            }
        }
    }

    /// Handles the loss of a lock that a client learns of.
    pub(super) fn lose(&mut self, at: usize, lock: u8, why: &str) {
        let slow = self.rng.one_in(2);
        let Some(want) = self.clients[at].wants.get_mut(&lock) else { return };
        let Some(holding) = want.holding.as_mut().filter(|holding| !holding.lost) else { return };
        holding.lost = true;
        self.counts.lost += 1;
        self.log(|| format!("client {at} loses lock {lock}: {why}"));
        assert!(!self.setup.gentle, "client {at} has lost lock {lock}: {why}");
        // Some clients continue until their validity expires.
        if !slow {
            self.leave(at, lock);
        }
    }

    /// Handles the end of the session, with everything that it held.
    pub(super) fn session_over(&mut self, at: usize, why: &str) {
        self.log(|| format!("the session of client {at} is over: {why}"));
        for lock in 0..super::world::LOCKS as u8 {
            if self.clients[at].wants.get(&lock).is_some_and(|want| want.holding.is_some()) {
                self.lose(at, lock, why);
            }
        }
        let client = &mut self.clients[at];
        client.key = None;
        client.endings.clear();
        client.ended.clear();
        let calls: Vec<u64> = client.calls.keys().copied().collect();
        calls.into_iter().for_each(|number| self.abandon(at, number));
        let client = &mut self.clients[at];
        client.connection = None;
        let waiting: Vec<u8> = client.wants.keys().copied().collect();
        for lock in waiting {
            let request = client.next_request();
            if let Some(want) = client.wants.get_mut(&lock)
                && want.holding.is_none()
            {
                want.request = request;
            }
        }
        self.open(at);
    }

    /// Makes a client want a lock.
    pub(super) fn want(&mut self, at: usize, lock: u8) {
        if !self.clients[at].running {
            return;
        }
        let (mode, wait) = (self.rng.below(6), self.rng.below(3_000));
        let client = &mut self.clients[at];
        let ending = client.endings.iter().any(|it| it.lock == lock);
        let etcd = client.kind == Kind::Etcd;
        if client.key.is_none()
            || client.wants.contains_key(&lock)
            // A release that is still in progress would release the lock again.
            || ending
            || etcd && client.spoiled
        {
            return;
        }
        let wait_ms = match mode {
            0 if !etcd => Some(0),
            1 if !etcd => Some(wait),
            _ => None,
        };
        let request = client.next_request();
        client.wants.insert(lock, Want { request, wait_ms, holding: None });
        self.ask(at, lock);
    }

    /// Calls the present node for a lock that the client waits for.
    pub(super) fn ask(&mut self, at: usize, lock: u8) {
        let client = &self.clients[at];
        let Some(want) = client.wants.get(&lock).filter(|want| want.holding.is_none()) else {
            return;
        };
        let (node, request) = (client.node, want.request);
        self.call(at, node, Operation::Acquire { lock, request, inside: None });
    }

    pub(super) fn other_node(&mut self, at: usize) -> usize {
        let n = self.nodes.len();
        (self.clients[at].node + 1 + self.rng.index(n - 1)) % n
    }

    /// Lets a client enter, if it may rely on the lock.
    pub(super) fn enter(&mut self, at: usize, lock: u8, token: u64, until: Time) {
        let client = &mut self.clients[at];
        let (since, process, ttl) =
            (client.clock.local_time(self.now), client.process, client.ttl.0);
        let leased = client.kind == Kind::Etcd;
        let Some(want) = client.wants.get_mut(&lock) else { return };
        // After a long wait little validity may be left, with clocks that drift. Then the client requests the lock again.
        if until <= since + Span(ttl / 8) {
            return;
        }
        let (lost, moved, request) = (false, false, want.request);
        want.holding = Some(Holding { token, token_since: since, until, since, lost, moved });
        self.check_entry(at, lock, token, leased);
        let stay = match self.rng.below(4) {
            0 => self.rng.below(5 * ttl.min(USUAL_TTL.0)),
            _ if self.setup.trusting && self.is_stormy() => {
                self.rng.below(5 * ttl.min(USUAL_TTL.0))
            }
            _ => self.rng.below(ttl / 2),
        };
        self.plan(self.now + stay, Event::Stop { at, process, lock, request });
        if until.since(since).0 < ttl / 2 {
            // The lock is not valid for long, and the next beat may be too late.
            self.call(at, self.clients[at].node, Operation::KeepAlive);
        }
    }

    pub(super) fn stop(&mut self, at: usize, process: u64, lock: u8, request: u64) {
        let client = &self.clients[at];
        let want = client.wants.get(&lock).filter(|want| want.request == request);
        let Some(holding) =
            want.filter(|_| client.process == process).and_then(|want| want.holding)
        else {
            return;
        };
        if holding.moved && !holding.lost && client.valid(lock, self.now).is_some() {
            self.counts.kept += 1;
        }
        self.leave(at, lock);
    }

    /// Stops the client's use of a lock, and releases it. Answers to calls for this request are ignored from now on.
    pub(super) fn leave(&mut self, at: usize, lock: u8) {
        let Some(want) = self.clients[at].wants.remove(&lock) else { return };
        self.log(|| format!("client {at} leaves lock {lock}"));
        let open = self.clients[at].calls.iter().filter(
            |(_, call)| matches!(call.operation, Operation::Acquire { lock: of, .. } if of == lock),
        );
        for number in open.map(|(number, _)| *number).collect::<Vec<_>>() {
            if self.clients[at].kind != Kind::Native {
                self.abandon(at, number);
            } else {
                self.clients[at].calls.remove(&number);
            }
        }
        let ending = Ending { lock, request: want.request, token: want.holding.map(|it| it.token) };
        self.end(at, ending);
    }

    /// Releases a request through the present node, or through another one.
    pub(super) fn end(&mut self, at: usize, ending: Ending) {
        if self.clients[at].key.is_none() {
            return;
        }
        if !self.clients[at].endings.iter().any(|it| it.request == ending.request) {
            self.clients[at].endings.push(ending);
        }
        let elsewhere = self.clients[at].kind != Kind::Native && self.rng.one_in(4);
        let node = if elsewhere { self.other_node(at) } else { self.clients[at].node };
        self.call(at, node, Operation::Release(ending));
    }
}
