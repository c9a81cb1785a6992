//! Calls of clients: over which connection, when they are repeated elsewhere, and what their answers mean.

use quorate_core::{Span, Time};
use quorate_protocol::{Answer, Ask, Call, Failure, Held, Mode, Name, Reliance, Say};

use super::chance::{MS, SECOND};
use super::clients::{Ending, Key, Kind};
use super::world::{Event, Input, World};
use crate::lease::{LeaseId, Leased};

/// Answers to clients of etcd's API that take longer than this, by the client's clock, are not relied on: the service
/// documents 500 ms, and clocks drift.
const ANSWER: Span = Span::from_millis(450);

#[derive(Clone, Debug)]
pub(super) struct OpenCall {
    pub(super) connection: u64,
    pub(super) node: usize,
    pub(super) sent: Time,
    pub(super) what: What,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum What {
    /// A session, or a lease with this number.
    Open(i64),
    KeepAlive,
    Acquire {
        lock: u8,
        request: u64,
        inside: Option<u64>,
    },
    Release(Ending),
}

fn name(lock: u8) -> Name {
    Name::lock(&format!("lock {lock}")).expect("a name")
}

impl World {
    pub(super) fn open(&mut self, at: usize) {
        let lease = LeaseId::chosen(self.chance.next());
        let node = self.clients[at].node;
        self.call(at, node, What::Open(lease));
    }

    pub(super) fn call(&mut self, at: usize, node: usize, what: What) {
        let kind = self.clients[at].kind;
        let connection = match (kind, self.clients[at].connection) {
            (Kind::Native, Some(connection)) => connection,
            _ => self.open_connection(at, node, kind != Kind::Native),
        };
        if kind == Kind::Native {
            self.clients[at].connection = Some(connection);
        }
        let patience = self.patience(at, what);
        let resigns = self.chance.one_in(2);
        let client = &mut self.clients[at];
        client.numbers += 1;
        let (number, sent) = (client.numbers, client.clock.shows(self.now));
        let Some(input) = client.input(number, sent.0 / 1_000, what, resigns) else { return };
        client.calls.insert(number, OpenCall { connection, node, sent, what });
        let process = client.process;
        if let Some(patience) = patience {
            let time = client.clock.when(sent + patience);
            self.plan(time, Event::Late { at, process, number });
        }
        self.log(|| format!("client {at} calls node {node}: {number} {what:?}"));
        self.send_to_node(connection, input);
    }

    /// How long a client waits for an answer before it asks another node.
    fn patience(&mut self, at: usize, what: What) -> Option<Span> {
        let client = &self.clients[at];
        let ttl = client.ttl.0;
        match what {
            What::Acquire { inside: None, .. } if client.kind == Kind::Native => None,
            What::Acquire { inside: None, .. } => Some(Span(ttl / 4 + self.chance.below(8 * ttl))),
            _ => Some(Span(ttl / 8)),
        }
    }

    /// The client does not wait for this answer any longer.
    pub(super) fn abandon(&mut self, at: usize, number: u64) {
        let Some(call) = self.clients[at].calls.remove(&number) else { return };
        self.close_connection(call.connection);
    }

    pub(super) fn call_is_late(&mut self, at: usize, process: u64, number: u64) {
        let client = &self.clients[at];
        let Some(call) = client.calls.get(&number).filter(|_| client.process == process) else {
            return;
        };
        if client.kind == Kind::Native || call.node == client.node {
            self.go_elsewhere(at);
        }
        self.call_again(at, number);
    }

    pub(super) fn client_notices(&mut self, connection: u64) {
        let Some(it) = self.connections.get_mut(&connection) else { return };
        let (at, process, node) = (it.client, it.client_process, it.node);
        if std::mem::replace(&mut it.closed, true) {
            return;
        }
        let client = &self.clients[at];
        if client.process != process || !client.lives {
            return;
        }
        match client.kind {
            Kind::Native if client.connection == Some(connection) => self.go_elsewhere(at),
            Kind::Native => {}
            _ => {
                let calls = client.calls.iter().filter(|(_, call)| call.connection == connection);
                let numbers: Vec<u64> = calls.map(|(number, _)| *number).collect();
                if client.node == node {
                    self.go_elsewhere(at);
                }
                numbers.into_iter().for_each(|number| self.call_again(at, number));
            }
        }
    }

