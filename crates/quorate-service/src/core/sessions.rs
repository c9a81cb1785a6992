//! Calls of clients whose sessions this node relays.

use quorate_algorithms::mutex::leased_quorum::RequestId;
use quorate_core::{Span, Time};
use quorate_protocol::{Answer, Ask, Call, Failure, Name, SessionKey, TEXT_MOST};

use super::queries::{Then, Waiting};
use super::quotas::Added;
use super::relay::{Interest, Origin, Pending, PendingCall, Relay, Sent, WaitMode, Waiter};
use super::{Alarm, By, ConnectionId, NodeCore};
use crate::lease::{LeaseId, Leased, voter_ttl};
use crate::peer::{Description, Question, RequestText, SessionText};

/// Permitted times-to-live of a session before they are clamped to the bounds of the cluster, in milliseconds.
const TTL_MS: std::ops::RangeInclusive<u32> = 100..=3_600_000;

/// Time within which a quorum has to echo the beat of a call.
pub(super) const ECHO: Span = Span::from_millis(2_000);

/// Time within which it has to be known whether a lock is free.
const ONLY_IF_FREE: Span = Span::from_millis(1_000);

/// Time after which a request asks more voters than the preferred ones: a lock that is held for longer has spare votes, so
/// that it outlives its voters.
pub(super) const WIDEN: Span = Span::from_millis(150);

/// Maximum number of times that one session may hold one lock, and of calls that may wait for it.
const TIMES_MOST: usize = 1_024;

/// A call of a session.
#[derive(Clone, Debug)]
pub(crate) enum SessionCall {
    KeepAlive,
    Acquire(Wanted),
    Release(u64),
    Proclaim(u64, String),
    ProclaimName { name: Name, token: u64, value: String },
    Leave { name: Name, token: Option<u64> },
    List,
    Life,
    Close,
}

/// A lock that a client asks for.
#[derive(Clone, Debug)]
pub(crate) struct Wanted {
    pub(crate) number: u64,
    pub(crate) name: Name,
    pub(crate) wait_ms: Option<u64>,
    pub(crate) why: String,
    /// The token with which the client says that it is inside.
    pub(crate) inside: Option<u64>,
    /// Whether the lock is held once, however often it is asked for.
    pub(crate) once: bool,
    /// Whether the answer may be that the request waits.
    pub(crate) enqueue: bool,
}

impl NodeCore {
    /// Handles a call of a client. `key` makes the key of a new session.
    pub fn ask(
        &mut self,
        connection: ConnectionId,
        ask: Ask,
        key: impl FnOnce() -> SessionKey,
        now: Time,
    ) {
        let Ask { number, sent, call } = ask;
        let by = (connection, number);
        let sent = Sent { at: sent, clock: (!connection.is_local()).then_some(connection) };
        let session = |core: &mut Self, key: SessionKey, call| {
            core.session_call(by, Origin::Key(key), call, sent, now);
            None
        };
        let answer = match call {
            Call::Open { ttl_ms, .. } if !TTL_MS.contains(&ttl_ms) => {
                let (least, most) = TTL_MS.into_inner();
                Some(too_much(format!("the ttl of a session is {least} to {most} ms")))
            }
            Call::Open { ttl_ms, who, place } => {
                let ttl = self.settings.terms.clamp(Span::from_millis(ttl_ms.into()));
                self.open(by, Origin::Key(key()), ttl, (who, place), sent, now)
            }
            Call::KeepAlive(key) => session(self, key, SessionCall::KeepAlive),
            Call::Close(key) => session(self, key, SessionCall::Close),
            Call::Session(key) => session(self, key, SessionCall::List),
            Call::Acquire { session: key, request, name, mode: _, wait_ms, why, inside } => {
                if connection.is_local() {
                    // A call over HTTP that is cut off is withdrawn from the relay here. Its client may have gone on through
                    // another node: that the connection is closed is not the client's word that it has stopped.
                    self.withdrawable.insert(connection, (key.id(), request));
                }
                let (once, enqueue) = (false, false);
                let wanted = Wanted { number: request, name, wait_ms, why, inside, once, enqueue };
                session(self, key, SessionCall::Acquire(wanted))
            }
            Call::Release { session: key, request } => {
                session(self, key, SessionCall::Release(request))
            }
            Call::Proclaim { session: key, request, value } => {
                session(self, key, SessionCall::Proclaim(request, value))
            }
            Call::List { prefix, exact, after, most } => {
                self.list(by, (prefix, exact), after, most, now)
            }
            Call::CheckToken { name, token } => self.check_token(by, name, token, now),
            Call::Expel { name, reason } => self.force_release(by, name, reason, now),
            Call::Watch { prefix } => self.watch(by, prefix, now),
            Call::Status => Some(Answer::Status(Box::new(self.status()))),
            Call::Attach { session: key, who, place, candidate } => {
                Some(self.attach(by, key, (who, place), candidate, now))
            }
            Call::ToVoter(messages) => self.to_voter(connection, messages, now),
            Call::Describe { request, why } => {
                self.describe_direct(connection, request, why, now);
                None
            }
        };
        answer.into_iter().for_each(|answer| self.answer(by, answer));
        self.settle(now);
    }

