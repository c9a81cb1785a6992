//! What is asked for leases, through whichever node.

use std::collections::BTreeMap;

use quorate_algorithms::mutex::leased::Command;
use quorate_core::{ProcessId, Span, Time};
use quorate_protocol::{Answer, Failure, Life, Name, SessionKey};

use super::questions::Waiting;
use super::requests::Wanted;
use super::{Alarm, Client, Keeper};
use crate::lease::{LeaseId, Leased};
use crate::peer::{PeerMessage, Question};

/// How long another node has to answer what is handed on to it.
const ANSWERED: Span = Span::from_millis(2_000);

/// How long an answer may take to reach an etcd client, in milliseconds: such a client relies on its lease from when it gets
/// the answer. If answers take longer, only tokens protect.
const ANSWER_MS: u32 = 500;

/// How often it is asked again for a lock, in case it has not heard.
const ASKED_AGAIN: Span = Span::from_millis(5_000);

/// How often a lease is looked for that was not where it had been: its node may leave right now, or be slow.
const SEARCHES_MOST: u8 = 10;

/// How long after one search comes the next.
const SEARCHED_AGAIN: Span = Span::from_millis(200);

/// Of so many leases it is known which other node has them.
const HOMES_MOST: usize = 65_536;

/// So many leases does one node tell of.
const LISTED_MOST: usize = 50_000;

/// Leases, and what is asked for them.
#[derive(Debug, Default)]
pub(super) struct Leases {
    /// Those that this node has.
    pub(super) here: BTreeMap<LeaseId, SessionKey>,
    /// Where others were last.
    homes: BTreeMap<LeaseId, ProcessId>,
    /// What clients of this node wait for, or have been granted and may not have heard.
    pending: BTreeMap<Client, Pending>,
    /// Whose answer comes from another node under this number.
    relays: BTreeMap<u64, Client>,
}

/// A call, until whoever asks has heard the answer.
#[derive(Clone, Debug)]
struct Pending {
    number: u64,
    lease: LeaseId,
    what: Leased,
    /// For a new lease.
    key: Option<SessionKey>,
    /// The other node that was asked, and under which number.
    relay: Option<(ProcessId, u64)>,
    searches: u8,
}

/// The connection of a call that another node has handed on: it is answered there.
const RELAYED: u64 = 1 << 63;
const NUMBER_BITS: u32 = 48;

fn relayed(from: ProcessId, number: u64) -> Client {
    let number = number & ((1 << NUMBER_BITS) - 1);
    Client(RELAYED | (from.index() as u64) << NUMBER_BITS | number)
}

impl Keeper {
    /// A client asks for something of a lease. `key` is for a new one.
    pub fn ask_leased(
        &mut self,
        client: Client,
        lease: LeaseId,
        what: Leased,
        key: impl FnOnce() -> SessionKey,
        now: Time,
    ) {
        let key = matches!(what, Leased::Grant { .. }).then(key);
        let fresh = matches!(what, Leased::Grant { fresh: true, .. });
        if fresh || self.leases.here.contains_key(&lease) {
            // What is here needs no looking for; whoever waits may give up.
            if what.waits() {
                self.remember(client, lease.clone(), what.clone(), None);
            }
            let answer = self.do_leased((client, 1), &lease, what, key, now);
            return answer.into_iter().for_each(|answer| self.answer((client, 1), answer));
        }
        self.remember(client, lease.clone(), what, key);
        let home = self.leases.homes.get(&lease).copied();
        match home.filter(|home| matches!(self.up.get(home), Some(Ok(())))) {
            Some(home) => self.relay(client, home, now),
            None => self.look_for_lease(client, now),
        }
    }

    fn remember(&mut self, client: Client, lease: LeaseId, what: Leased, key: Option<SessionKey>) {
        let pending = Pending { number: 1, lease, what, key, relay: None, searches: 0 };
        self.leases.pending.insert(client, pending);
    }

    /// Asks all nodes who has it.
    fn look_for_lease(&mut self, client: Client, now: Time) {
        let Some(pending) = self.leases.pending.get_mut(&client) else { return };
        pending.searches += 1;
        let (by, question) = ((client, pending.number), Question::HasLease(pending.lease.clone()));
        self.inquire(by, question, Waiting::Lease, now);
    }

    /// A node has the lease that a client asks for.
    pub(super) fn lease_is_at(&mut self, client: Client, home: ProcessId, now: Time) {
        let Some(pending) = self.leases.pending.get(&client) else { return };
        if matches!(pending.what, Leased::Grant { .. }) {
            let by = (client, pending.number);
            return self.answer(by, Answer::Failed(Failure::Busy));
        }
        if home == self.settings.id {
            // It has come here meanwhile.
            let (by, lease, what) =
                ((client, pending.number), pending.lease.clone(), pending.what.clone());
            let answer = self.do_leased(by, &lease, what, None, now);
            return answer.into_iter().for_each(|answer| self.answer(by, answer));
        }
        if self.leases.homes.len() >= HOMES_MOST {
            self.leases.homes.clear();
        }
        self.leases.homes.insert(pending.lease.clone(), home);
        self.relay(client, home, now);
    }