    /// Uses another node from now on. A native client moves all its calls; others call again for each one.
    pub(super) fn go_elsewhere(&mut self, at: usize) {
        let node = self.other_node(at);
        self.counts.switches += 1;
        let client = &mut self.clients[at];
        client.node = node;
        for want in client.wants.values_mut() {
            want.grip.iter_mut().for_each(|grip| grip.moved = true);
        }
        if client.kind != Kind::Native {
            return;
        }
        let connection = client.connection.take();
        let calls = std::mem::take(&mut client.calls);
        connection.into_iter().for_each(|connection| self.close_connection(connection));
        self.tell_inside(at);
        for call in calls.into_values() {
            match call.what {
                What::Acquire { inside: Some(_), .. } | What::KeepAlive => {}
                What::Open(_) => self.open(at),
                what => self.call(at, node, what),
            }
        }
        if self.clients[at].key.is_some() {
            self.call(at, node, What::KeepAlive);
        }
    }

    /// Tells the present node of locks that are held and valid.
    fn tell_inside(&mut self, at: usize) {
        let (node, now) = (self.clients[at].node, self.now);
        for lock in 0..super::world::LOCKS as u8 {
            let Some(token) = self.clients[at].valid(lock, now) else { continue };
            let want = self.clients[at].wants.get(&lock);
            let Some(want) = want.filter(|want| want.grip.is_some_and(|grip| !grip.lost)) else {
                continue;
            };
            let request = want.request;
            if !self.chance.one_in(3) {
                self.call(at, node, What::Acquire { lock, request, inside: Some(token) });
            }
        }
    }

    /// A call that has failed or is late is made again at the present node.
    fn call_again(&mut self, at: usize, number: u64) {
        let Some(call) = self.clients[at].calls.get(&number) else { return };
        let (what, node, kind) = (call.what, self.clients[at].node, self.clients[at].kind);
        self.abandon(at, number);
        match what {
            What::Open(_) => self.open(at),
            What::Acquire { inside: Some(_), .. } => self.tell_inside(at),
            What::Acquire { lock, request, .. } => {
                let want = self.clients[at].wants.get(&lock);
                if want.is_some_and(|want| want.request == request) {
                    self.ask(at, lock);
                }
            }
            What::Release(ending) => {
                self.clients[at].spoiled |= kind == Kind::Etcd;
                self.call(at, node, What::Release(ending));
            }
            What::KeepAlive => {
                let keeps =
                    |call: &OpenCall| matches!(call.what, What::KeepAlive) && call.node == node;
                if !self.clients[at].calls.values().any(keeps) {
                    self.call(at, node, what);
                }
            }
        }
    }

    /// A node says something to a client.
    pub(super) fn client_hears(&mut self, connection: u64, say: Say) {
        let Some(it) = self.connections.get(&connection) else { return };
        let (at, closed) = (it.client, it.closed);
        let client = &self.clients[at];
        if closed || client.process != it.client_process || !client.lives {
            return;
        }
        match say {
            Say::Answer(number, answer) => {
                let fits = |(of, call): &(&u64, &OpenCall)| {
                    call.connection == connection && (it.local || **of == number)
                };
                let number = client.calls.iter().find(fits).map(|(number, _)| *number);
                let Some(number) = number else { return };
                let Some(call) = self.clients[at].calls.remove(&number) else { return };
                self.hear(at, number, call, answer);
            }
            Say::Lost { request, .. } => {
                let held = client.wants.iter().find(|(_, want)| want.request == request);
                let lock = held.filter(|(_, want)| want.grip.is_some()).map(|(lock, _)| *lock);
                lock.into_iter().for_each(|lock| self.loses(at, lock, "its node says so"));
            }
            Say::Leaving if client.connection == Some(connection) => self.go_elsewhere(at),
            _ => {}
        }
    }

    fn hear(&mut self, at: usize, number: u64, call: OpenCall, answer: Answer) {
        self.drop_expired(at);
        match (call.what, answer) {
            (_, Answer::Failed(Failure::NoQuorum | Failure::Leaving)) => {
                self.clients[at].calls.insert(number, call.clone());
                if self.clients[at].kind == Kind::Native || self.clients[at].node == call.node {
                    self.go_elsewhere(at);
                }
                if self.clients[at].calls.contains_key(&number) {
                    // A pause, so that a cluster without a quorum is not asked without end.
                    let (process, pause) = (self.clients[at].process, self.chance.below(200 * MS));
                    self.plan(self.now + pause, Event::Late { at, process, number });
                }
            }
            (What::Release(ending), answer) => self.hear_released(at, ending, &answer),
            (_, Answer::Failed(Failure::NoSession | Failure::Ended)) => {
                self.session_over(at, "a node says so");
            }
            (What::Open(lease), answer) => self.hear_opened(at, lease, &call, answer),
            (What::KeepAlive, Answer::Alive { reliance, held, waiting }) => {
                self.hear_alive(at, &call, reliance, &held, &waiting);
            }
            (What::KeepAlive, Answer::Life(life)) => {
                self.hear_life(at, &call, life.relied_ms);
                self.ask_again(at);
            }
            (What::Acquire { lock, request, .. }, Answer::Granted { token, reliance }) => {
                self.hear_granted(at, &call, (lock, request, token), reliance);
            }
            (What::Acquire { lock, request, inside }, Answer::Failed(failure)) => {
                self.hear_refused(at, (lock, request, inside), &failure);
            }
            (what, answer) => panic!("{what:?} is answered with {answer:?}"),
        }
    }