    /// Handles a call for a lease of etcd's API.
    pub(crate) fn ask_leased(
        &mut self,
        connection: ConnectionId,
        lease: LeaseId,
        what: Leased,
        now: Time,
    ) {
        let (by, origin) = ((connection, 1), Origin::Lease(lease));
        let sent = Sent { at: now.0 / 1_000, clock: None };
        let acquire = |name, number, why, enqueue| {
            let (wait_ms, inside, once) = (None, None, true);
            SessionCall::Acquire(Wanted { number, name, wait_ms, why, inside, once, enqueue })
        };
        let call = match what {
            Leased::Grant { ttl_ms, fresh, place } => {
                self.grant(by, origin, (ttl_ms, fresh, place), sent, now);
                return self.settle(now);
            }
            Leased::Revoke => SessionCall::Close,
            Leased::KeepAlive => SessionCall::KeepAlive,
            Leased::Life => SessionCall::Life,
            Leased::Acquire { name, request, value } => {
                self.withdrawable.insert(connection, (origin.id(), request));
                acquire(name, request, value, false)
            }
            Leased::Enqueue { name, request, value } => {
                self.withdrawable.insert(connection, (origin.id(), request));
                acquire(name, request, value, true)
            }
            Leased::Leave { name, token } => SessionCall::Leave { name, token },
            Leased::Proclaim { name, token, value } => {
                SessionCall::ProclaimName { name, token, value }
            }
        };
        self.session_call(by, origin, call, sent, now);
        self.settle(now);
    }

    fn grant(
        &mut self,
        by: By,
        origin: Origin,
        (ttl_ms, fresh, place): (u32, bool, String),
        sent: Sent,
        now: Time,
    ) {
        let ttl = voter_ttl(Span::from_millis(ttl_ms.into()), self.settings.terms);
        let Origin::Lease(lease) = &origin else { return };
        if fresh {
            let texts = (lease.owner.clone(), place);
            let answer = self.open(by, origin, ttl, texts, sent, now);
            return answer.into_iter().for_each(|answer| self.answer(by, answer));
        }
        let session = origin.id();
        let then = Then::Grant { origin, ttl, place, sent };
        self.inquire(by, Question::Session(session), Waiting::session(then), now);
    }