    /// Nobody who has answered has the lease. Whether all who were asked have.
    pub(super) fn lease_is_nowhere(&mut self, client: Client, all: bool, now: Time) {
        let Some(pending) = self.leases.pending.get(&client).cloned() else { return };
        let by = (client, pending.number);
        if !all {
            return self.search_again(client, now);
        }
        if matches!(pending.what, Leased::Grant { .. }) {
            let answer = self.do_leased(by, &pending.lease, pending.what, pending.key, now);
            return answer.into_iter().for_each(|answer| self.answer(by, answer));
        }
        // Whoever has chosen its number may have it still, and not be heard, or have left it to somebody just now.
        let chosen_by = ProcessId::from_index(pending.lease.chosen_by());
        match self.up.get(&chosen_by) {
            Some(Err(_)) => self.search_again(client, now),
            _ => self.answer(by, Answer::Failed(Failure::NoSession)),
        }
    }

    /// The lease is not where it was, or nobody knows: looks for it again, the first time at once.
    fn search_again(&mut self, client: Client, now: Time) {
        let Some(pending) = self.leases.pending.get(&client) else { return };
        match pending.searches {
            0 => self.look_for_lease(client, now),
            SEARCHES_MOST.. => {
                let by = (client, pending.number);
                self.answer(by, Answer::Failed(Failure::NoQuorum));
            }
            _ => drop(self.alarms.insert((now + SEARCHED_AGAIN, Alarm::Search(client)))),
        }
    }

    /// It is time to look for a lease again.
    pub(super) fn search(&mut self, client: Client, now: Time) {
        if self.leases.pending.get(&client).is_some_and(|pending| pending.relay.is_none()) {
            self.look_for_lease(client, now);
        }
    }

    fn relay(&mut self, client: Client, home: ProcessId, now: Time) {
        let number = self.numbers + 1;
        let Some(pending) = self.leases.pending.get_mut(&client) else { return };
        self.numbers = number;
        pending.relay = Some((home, number));
        let pause = match pending.what {
            ref what if what.waits() => ASKED_AGAIN,
            _ => ANSWERED,
        };
        let message = PeerMessage::Relay(number, pending.lease.clone(), pending.what.clone());
        self.leases.relays.insert(number, client);
        self.alarms.insert((now + pause, Alarm::Relay(number)));
        self.send(home, message);
    }

    /// An answer may not come.
    pub(super) fn look_after_relay(&mut self, number: u64, now: Time) {
        let Some(client) = self.leases.relays.get(&number).copied() else { return };
        let Some(pending) = self.leases.pending.get_mut(&client) else { return };
        match pending.relay {
            Some((home, _)) if pending.what.waits() => {
                pending.searches = 0;
                let again = PeerMessage::Relay(number, pending.lease.clone(), pending.what.clone());
                self.alarms.insert((now + ASKED_AGAIN, Alarm::Relay(number)));
                self.send(home, again);
            }
            _ => {
                let by = (client, pending.number);
                self.answer(by, Answer::Failed(Failure::NoQuorum));
            }
        }
    }

    /// Another node hands on what its client asks.
    pub(super) fn on_relay(
        &mut self,
        from: ProcessId,
        number: u64,
        lease: &LeaseId,
        what: Leased,
        now: Time,
    ) {
        let by = (relayed(from, number), number);
        let answer = match (self.leases.here.contains_key(lease), &what) {
            // It is only ever granted where it is asked for.
            (_, Leased::Grant { .. }) | (false, _) => Some(Answer::Failed(Failure::NoSession)),
            (true, _) => self.do_leased(by, lease, what, None, now),
        };
        answer.into_iter().for_each(|answer| self.answer(by, answer));
    }

    /// The node that has the lease has answered.
    pub(super) fn on_relayed(&mut self, number: u64, answer: Answer, now: Time) {
        let Some(client) = self.leases.relays.remove(&number) else { return };
        let Some(pending) = self.leases.pending.get_mut(&client) else { return };
        pending.relay = None;
        if matches!(answer, Answer::Failed(Failure::NoSession | Failure::Leaving)) {
            self.leases.homes.remove(&pending.lease);
            return self.search_again(client, now);
        }
        let by = (client, pending.number);
        self.answer(by, answer);
    }