    fn hear_opened(&mut self, at: usize, lease: i64, call: &OpenCall, answer: Answer) {
        let client = &mut self.clients[at];
        match answer {
            Answer::Opened { session, ttl_ms } => {
                client.key = Some(Key::Session(session));
                client.ttl = Span::from_millis(ttl_ms.into());
            }
            Answer::Life(life) => {
                client.key = Some(Key::Lease(LeaseId { owner: "etcd".to_owned(), id: lease }));
                client.ttl = Span::from_millis(life.ttl_ms);
                client.lease_until = Time::ZERO;
                self.hear_life(at, call, life.relied_ms);
            }
            answer => panic!("a session is answered with {answer:?}"),
        }
        self.ask_again(at);
    }

    /// Clients of etcd's API count from when the answer arrives.
    fn hear_life(&mut self, at: usize, call: &OpenCall, relied_ms: u64) {
        let client = &mut self.clients[at];
        let shows = client.clock.shows(self.now);
        if shows.since(call.sent) >= ANSWER {
            return;
        }
        let until = shows + Span::from_millis(relied_ms);
        client.lease_until = client.lease_until.max(until);
        for want in client.wants.values_mut() {
            if let Some(grip) = want.grip.as_mut().filter(|grip| !grip.lost) {
                grip.until = client.lease_until;
            }
        }
    }

    /// Locks that the client waits for and that no call waits for are asked for again.
    fn ask_again(&mut self, at: usize) {
        for lock in 0..super::world::LOCKS as u8 {
            if !self.clients[at].is_called(lock) {
                self.ask(at, lock);
            }
        }
    }

    fn until(&self, at: usize, call: &OpenCall, reliance: Reliance) -> Time {
        match self.clients[at].kind {
            Kind::Native => Time((reliance.since + reliance.micros) * 1_000),
            _ => call.sent + Span((reliance.since + reliance.micros) * 1_000),
        }
    }

    fn hear_alive(
        &mut self,
        at: usize,
        call: &OpenCall,
        reliance: Reliance,
        held: &[Held],
        waiting: &[u64],
    ) {
        let until = self.until(at, call, reliance);
        let (mut lost, mut listed_as) = (Vec::new(), Vec::new());
        for (lock, want) in &mut self.clients[at].wants {
            let request = want.request;
            let Some(grip) = want.grip.as_mut().filter(|grip| !grip.lost) else { continue };
            let listed = held.iter().find(|it| it.request == request);
            match listed {
                Some(listed) => {
                    listed_as.push((*lock, listed.token));
                    grip.until = grip.until.max(until);
                }
                None if call.sent > grip.since => lost.push(*lock),
                None => {}
            }
        }
        listed_as.into_iter().for_each(|(lock, token)| self.hear_token(at, call, lock, token));
        lost.into_iter().for_each(|lock| self.loses(at, lock, "it is not listed"));
        // The client gives back what is listed and it does not want.
        for request in held.iter().map(|it| it.request).chain(waiting.iter().copied()) {
            let client = &self.clients[at];
            let wanted = client.wants.values().any(|want| want.request == request);
            let ending = client.endings.iter().any(|it| it.request == request);
            if wanted || ending {
                continue;
            }
            if client.ended.get(&request).is_some_and(|ended| *ended < call.sent) {
                self.counts.leaked += 1;
                self.log(|| format!("client {at} had released {request}"));
            }
            // The lock matters to leases only.
            self.end(at, Ending { lock: 0, request, token: None });
        }
        self.ask_again(at);
    }

    /// A lock is held on. Its token may have grown: the node that had granted it died before enough voters knew. An answer to
    /// a call from before the client heard of its present token may name an earlier one.
    fn hear_token(&mut self, at: usize, call: &OpenCall, lock: u8, token: u64) {
        let now = self.clients[at].clock.shows(self.now);
        let Some(want) = self.clients[at].wants.get_mut(&lock) else { return };
        let Some(grip) = want.grip.as_mut().filter(|grip| !grip.lost) else { return };
        if token == grip.token || (token < grip.token && call.sent <= grip.told) {
            return;
        }
        let before = std::mem::replace(&mut grip.token, token);
        grip.told = now;
        assert!(token > before, "client {at} had token {before} of lock {lock}, and has {token}");
        self.counts.raised += 1;
        if self.clients[at].valid(lock, self.now).is_some() {
            self.judge_token(at, lock, token);
        }
    }