    /// Opens a session. It is answered once a quorum knows the session.
    pub(super) fn open(
        &mut self,
        by: By,
        origin: Origin,
        ttl: Span,
        (who, place): (String, String),
        sent: Sent,
        now: Time,
    ) -> Option<Answer> {
        if self.leaving.is_some() {
            return Some(Answer::Failed(Failure::Leaving));
        }
        if self.relays.len() + self.direct.len() >= self.settings.sessions_most {
            return Some(too_much("this node has as many sessions as it may".to_owned()));
        }
        if who.len() > TEXT_MOST || place.len() > TEXT_MOST {
            return Some(too_much(format!("a text has {TEXT_MOST} bytes at most")));
        }
        let (lease, owner) = match &origin {
            Origin::Key(_) => (0, String::new()),
            Origin::Lease(lease) => (lease.id, lease.owner.clone()),
        };
        let added = Added { sessions: 1, bytes: who.len() + place.len(), ..Added::default() };
        if let Err(failure) = self.charge(by.0, added, now) {
            return Some(Answer::Failed(failure));
        }
        let (session, node) = (origin.id(), self.settings.id.index() as u32);
        self.owns(by.0, session);
        let about = SessionText { who, place, node, relayed: true, lease, owner };
        self.describe(Description { session, about, request: None }, now);
        self.start_relay(origin, ttl, by.0, now);
        self.begin_call(session, by, sent, PendingCall::Open, now);
        None
    }

    pub(super) fn start_relay(
        &mut self,
        origin: Origin,
        ttl: Span,
        connection: ConnectionId,
        now: Time,
    ) {
        let session = origin.id();
        let ids = (self.new_candidate(), self.unique_number());
        let relay = Relay::new(origin, ttl, ids, self.electorate.clone(), connection, now);
        self.candidates.insert(ids.0, session);
        self.relays.insert(session, relay);
        self.alarms.insert((now + ttl + expiry_margin(ttl), Alarm::Relay(session)));
        for voter in &self.avoided() {
            self.drive(session, now, |relay, out| relay.candidate.avoid(voter, out));
        }
    }

    /// A call begins a beat, and is answered once a quorum has echoed it.
    pub(super) fn begin_call(
        &mut self,
        session: u128,
        by: By,
        sent: Sent,
        call: PendingCall,
        now: Time,
    ) {
        let Some(relay) = self.relays.get_mut(&session) else { return };
        let (beat, until) = (relay.call(by.0, sent, now), now + ECHO);
        relay.pending.push(Pending { beat, by, sent, until, call });
        self.alarms.insert((until, Alarm::Calls(session)));
        self.tell_beat(session, beat, now);
    }

    /// Tells all voters of a beat that a call has begun.
    pub(super) fn tell_beat(&mut self, session: u128, beat: u64, now: Time) {
        self.drive(session, now, |relay, out| {
            relay.candidate.begin_beat(beat, relay.client.issued(), out);
        });
        self.retry_stale(session, now);
    }

    /// A call of a session, through whichever node.
    pub(super) fn session_call(
        &mut self,
        by: By,
        origin: Origin,
        call: SessionCall,
        sent: Sent,
        now: Time,
    ) {
        let session = origin.id();
        match call {
            SessionCall::Close => return self.close(by, origin, now),
            SessionCall::List => return self.ask_session(by, session, Then::List, now),
            SessionCall::Life => return self.ask_session(by, session, Then::Life, now),
            SessionCall::Release(number) if !self.is_shared(session, number) => {
                return self.release(by, session, number, now);
            }
            SessionCall::Leave { name, token } => {
                return self.leave_name(by, session, name, token, now);
            }
            SessionCall::Proclaim(number, value) => {
                let name =
                    self.relays.get(&session).and_then(|it| it.numbers.get(&number)).cloned();
                return self.proclaim(by, session, (name, Some(number), None), value, now);
            }
            SessionCall::ProclaimName { name, token, value } => {
                return self.proclaim(by, session, (Some(name), None, Some(token)), value, now);
            }
            SessionCall::KeepAlive | SessionCall::Acquire(_) | SessionCall::Release(_) => {}
        }
        let Some(relay) = self.relays.get(&session) else {
            return self.resume(by, origin, call, sent, now);
        };
        if relay.doomed {
            return self.answer(by, Answer::Failed(Failure::NoSession));
        }
        if relay.resuming {
            let call = PendingCall::Deferred(Box::new(call));
            return self.begin_call(session, by, sent, call, now);
        }
        match call {
            SessionCall::Acquire(wanted) => self.begin_acquire(by, session, wanted, sent, now),
            SessionCall::Release(_) => {
                let call = PendingCall::Deferred(Box::new(call));
                self.begin_call(session, by, sent, call, now);
            }
            _ => self.begin_call(session, by, sent, PendingCall::KeepAlive, now),
        }
    }