    /// A node that was asked cannot be heard any more: it has left its leases to another one, or is not there. To ask
    /// again does no harm if it had done it.
    pub(super) fn redo_relays_to(&mut self, peer: ProcessId, now: Time) {
        let to_it = |(client, pending): (&Client, &Pending)| match pending.relay {
            Some((home, number)) if home == peer && self.leases.relays.contains_key(&number) => {
                Some((*client, number))
            }
            _ => None,
        };
        let undone: Vec<_> = self.leases.pending.iter().filter_map(to_it).collect();
        for (client, number) in undone {
            self.leases.relays.remove(&number);
            let Some(pending) = self.leases.pending.get_mut(&client) else { continue };
            pending.relay = None;
            self.leases.homes.remove(&pending.lease);
            self.search_again(client, now);
        }
    }

    /// What was asked through a node that cannot be heard any more is not answered there: it may have begun again, and
    /// have other questions under the same numbers. Whoever asked has a while to ask again before its place is lost.
    pub(super) fn forget_relays_of(&mut self, peer: ProcessId, now: Time) {
        let through = relayed(peer, 0).0;
        let through = |client: Client| client.0 >> NUMBER_BITS == through >> NUMBER_BITS;
        let until = now + ASKED_AGAIN;
        for key in self.leases.here.values() {
            let Some(session) = self.sessions.get_mut(key) else { continue };
            for interest in session.interests.values_mut() {
                for waiter in interest.waiting.iter_mut().filter(|it| through(it.client)) {
                    (waiter.client, waiter.until) = (super::moves::NOBODY, Some(until));
                    self.alarms.insert((until, Alarm::Waiter(interest.ticket)));
                }
            }
        }
    }

    /// The answer to a call for a lease. Whether it goes to another node.
    pub(super) fn answer_leased(&mut self, client: Client, number: u64, answer: &Answer) -> bool {
        if client.0 & RELAYED != 0 && client.0 != u64::MAX {
            let peer = ((client.0 & !RELAYED) >> NUMBER_BITS) as usize;
            let relayed = PeerMessage::Relayed(number, answer.clone());
            self.send(ProcessId::from_index(peer), relayed);
            return true;
        }
        if let Some(pending) = self.leases.pending.get(&client) {
            if let Some((_, number)) = pending.relay {
                self.leases.relays.remove(&number);
            }
            // Whoever has given up meanwhile does not hear that it was granted, and does not have it.
            if !pending.what.waits() {
                self.leases.pending.remove(&client);
            }
        }
        false
    }

    /// Nobody waits any more for what this client has asked. Whether it has heard the answer.
    pub(super) fn give_up(&mut self, client: Client, heard: bool, now: Time) {
        let Some(pending) = self.leases.pending.remove(&client) else { return };
        if let Some((_, number)) = pending.relay {
            self.leases.relays.remove(&number);
        }
        let (Leased::Acquire { request, .. } | Leased::Enqueue { request, .. }) = pending.what
        else {
            return;
        };
        if heard {
            return;
        }
        let withdraw = Leased::Withdraw { request };
        match (pending.relay, self.leases.here.get(&pending.lease).copied()) {
            (Some((home, _)), _) => {
                self.numbers += 1;
                let (number, lease) = (self.numbers, pending.lease);
                self.send(home, PeerMessage::Relay(number, lease, withdraw));
            }
            (None, Some(key)) => drop(self.release(key, request, now)),
            (None, None) => {}
        }
    }

    /// Does it here. What is answered at once.
    fn do_leased(
        &mut self,
        by: (Client, u64),
        lease: &LeaseId,
        what: Leased,
        new: Option<SessionKey>,
        now: Time,
    ) -> Option<Answer> {
        let known = self.leases.here.get(lease).copied();
        if let (Leased::Grant { ttl_ms, place, .. }, Some(new)) = (&what, new) {
            return Some(match known {
                Some(_) => Answer::Failed(Failure::Busy),
                None => self.grant(by.0, lease, (*ttl_ms, place.clone()), new, now),
            });
        }
        let Some(key) = known else { return Some(Answer::Failed(Failure::NoSession)) };
        if self.sessions.get(&key).is_some_and(|session| session.moving) {
            return Some(Answer::Failed(Failure::Leaving));
        }
        Some(match what {
            Leased::Grant { .. } => Answer::Failed(Failure::Busy),
            Leased::Revoke => {
                self.end_session(key, Command::Release, None, now);
                Answer::Done
            }
            // Until this node has the votes it can promise nothing, and to say that the lease is over would end it.
            Leased::KeepAlive if self.is_unconfirmed(key) => {
                self.touch(by.0, key, (now, 0));
                Answer::Failed(Failure::Leaving)
            }
            Leased::KeepAlive => {
                self.touch(by.0, key, (now, 0));
                self.life(key, now)
            }
            Leased::Life => self.life(key, now),
            Leased::Acquire { name, request, value } => {
                let why = value;
                let wanted =
                    Wanted { request, name, wait_ms: None, why, once: true, queued: false };
                return self.acquire(by.0, by.1, key, wanted, (now, 0));
            }
            Leased::Enqueue { name, request, value } => {
                let why = value;
                let wanted = Wanted { request, name, wait_ms: None, why, once: true, queued: true };
                return self.acquire(by.0, by.1, key, wanted, (now, 0));
            }
            Leased::Withdraw { request } => self.release(key, request, now),
            Leased::Leave { name, token } => self.leave_name(key, &name, token, now),
            Leased::Proclaim { name, token, value } => {
                let session = self.sessions.get(&key);
                let interest = session.and_then(|session| session.interests.get(&name));
                let held = interest.filter(|interest| interest.token == Some(token));
                match held.and_then(|interest| interest.holding.first().copied()) {
                    Some(request) => self.proclaim(key, request, value, now),
                    None => Answer::Failed(Failure::NoRequest),
                }
            }
        })
    }

