//! Calls of clients: their connections, their repetition at other nodes, and the handling of their answers.

use quorate_core::{Span, Time};
use quorate_protocol::{
    Call, CallResponse, ClientMessage, Failure, HeldLock, Mode, Name, ServerMessage, Validity,
};

use super::changes::TTL_MOST_MS;
use super::clients::{Ending, Key, Kind, USUAL_TTL};
use super::rng::{MS, SECOND};
use super::world::{Event, Input, World};
use crate::core::CallerId;
use crate::lease::{LeaseCall, LeaseId};

/// Clients of etcd's API do not rely on answers that take longer than this, by the client's clock. The service documents
/// 500 ms, and clocks drift.
const ANSWER: Span = Span::from_millis(450);

#[derive(Clone, Debug)]
pub(super) struct OpenCall {
    pub(super) connection: CallerId,
    pub(super) node: usize,
    pub(super) sent: Time,
    pub(super) operation: Operation,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Operation {
    /// Opens a session, or a lease with this identifier.
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
        let lease = LeaseId::chosen(self.rng.next());
        let node = self.clients[at].node;
        self.call(at, node, Operation::Open(lease));
    }

    pub(super) fn call(&mut self, at: usize, node: usize, operation: Operation) {
        let kind = self.clients[at].kind;
        let connection = match (kind, self.clients[at].connection) {
            (Kind::Native, Some(connection)) => connection,
            _ => self.open_connection(at, node, kind != Kind::Native),
        };
        if kind == Kind::Native {
            self.clients[at].connection = Some(connection);
        }
        let patience = self.patience(at, operation);
        let resigns = self.rng.one_in(2);
        let client = &mut self.clients[at];
        client.numbers += 1;
        let (number, sent) = (client.numbers, client.clock.local_time(self.now));
        let Some(input) = client.input(number, sent.0 / 1_000, operation, resigns) else { return };
        client.calls.insert(number, OpenCall { connection, node, sent, operation });
        let process = client.process;
        if let Some(patience) = patience {
            let time = client.clock.world_time(sent + patience);
            self.plan(time, Event::Late { at, process, number });
        }
        self.log(|| format!("client {at} calls node {node}: {number} {operation:?}"));
        self.send_to_node(connection, input);
    }

    /// Time for which a client waits for an answer before it calls another node; `None` if it waits without a limit.
    fn patience(&mut self, at: usize, operation: Operation) -> Option<Span> {
        let client = &self.clients[at];
        let ttl = client.ttl.0;
        match operation {
            Operation::Acquire { inside: None, .. } if client.kind == Kind::Native => None,
            Operation::Acquire { inside: None, .. } => {
                Some(Span(ttl / 4 + self.rng.below(8 * ttl.min(USUAL_TTL.0))))
            }
            _ => Some(Span(ttl / 8)),
        }
    }