    /// A relay that knows what its session has is asked for a lock.
    fn begin_acquire(&mut self, by: By, session: u128, wanted: Wanted, sent: Sent, now: Time) {
        let Some(relay) = self.relays.get_mut(&session) else { return };
        let elsewhere = || self.texts.named(session, &wanted.name).next().is_some();
        let known = relay.interests.contains_key(&wanted.name);
        if !known && (wanted.inside.is_some() || elsewhere()) {
            // Another relay of this session has asked for the lock: the voters' lists tell with which request.
            let call = PendingCall::Deferred(Box::new(SessionCall::Acquire(wanted)));
            return self.begin_call(session, by, sent, call, now);
        }
        let beat = relay.call(by.0, sent, now);
        if known {
            // Whether it is still held is known once voters have echoed this call.
            self.tell_beat(session, beat, now);
        } else {
            relay.candidate.note_beat(beat, relay.client.issued());
        }
        self.acquire(by, session, wanted, (beat, sent), now);
    }

    /// Asks for a lock in a beat that the call has begun.
    pub(super) fn acquire(
        &mut self,
        by: By,
        session: u128,
        wanted: Wanted,
        (beat, sent): (u64, Sent),
        now: Time,
    ) {
        if let Err(refused) = self.try_acquire(by, session, wanted, (beat, sent), now) {
            self.answer(by, refused);
        }
        self.answer_ready(session, now);
    }