    fn grant(
        &mut self,
        client: Client,
        lease: &LeaseId,
        (ttl_ms, place): (u32, String),
        key: SessionKey,
        now: Time,
    ) -> Answer {
        // An etcd client counts from when it gets an answer: the lease is kept for longer than it is told.
        let kept_ms = ttl_ms.saturating_add(ANSWER_MS + ttl_ms / 256);
        let opened = self.open(client, (kept_ms, lease.owner.clone(), place), key, (now, 0));
        if let Answer::Opened(key) = opened {
            if let Some(session) = self.sessions.get_mut(&key) {
                session.lease = Some(lease.clone());
            }
            self.leases.here.insert(lease.clone(), key);
            return self.life(key, now);
        }
        opened
    }

    /// The numbers of a client's leases that are here.
    pub(super) fn leases_here(&self, owner: &str) -> Vec<i64> {
        let first = LeaseId { owner: owner.to_owned(), id: i64::MIN };
        let own = self.leases.here.range(first..).take_while(|(lease, _)| lease.owner == owner);
        own.map(|(lease, _)| lease.id).take(LISTED_MOST).collect()
    }

    /// A client wants to know the leases that it has.
    pub fn ask_leases(&mut self, client: Client, owner: String, now: Time) {
        self.inquire((client, 1), Question::Leases(owner), Waiting::Leases(Vec::new()), now);
    }

    /// Whether a lock of this session has come from another node and has not been confirmed yet.
    fn is_unconfirmed(&self, key: SessionKey) -> bool {
        let session = self.sessions.get(&key);
        session.is_some_and(|session| session.interests.values().any(|interest| interest.resumed))
    }

    /// How long a session lives, and what it has.
    ///
    /// The client relies on its lease for `relied_ms` from when it gets the answer, and on every lock that it gets
    /// meanwhile. So it is never told more than votes are lent for, whether it has a lock or not.
    fn life(&self, key: SessionKey, now: Time) -> Answer {
        let Some(session) = self.sessions.get(&key) else {
            return Answer::Failed(Failure::NoSession);
        };
        let lent = session.heard.0 + self.settings.terms.reliance();
        let held = session.interests.values().filter(|interest| interest.token.is_some());
        let deadlines = held.map(|it| self.locks().deadline(it.ticket, now).unwrap_or(Time::ZERO));
        let end = deadlines.fold(session.until.min(lent), Time::min);
        let answer = Span::from_millis(ANSWER_MS.into());
        let relied = Span(self.reliance(end, now).0.saturating_sub(answer.0));
        Answer::Life(Life {
            ttl_ms: session.ttl.0 / 1_000_000,
            relied_ms: relied.0 / 1_000_000,
            requests: self.requests_of(session, "", now),
        })
    }

    /// All that a session has and wants of a name is free, or not wanted any more.
    fn leave_name(
        &mut self,
        key: SessionKey,
        name: &Name,
        token: Option<u64>,
        now: Time,
    ) -> Answer {
        let Some(session) = self.sessions.get_mut(&key) else {
            return Answer::Failed(Failure::NoSession);
        };
        let Some(interest) = session.interests.get_mut(name) else {
            return Answer::Failed(Failure::NoRequest);
        };
        if token.is_some() && token != interest.token {
            return Answer::Failed(Failure::NoRequest);
        }
        let (held, waiting) =
            (std::mem::take(&mut interest.holding), std::mem::take(&mut interest.waiting));
        let ticket = interest.ticket;
        let requests = held.into_iter().chain(waiting.iter().map(|waiter| waiter.request));
        requests.for_each(|request| drop(session.requests.remove(&request)));
        for waiter in waiting {
            let over = Answer::Failed(Failure::NoRequest);
            self.answer((waiter.client, waiter.number), over);
        }
        self.drop_unwanted(ticket, now);
        Answer::Done
    }
}