    /// Stops waiting for an answer, and closes the connection of its call.
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
            self.switch_node(at);
        }
        self.call_again(at, number);
    }

    pub(super) fn on_connection_broken(&mut self, connection: CallerId) {
        let Some(it) = self.connections.get_mut(&connection) else { return };
        let (at, process, node) = (it.client, it.client_process, it.node);
        if std::mem::replace(&mut it.closed, true) {
            return;
        }
        let client = &self.clients[at];
        if client.process != process || !client.running {
            return;
        }
        match client.kind {
            Kind::Native if client.connection == Some(connection) => self.switch_node(at),
            Kind::Native => {}
            _ => {
                let calls = client.calls.iter().filter(|(_, call)| call.connection == connection);
                let numbers: Vec<u64> = calls.map(|(number, _)| *number).collect();
                if client.node == node {
                    self.switch_node(at);
                }
                numbers.into_iter().for_each(|number| self.call_again(at, number));
            }
        }
    }

    /// Switches the client to another node. A native client moves all its calls; other clients repeat each call on its own.
    pub(super) fn switch_node(&mut self, at: usize) {
        let node = self.other_node(at);
        self.counts.switches += 1;
        let client = &mut self.clients[at];
        client.node = node;
        for want in client.wants.values_mut() {
            want.holding.iter_mut().for_each(|holding| holding.moved = true);
        }
        if client.kind != Kind::Native {
            return;
        }
        let connection = client.connection.take();
        let calls = std::mem::take(&mut client.calls);
        connection.into_iter().for_each(|connection| self.close_connection(connection));
        self.confirm_inside(at);
        for call in calls.into_values() {
            match call.operation {
                Operation::Acquire { inside: Some(_), .. } | Operation::KeepAlive => {}
                Operation::Open(_) => self.open(at),
                operation => self.call(at, node, operation),
            }
        }
        if self.clients[at].key.is_some() {
            self.call(at, node, Operation::KeepAlive);
        }
    }

    /// Confirms to the present node the locks that the client holds and that are valid.
    fn confirm_inside(&mut self, at: usize) {
        let (node, now) = (self.clients[at].node, self.now);
        for lock in 0..super::world::LOCKS as u8 {
            let Some(token) = self.clients[at].valid(lock, now) else { continue };
            let want = self.clients[at].wants.get(&lock);
            let Some(want) = want.filter(|want| want.holding.is_some_and(|holding| !holding.lost))
            else {
                continue;
            };
            let request = want.request;
            if !self.rng.one_in(3) {
                self.call(at, node, Operation::Acquire { lock, request, inside: Some(token) });
            }
        }
    }

    /// Repeats a call that has failed or is late at the present node.
    fn call_again(&mut self, at: usize, number: u64) {
        let Some(call) = self.clients[at].calls.get(&number) else { return };
        let (operation, node, kind) =
            (call.operation, self.clients[at].node, self.clients[at].kind);
        self.abandon(at, number);
        match operation {
            Operation::Open(_) => self.open(at),
            Operation::Acquire { inside: Some(_), .. } => self.confirm_inside(at),
            Operation::Acquire { lock, request, .. } => {
                let want = self.clients[at].wants.get(&lock);
                if want.is_some_and(|want| want.request == request) {
                    self.ask(at, lock);
                }
            }
            Operation::Release(ending) => {
                self.clients[at].spoiled |= kind == Kind::Etcd;
                self.call(at, node, Operation::Release(ending));
            }
            Operation::KeepAlive => {
                let keeps = |call: &OpenCall| {
                    matches!(call.operation, Operation::KeepAlive) && call.node == node
                };
                if !self.clients[at].calls.values().any(keeps) {
                    self.call(at, node, operation);
                }
            }
        }
    }

    /// Handles a message of a node to a client.
    pub(super) fn on_server_message(&mut self, connection: CallerId, message: ServerMessage) {
        let Some(it) = self.connections.get(&connection) else { return };
        let (at, closed) = (it.client, it.closed);
        let client = &self.clients[at];
        if closed || client.process != it.client_process || !client.running {
            return;
        }
        match message {
            ServerMessage::Response(number, answer) => {
                let fits = |(of, call): &(&u64, &OpenCall)| {
                    call.connection == connection && (it.local || **of == number)
                };
                let number = client.calls.iter().find(fits).map(|(number, _)| *number);
                let Some(number) = number else { return };
                let Some(call) = self.clients[at].calls.remove(&number) else { return };
                self.on_response(at, number, call, answer);
            }
            ServerMessage::Lost { request, .. } => {
                let held = client.wants.iter().find(|(_, want)| want.request == request);
                let lock = held.filter(|(_, want)| want.holding.is_some()).map(|(lock, _)| *lock);
                lock.into_iter().for_each(|lock| self.lose(at, lock, "its node says so"));
            }
            ServerMessage::Leaving if client.connection == Some(connection) => self.switch_node(at),
            _ => {}
        }
    }

    fn on_response(&mut self, at: usize, number: u64, call: OpenCall, answer: CallResponse) {
        self.drop_expired(at);
        match (call.operation, answer) {
            (_, CallResponse::Failed(Failure::NoQuorum | Failure::Leaving)) => {
                self.clients[at].calls.insert(number, call.clone());
                if self.clients[at].kind == Kind::Native || self.clients[at].node == call.node {
                    self.switch_node(at);
                }
                if self.clients[at].calls.contains_key(&number) {
                    // The pause limits the rate at which clients call a cluster without a quorum.
                    let (process, pause) = (self.clients[at].process, self.rng.below(200 * MS));
                    self.plan(self.now + pause, Event::Late { at, process, number });
                }
            }
            (Operation::Release(ending), answer) => self.on_released(at, ending, &answer),
            (_, CallResponse::Failed(Failure::NoSession | Failure::Ended)) => {
                self.session_over(at, "a node says so");
            }
            (Operation::Open(lease), answer) => self.on_opened(at, lease, &call, answer),
            (Operation::KeepAlive, CallResponse::Alive { validity, held, waiting }) => {
                self.on_alive(at, &call, validity, &held, &waiting);
            }
            (Operation::KeepAlive, CallResponse::LeaseInfo(info)) => {
                self.on_lease_info(at, &call, info.valid_ms);
                self.ask_again(at);
            }
            (
                Operation::Acquire { lock, request, .. },
                CallResponse::Granted { token, validity },
            ) => {
                self.on_granted(at, &call, (lock, request, token), validity);
            }
            (Operation::Acquire { lock, request, inside }, CallResponse::Failed(failure)) => {
                self.on_refused(at, (lock, request, inside), &failure);
            }
            (operation, answer) => panic!("{operation:?} is answered with {answer:?}"),
        }
    }

    fn on_opened(&mut self, at: usize, lease: i64, call: &OpenCall, answer: CallResponse) {
        let client = &mut self.clients[at];
        match answer {
            CallResponse::Opened { session, ttl_ms } => {
                client.key = Some(Key::Session(session));
                client.ttl = Span::from_millis(ttl_ms.into());
            }
            CallResponse::LeaseInfo(info) => {
                client.key = Some(Key::Lease(LeaseId { owner: "etcd".to_owned(), id: lease }));
                client.ttl = Span::from_millis(info.ttl_ms);
                client.lease_until = Time::ZERO;
                self.on_lease_info(at, call, info.valid_ms);
            }
            answer => panic!("a session is answered with {answer:?}"),
        }
        let longer = self.clients[at].ttl > Span::from_millis(TTL_MOST_MS.into());
        self.counts.longer += u64::from(longer);
        self.ask_again(at);
    }

    /// Extends the validity of a lease. Clients of etcd's API count from when the answer arrives.
    fn on_lease_info(&mut self, at: usize, call: &OpenCall, valid_ms: u64) {
        let client = &mut self.clients[at];
        let local_time = client.clock.local_time(self.now);
        if local_time.since(call.sent) >= ANSWER {
            return;
        }
        let until = local_time + Span::from_millis(valid_ms);
        client.lease_until = client.lease_until.max(until);
        let mut revived = Vec::new();
        for (lock, want) in &mut client.wants {
            if let Some(holding) = want.holding.as_mut().filter(|holding| !holding.lost) {
                let before = std::mem::replace(&mut holding.until, client.lease_until);
                revived.extend((before <= local_time).then_some((*lock, holding.token)));
            }
        }
        revived.into_iter().for_each(|(lock, token)| self.check_revived(at, lock, token));
    }

    /// Requests the locks again that the client waits for without an open call.
    fn ask_again(&mut self, at: usize) {
        for lock in 0..super::world::LOCKS as u8 {
            if !self.clients[at].is_called(lock) {
                self.ask(at, lock);
            }
        }
    }

    fn until(&self, at: usize, call: &OpenCall, validity: Validity) -> Time {
        match self.clients[at].kind {
            Kind::Native => Time((validity.since + validity.micros) * 1_000),
            _ => call.sent + Span((validity.since + validity.micros) * 1_000),
        }
    }

    fn on_alive(
        &mut self,
        at: usize,
        call: &OpenCall,
        validity: Validity,
        held: &[HeldLock],
        waiting: &[u64],
    ) {
        let until = self.until(at, call, validity);
        let (mut lost, mut listed_as) = (Vec::new(), Vec::new());
        for (lock, want) in &mut self.clients[at].wants {
            let request = want.request;
            let Some(holding) = want.holding.as_mut().filter(|holding| !holding.lost) else {
                continue;
            };
            let listed = held.iter().find(|it| it.request == request);
            match listed {
                Some(listed) => {
                    listed_as.push((*lock, listed.token));
                    holding.until = holding.until.max(until);
                }
                None if call.sent > holding.since => lost.push(*lock),
                None => {}
            }
        }
        listed_as.into_iter().for_each(|(lock, token)| self.on_token(at, call, lock, token));
        lost.into_iter().for_each(|lock| self.lose(at, lock, "it is not listed"));
        // The client releases listed requests that it does not want.
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
            // Only the release of a lease uses the lock, so any lock will do here.
            self.end(at, Ending { lock: 0, request, token: None });
        }
        self.ask_again(at);
    }

    /// Handles the token of a lock that is still held. The token may have grown if the node that had granted the lock
    /// died before enough voters knew the token. An answer to a call from before the client learned its present token may
    /// name an earlier token.
    fn on_token(&mut self, at: usize, call: &OpenCall, lock: u8, token: u64) {
        let now = self.clients[at].clock.local_time(self.now);
        let Some(want) = self.clients[at].wants.get_mut(&lock) else { return };
        let Some(holding) = want.holding.as_mut().filter(|holding| !holding.lost) else { return };
        if token == holding.token || (token < holding.token && call.sent <= holding.token_since) {
            return;
        }
        let before = std::mem::replace(&mut holding.token, token);
        holding.token_since = now;
        assert!(token > before, "client {at} had token {before} of lock {lock}, and has {token}");
        self.counts.raised += 1;
        if self.clients[at].valid(lock, self.now).is_some() {
            self.check_token(at, lock, token);
        }
    }

    fn on_granted(
        &mut self,
        at: usize,
        call: &OpenCall,
        (lock, request, token): (u8, u64, u64),
        validity: Validity,
    ) {
        let until = match self.clients[at].kind {
            Kind::Etcd => self.clients[at].lease_until,
            _ => self.until(at, call, validity),
        };
        let want = self.clients[at].wants.get_mut(&lock).filter(|want| want.request == request);
        match want.map(|want| &mut want.holding) {
            Some(Some(holding)) => {
                if !holding.lost {
                    holding.until = holding.until.max(until);
                }
                self.on_token(at, call, lock, token);
            }
            Some(None) => {
                self.enter(at, lock, token, until);
                let waits =
                    self.clients[at].wants.get(&lock).is_some_and(|it| it.holding.is_none());
                if waits && !self.clients[at].is_called(lock) {
                    match self.clients[at].kind {
                        // The grant arrived too late to be relied on. Another call confirms it.
                        Kind::Native | Kind::Http => self.ask(at, lock),
                        Kind::Etcd => self.leave(at, lock),
                    }
                }
            }
            None => {}
        }
    }

    fn on_refused(
        &mut self,
        at: usize,
        (lock, request, inside): (u8, u64, Option<u64>),
        failure: &Failure,
    ) {
        let want = self.clients[at].wants.get(&lock).filter(|want| want.request == request);
        let Some(want) = want else { return };
        match (failure, want.holding.is_some()) {
            (Failure::NoRequest, true) if inside.is_some() => {
                self.lose(at, lock, "a node does not know the request");
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
            // An earlier process of the session has requested the lock. That request is released after the next keep-alive.
            (Failure::TooMuch(_), _) => {}
            (Failure::NoRequest | Failure::Busy | Failure::TimedOut, _) => {}
            (failure, _) => panic!("client {at} is refused lock {lock}: {failure:?}"),
        }
    }

    fn on_released(&mut self, at: usize, ending: Ending, answer: &CallResponse) {
        match answer {
            CallResponse::Done | CallResponse::Failed(Failure::NoRequest | Failure::NoSession) => {
                let client = &mut self.clients[at];
                let local_time = client.clock.local_time(self.now);
                client.endings.retain(|it| it.request != ending.request);
                client.ended.insert(ending.request, local_time);
                if let Some(token) = ending.token {
                    self.note_released(at, ending.lock, token);
                    // Near the end of the faults this stops, so that all waiting clients get their turns.
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
    /// Returns the message that carries a call.
    fn input(&self, number: u64, sent: u64, operation: Operation, resigns: bool) -> Option<Input> {
        if let Operation::Open(id) = operation {
            let ttl_ms = (self.ttl.0 / MS) as u32;
            return Some(match self.kind {
                Kind::Etcd => {
                    let (fresh, client_location) = (true, String::new());
                    let lease = LeaseId { owner: "etcd".to_owned(), id };
                    Input::LeaseCall(lease, LeaseCall::Grant { ttl_ms, fresh, client_location })
                }
                _ => {
                    let (client_name, client_location) = ("client".to_owned(), String::new());
                    Input::Call(ClientMessage {
                        number,
                        sent,
                        call: Call::Open { ttl_ms, client_name, client_location },
                    })
                }
            });
        }
        Some(match self.key.clone()? {
            Key::Lease(lease) => Input::LeaseCall(
                lease,
                match operation {
                    Operation::Acquire { lock, .. } => {
                        let (name, value) = (name(lock), String::new());
                        LeaseCall::Acquire { name, request: number, value }
                    }
                    Operation::Release(Ending { lock, token, .. }) => {
                        LeaseCall::Release { name: name(lock), token: token.filter(|_| resigns) }
                    }
                    _ => LeaseCall::KeepAlive,
                },
            ),
            Key::Session(session) => {
                let call = match operation {
                    Operation::Acquire { lock, request, inside } => {
                        let want = self.wants.get(&lock).filter(|want| want.request == request);
                        let wait_ms = want.and_then(|want| want.wait_ms);
                        let (name, mode, why) = (name(lock), Mode::Exclusive, String::new());
                        Call::Acquire { session, request, name, mode, wait_ms, why, inside }
                    }
                    Operation::Release(Ending { request, .. }) => {
                        Call::Release { session, request }
                    }
                    _ => Call::KeepAlive(session),
                };
                Input::Call(ClientMessage { number, sent, call })
            }
        })
    }
}