    fn try_acquire(
        &mut self,
        by: By,
        session: u128,
        wanted: Wanted,
        (beat, sent): (u64, Sent),
        now: Time,
    ) -> Result<(), Answer> {
        let Wanted { number, name, wait_ms, why, inside, once, enqueue } = wanted;
        let relay = self.relays.get(&session);
        if relay.is_some_and(|relay| !relay.numbers.contains_key(&number)) {
            let bytes = name.text().len() + why.len();
            let added = Added { requests: 1, bytes, ..Added::default() };
            self.charge_session(session, added, now).map_err(Answer::Failed)?;
        }
        let full = self.requests() >= self.settings.requests_most;
        let has_quorum = self.has_quorum();
        let leaving = self.leaving.is_some();
        let no_session = Answer::Failed(Failure::NoSession);
        let relay = self.relays.get_mut(&session).ok_or(no_session)?;
        // A client that says that it is inside with another token than the session has by now is not.
        let token = relay.interests.get(&name).and_then(|it| it.token.or(it.recorded));
        if inside.is_some() && token.is_some() && inside != token {
            return Err(Answer::Failed(Failure::NoRequest));
        }
        if relay.numbers.get(&number).is_some_and(|other| *other != name) {
            return Err(too_much("this request is about another name already".to_owned()));
        }
        let mode = match wait_ms {
            Some(0) => WaitMode::OnlyIfFree,
            _ if enqueue => WaitMode::Enqueued,
            _ => WaitMode::Granted,
        };
        let wait = wait_ms.map(|wait| now + Span::from_millis(wait.min(1 << 40)));
        let until = if mode == WaitMode::Granted { wait } else { Some(now + ONLY_IF_FREE) };
        let waiter = Waiter { number, by, sent, beat, until, mode, connected: true };
        if !relay.interests.contains_key(&name) {
            if leaving {
                return Err(Answer::Failed(Failure::Leaving));
            }
            if mode == WaitMode::OnlyIfFree && !has_quorum {
                return Err(Answer::Failed(Failure::NoQuorum));
            }
            if full {
                return Err(too_much("this node has as many requests as it may".to_owned()));
            }
            if why.len() > TEXT_MOST {
                return Err(too_much(format!("a text has {TEXT_MOST} bytes at most")));
            }
            let listed = relay.listed(&name, beat);
            // Only a client whose request voters still know can be inside.
            let fits = |recorded: Option<u64>| recorded.is_none() || recorded == inside;
            if inside.is_some() && !listed.is_some_and(|(.., recorded)| fits(recorded)) {
                return Err(Answer::Failed(Failure::NoRequest));
            }
            match listed {
                Some((request, attempt, recorded)) => {
                    let attempt = attempt.saturating_add(1);
                    relay.client.adopt(name.clone(), request, attempt, inside, now);
                    relay.fading.remove(&request);
                    let heard = relay.heard_since(beat);
                    let told =
                        |token: &u64| relay.may_be_told(request, *token, &heard, &self.electorate);
                    let recorded = recorded.filter(told).filter(|_| inside.is_none());
                    let known = self.texts.numbers(request);
                    let mut interest = Interest::new(request, why, now);
                    (interest.token, interest.recorded) = (inside, recorded);
                    interest.taken = relay.beat();
                    if !interest.is_waiting() {
                        relay.numbers.extend(known.iter().map(|number| (*number, name.clone())));
                        interest.holding = known;
                    }
                    relay.interests.insert(name.clone(), interest);
                    let next = relay.client.next_wake();
                    self.alarms.extend(next.map(|next| (next, Alarm::Validity(session))));
                }
                None => {
                    let request = relay.client.acquire(name.clone(), self.voter.clock() + 1);
                    relay.interests.insert(name.clone(), Interest::new(request, why, now));
                }
            }
        } else if let Some(token) = inside
            && let Some(interest) = relay.interests.get_mut(&name)
            && interest.token.is_none()
        {
            // The client knows better than the record: it never stopped.
            let attempt = relay.candidate.report(interest.request).map_or(0, |it| it.attempt);
            let (request, attempt) = (interest.request, attempt.saturating_add(1));
            (interest.token, interest.recorded) = (Some(token), None);
            relay.client.adopt(name.clone(), request, attempt, inside, now);
        }
        relay.numbers.insert(number, name.clone());
        let Some(interest) = relay.interests.get_mut(&name) else { return Ok(()) };
        if interest.waiting.len() + interest.holding.len() >= TIMES_MOST {
            return Err(too_much(format!("one session may hold a lock {TIMES_MOST} times")));
        }
        // The same request again, from a client that does not know whether it was heard.
        interest.waiting.retain(|other| other.number != number);
        let held = interest.token.is_some();
        if held && !interest.holding.contains(&number) && !(once && !interest.holding.is_empty()) {
            interest.holding.push(number);
        }
        let until = if held { Some(now + ECHO) } else { until };
        interest.waiting.push(Waiter { until, ..waiter });
        let request = interest.request;
        self.alarms.extend(until.map(|until| (until, Alarm::Calls(session))));
        self.alarms.insert((now + WIDEN, Alarm::Widen(request)));
        self.describe_request(session, &name, now);
        self.pursue(session, request, now);
        Ok(())
    }

    /// Whether another relay holds a lock for this number of the client's and for others: this one has to go on with the
    /// lock before it can end one of them.
    fn is_shared(&self, session: u128, number: u64) -> bool {
        let knows = |relay: &Relay| relay.numbers.contains_key(&number);
        !self.relays.get(&session).is_some_and(knows) && self.texts.is_shared(session, number)
    }