    fn hear_granted(
        &mut self,
        at: usize,
        call: &OpenCall,
        (lock, request, token): (u8, u64, u64),
        reliance: Reliance,
    ) {
        let until = match self.clients[at].kind {
            Kind::Etcd => self.clients[at].lease_until,
            _ => self.until(at, call, reliance),
        };
        let want = self.clients[at].wants.get_mut(&lock).filter(|want| want.request == request);
        match want.map(|want| &mut want.grip) {
            Some(Some(grip)) => {
                if !grip.lost {
                    grip.until = grip.until.max(until);
                }
                self.hear_token(at, call, lock, token);
            }
            Some(None) => {
                self.enter(at, lock, token, until);
                let waits = self.clients[at].wants.get(&lock).is_some_and(|it| it.grip.is_none());
                if waits && !self.clients[at].is_called(lock) {
                    match self.clients[at].kind {
                        // The grant came too late to be relied on. It is confirmed by another call.
                        Kind::Native | Kind::Http => self.ask(at, lock),
                        Kind::Etcd => self.leave(at, lock),
                    }
                }
            }
            None => {}
        }
    }

    fn hear_refused(
        &mut self,
        at: usize,
        (lock, request, inside): (u8, u64, Option<u64>),
        failure: &Failure,
    ) {
        let want = self.clients[at].wants.get(&lock).filter(|want| want.request == request);
        let Some(want) = want else { return };
        match (failure, want.grip.is_some()) {
            (Failure::NoRequest, true) if inside.is_some() => {
                self.loses(at, lock, "a node does not know the request");
            }
            (Failure::NoRequest, false) => {
                let client = &mut self.clients[at];
                let request = client.next_request();
                if let Some(want) = client.wants.get_mut(&lock) {
                    want.request = request;
                }
                self.ask(at, lock);
            }
            (Failure::Busy | Failure::TimedOut, false) if want.wait_ms.is_some() => {
                self.leave(at, lock);
            }
            // An earlier process of the session has asked for the lock: it is released with the next keep-alive.
            (Failure::TooMuch(_), _) => {}
            (Failure::NoRequest | Failure::Busy | Failure::TimedOut, _) => {}
            (failure, _) => panic!("client {at} is refused lock {lock}: {failure:?}"),
        }
    }

    fn hear_released(&mut self, at: usize, ending: Ending, answer: &Answer) {
        match answer {
            Answer::Done | Answer::Failed(Failure::NoRequest | Failure::NoSession) => {
                let client = &mut self.clients[at];
                let shows = client.clock.shows(self.now);
                client.endings.retain(|it| it.request != ending.request);
                client.ended.insert(ending.request, shows);
                if let Some(token) = ending.token {
                    self.note_given_back(at, ending.lock, token);
                    // Later on all that wait have to have their turns.
                    if self.setup.hasty && self.now + 20 * SECOND < self.calm_from {
                        self.want(at, ending.lock);
                    }
                }
            }
            answer => panic!("a release is answered with {answer:?}"),
        }
    }
}

impl super::clients::Client {
    /// Message that carries a call.
    fn input(&self, number: u64, sent: u64, what: What, resigns: bool) -> Option<Input> {
        if let What::Open(id) = what {
            let ttl_ms = (self.ttl.0 / MS) as u32;
            return Some(match self.kind {
                Kind::Etcd => {
                    let (fresh, place) = (true, String::new());
                    let lease = LeaseId { owner: "etcd".to_owned(), id };
                    Input::Leased(lease, Leased::Grant { ttl_ms, fresh, place })
                }
                _ => {
                    let (who, place) = ("client".to_owned(), String::new());
                    Input::Ask(Ask { number, sent, call: Call::Open { ttl_ms, who, place } })
                }
            });
        }
        Some(match self.key.clone()? {
            Key::Lease(lease) => Input::Leased(
                lease,
                match what {
                    What::Acquire { lock, .. } => {
                        let (name, value) = (name(lock), String::new());
                        Leased::Acquire { name, request: number, value }
                    }
                    What::Release(Ending { lock, token, .. }) => {
                        Leased::Leave { name: name(lock), token: token.filter(|_| resigns) }
                    }
                    _ => Leased::KeepAlive,
                },
            ),
            Key::Session(session) => {
                let call = match what {
                    What::Acquire { lock, request, inside } => {
                        let want = self.wants.get(&lock).filter(|want| want.request == request);
                        let wait_ms = want.and_then(|want| want.wait_ms);
                        let (name, mode, why) = (name(lock), Mode::Exclusive, String::new());
                        Call::Acquire { session, request, name, mode, wait_ms, why, inside }
                    }
                    What::Release(Ending { request, .. }) => Call::Release { session, request },
                    _ => Call::KeepAlive(session),
                };
                Input::Ask(Ask { number, sent, call })
            }
        })
    }
}