    pub(super) fn release(&mut self, by: By, session: u128, number: u64, now: Time) {
        let Some(relay) = self.relays.get_mut(&session) else {
            return self.ask_session(by, session, Then::Release(number), now);
        };
        if let Some((request, token)) = relay.revoked.remove(&number) {
            relay.note_end_of(request, u64::MAX);
            // The client has stopped: the next one need not wait until it cannot rely on the lock any longer.
            let report = relay.candidate.report(request);
            let attempt = report.map_or(u64::MAX, |report| report.attempt);
            if let Some(name) = relay.numbers.remove(&number) {
                relay.candidate.release(request, &mut Vec::new());
                let by = Some((by, true));
                return self.release_at_voters(by, name, (request, attempt), token, now);
            }
        }
        let Some(name) = relay.numbers.remove(&number) else {
            return self.ask_session(by, session, Then::Release(number), now);
        };
        let waits = |it: &&mut Interest| it.waiting.iter().any(|waiter| waiter.number == number);
        let is_its = |it: &&mut Interest| it.holding.contains(&number) || waits(it);
        let Some(interest) = relay.interests.get_mut(&name).filter(is_its) else {
            // The lock may be held again since, by a later request: this word is not about that one.
            return self.ask_session(by, session, Then::Release(number), now);
        };
        // A front end takes back what a call of its own waits for. If the client has meanwhile called another node, the request
        // goes on there.
        let taken_back = |waiter: &Waiter| waiter.number == number && waiter.connected;
        let chases = !interest.waiting.iter().any(taken_back);
        interest.holding.retain(|held| *held != number);
        interest.waiting.retain(|waiter| waiter.number != number);
        match interest.holding.is_empty() && interest.waiting.is_empty() {
            true => self.end_interest(session, &name, Some((by, chases)), now),
            false => {
                self.describe_request(session, &name, now);
                self.answer(by, Answer::Done);
            }
        }
    }

    /// The client has stopped, or no longer wants a lock. It is told once a quorum knows. Without a call of the client, a later
    /// attempt at another node goes on.
    pub(super) fn end_interest(
        &mut self,
        session: u128,
        name: &Name,
        by: Option<(By, bool)>,
        now: Time,
    ) {
        let Some(relay) = self.relays.get_mut(&session) else { return };
        let Some(interest) = relay.interests.remove(name) else { return };
        relay.numbers.retain(|_, of| of != name);
        let (request, token) = (interest.request, interest.token.or(interest.recorded));
        let report = relay.candidate.report(request);
        let attempt = report.map_or(1, |report| report.attempt);
        relay.note_end(request);
        relay.client.release(request);
        relay.candidate.release(request, &mut Vec::new());
        self.note_release(name, &interest, now);
        self.release_at_voters(by, name.clone(), (request, attempt), token, now);
    }

    pub(super) fn release_at_voters(
        &mut self,
        by: Option<(By, bool)>,
        lock: Name,
        (request, attempt): (RequestId, u64),
        token: Option<u64>,
        now: Time,
    ) {
        let question = Question::Release { lock, request, attempt, token };
        let (by, chases) = by.unwrap_or(((ConnectionId::NONE, 0), false));
        self.inquire(by, question, Waiting::released(request, chases), now);
    }

    /// The client has released a request through another node: a relay here must not ask for it again.
    pub(super) fn released_elsewhere(&mut self, request: RequestId, attempt: u64, now: Time) {
        let Some(relay) = self.relays.get_mut(&request.session) else { return };
        let known = relay.candidate.report(request).map(|report| report.attempt);
        if known.is_none_or(|known| known > attempt) {
            return;
        }
        let Some(name) = relay.name_of(request) else { return };
        let Some(interest) = relay.interests.remove(&name) else { return };
        relay.numbers.retain(|_, of| *of != name);
        relay.note_end_of(request, attempt);
        relay.client.release(request);
        relay.candidate.release(request, &mut Vec::new());
        let connected = interest.waiting.into_iter().filter(|waiter| waiter.connected);
        let connected: Vec<Waiter> = connected.collect();
        if interest.token.is_some() || interest.recorded.is_some() {
            // These calls came after the release: they ask for the lock anew.
            return self.ask_anew(request.session, name, connected, now);
        }
        for waiter in connected {
            self.answer(waiter.by, Answer::Failed(Failure::NoRequest));
        }
    }

    fn leave_name(&mut self, by: By, session: u128, name: Name, token: Option<u64>, now: Time) {
        let relay = self.relays.get_mut(&session);
        let interest = relay.and_then(|relay| relay.interests.get_mut(&name));
        let Some(interest) = interest else {
            return self.ask_session(by, session, Then::Leave { name, token }, now);
        };
        if token.is_some() && token != interest.token.or(interest.recorded) {
            return self.answer(by, Answer::Failed(Failure::NoRequest));
        }
        for waiter in std::mem::take(&mut interest.waiting) {
            self.answer(waiter.by, Answer::Failed(Failure::NoRequest));
        }
        self.end_interest(session, &name, Some((by, true)), now);
    }

    /// A leader proclaims something else, named by its lock or by the client's number.
    fn proclaim(
        &mut self,
        by: By,
        session: u128,
        (name, number, token): (Option<Name>, Option<u64>, Option<u64>),
        value: String,
        now: Time,
    ) {
        if value.len() > TEXT_MOST {
            return self.answer(by, too_much(format!("a text has {TEXT_MOST} bytes at most")));
        }
        let relay = self.relays.get_mut(&session);
        let interests = relay.map(|relay| &mut relay.interests);
        let interest = name.as_ref().and_then(|name| interests?.get_mut(name));
        match (interest.filter(|it| it.token.is_some()), name) {
            (Some(interest), Some(name)) => {
                if token.is_some() && interest.token != token {
                    return self.answer(by, Answer::Failed(Failure::NoRequest));
                }
                interest.why = value;
                self.describe_request(session, &name, now);
                self.answer(by, Answer::Done);
            }
            (_, name) => {
                let then = Then::Proclaim { name, number, token, value };
                self.ask_session(by, session, then, now);
            }
        }
    }

    fn close(&mut self, by: By, origin: Origin, now: Time) {
        let session = origin.id();
        self.drop_relay(session, &origin.ended());
        self.lookups.remove(&session);
        self.texts.forget_session(session);
        self.inquire(by, Question::End(session), Waiting::Ended(false), now);
    }

    pub(super) fn ask_session(&mut self, by: By, session: u128, then: Then, now: Time) {
        self.inquire(by, Question::Session(session), Waiting::session(then), now);
    }

    /// Texts of a request of a relay here, for all nodes.
    pub(super) fn describe_request(&mut self, session: u128, name: &Name, now: Time) {
        let Some(relay) = self.relays.get(&session) else { return };
        let Some(interest) = relay.interests.get(name) else { return };
        let waiting = interest.waiting.iter().map(|waiter| waiter.number);
        let mut numbers: Vec<u64> = interest.holding.iter().copied().chain(waiting).collect();
        numbers.sort_unstable();
        numbers.dedup();
        let text = RequestText {
            name: Some(name.clone()),
            why: interest.why.clone(),
            numbers,
            revision: interest.revision.unwrap_or(0),
        };
        let request = Some((interest.request, text));
        let Some(known) = self.texts.session(session) else { return };
        let node = self.settings.id.index() as u32;
        let about = SessionText { node, relayed: true, ..known.about.clone() };
        self.describe(Description { session, about, request }, now);
    }
}

pub(super) fn too_much(what: String) -> Answer {
    Answer::Failed(Failure::TooMuch(what))
}

/// Voters hear a call a little later than its node: until then its relay is kept.
pub(super) fn expiry_margin(ttl: Span) -> Span {
    Span((ttl.0 / 8).min(100_000_000))
}
