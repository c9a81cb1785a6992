//! Calls of clients whose sessions this node relays.

use quorate_algorithms::mutex::leased_quorum::RequestId;
use quorate_core::{Span, Time};
use quorate_protocol::{Call, CallResponse, ClientMessage, Failure, Name, SessionKey, TEXT_MOST};

use super::queries::{FollowUp, QuestionState};
use super::quotas::Charge;
use super::relay::{Interest, NUMBERED, Origin, PendingCall, Relay, Sent, WaitMode, Waiter};
use super::{Alarm, CallId, CallerId, NodeCore};
use crate::lease::{LeaseCall, LeaseId, voter_ttl};
use crate::peer::{Description, Question, RequestText, SessionText};

/// Permitted times-to-live of a session before they are clamped to the bounds of the cluster, in milliseconds.
const TTL_MS: std::ops::RangeInclusive<u32> = 100..=3_600_000;

/// Timeout for a quorum of voters to echo the beat of a call.
pub(super) const ECHO_TIMEOUT: Span = Span::from_millis(2_000);

/// Timeout for finding out whether a lock is free.
const ONLY_IF_FREE_TIMEOUT: Span = Span::from_millis(1_000);

/// Delay after which a request asks all voters instead of only the preferred ones. A lock that is held for longer has spare
/// votes, so that it survives the failure of some of its voters.
pub(super) const WIDEN_DELAY: Span = Span::from_millis(150);

/// An acquire call that began less than this ago may be newer than a release of the same lock that has just arrived.
const RECENT: Span = Span::from_millis(1_000);

/// Maximum number of calls that may wait for one request.
const CALLS_MOST: usize = 1_024;

/// A call within a session.
#[derive(Clone, Debug)]
pub(crate) enum SessionCall {
    KeepAlive,
    Acquire(AcquireCall),
    Release(u64),
    Proclaim(u64, String),
    ProclaimName { name: Name, token: u64, value: String },
    ReleaseName { name: Name, token: Option<u64> },
    List,
    LeaseInfo,
    Close,
}

/// An acquire call of a client.
#[derive(Clone, Debug)]
pub(crate) struct AcquireCall {
    pub(crate) number: u64,
    pub(crate) name: Name,
    pub(crate) wait_ms: Option<u64>,
    pub(crate) why: String,
    /// The token with which the client claims to be inside.
    pub(crate) inside: Option<u64>,
    /// Whether the call may be answered with [`CallResponse::Queued`] instead of waiting for the grant.
    pub(crate) enqueue: bool,
}

impl NodeCore {
    /// Handles a call of a client. `key` generates the key of a new session.
    pub fn on_call(
        &mut self,
        caller: CallerId,
        message: ClientMessage,
        key: impl FnOnce() -> SessionKey,
        now: Time,
    ) {
        let ClientMessage { number, sent, call } = message;
        let call_id = (caller, number);
        // Without members there is no voter to ask.
        if self.membership.is_joining() && !matches!(call, Call::Status | Call::Members) {
            return self.answer(call_id, CallResponse::Failed(Failure::NoQuorum));
        }
        let clock = match caller {
            CallerId::Connection(_) => Some(caller),
            CallerId::FrontEnd(_) | CallerId::Node => None,
        };
        let sent = Sent { at: sent, clock };
        let session = |core: &mut Self, key: SessionKey, call| {
            core.session_call(call_id, Origin::Key(key), call, sent, now);
            None
        };
        let answer = match call {
            Call::Open { ttl_ms, .. } if !TTL_MS.contains(&ttl_ms) => {
                let (least, most) = TTL_MS.into_inner();
                Some(too_much(format!("the ttl of a session must be {least} to {most} ms")))
            }
            Call::Open { ttl_ms, client_name, client_location } => {
                let ttl = self.terms.clamp(Span::from_millis(ttl_ms.into()));
                self.open(
                    call_id,
                    Origin::Key(key()),
                    ttl,
                    (client_name, client_location),
                    sent,
                    now,
                )
            }
            Call::KeepAlive(key) => session(self, key, SessionCall::KeepAlive),
            Call::Close(key) => session(self, key, SessionCall::Close),
            Call::Session(key) => session(self, key, SessionCall::List),
            Call::Acquire { session: key, request, name, mode: _, wait_ms, why, inside } => {
                if caller.is_front_end() {
                    self.withdrawable.insert(caller, (key.id(), None));
                }
                let (number, enqueue) = (request, false);
                let acquire = AcquireCall { number, name, wait_ms, why, inside, enqueue };
                session(self, key, SessionCall::Acquire(acquire))
            }
            Call::Release { session: key, request } => {
                session(self, key, SessionCall::Release(request))
            }
            Call::Proclaim { session: key, request, value } => {
                session(self, key, SessionCall::Proclaim(request, value))
            }
            Call::List { prefix, exact, after, most } => {
                self.list(call_id, (prefix, exact), after, most, now)
            }
            Call::CheckToken { name, token } => self.check_token(call_id, name, token, now),
            Call::ForceRelease { name, reason } => self.force_release(call_id, name, reason, now),
            Call::Watch { prefix } => self.watch(call_id, prefix, now),
            Call::Members => Some(CallResponse::Members(Box::new(self.members_status()))),
            Call::ChangeMembers(change) => self.change_members(call_id, &change, now),
            Call::Status => Some(CallResponse::Status(Box::new(self.status()))),
            Call::Attach { session: key, client_name, client_location, candidate } => {
                Some(self.attach(call_id, key, (client_name, client_location), candidate, now))
            }
            Call::ToVoter(messages) => self.on_candidate_messages(caller, messages, now),
            Call::Describe { request, why } => {
                self.describe_direct(caller, request, why, now);
                None
            }
        };
        answer.into_iter().for_each(|answer| self.answer(call_id, answer));
        self.deliver_local(now);
    }

    /// Handles a call for a lease of etcd's API.
    pub(crate) fn on_lease_call(
        &mut self,
        caller: CallerId,
        lease: LeaseId,
        call: LeaseCall,
        now: Time,
    ) {
        let (call_id, origin) = ((caller, 1), Origin::Lease(lease));
        if self.membership.is_joining() {
            return self.answer(call_id, CallResponse::Failed(Failure::NoQuorum));
        }
        let sent = Sent { at: now.0 / 1_000, clock: None };
        let acquire = |name, number, why, enqueue| {
            let (wait_ms, inside) = (None, None);
            SessionCall::Acquire(AcquireCall { number, name, wait_ms, why, inside, enqueue })
        };
        let call = match call {
            LeaseCall::Grant { ttl_ms, fresh, client_location } => {
                self.grant(call_id, origin, (ttl_ms, fresh, client_location), sent, now);
                return self.deliver_local(now);
            }
            LeaseCall::Revoke => SessionCall::Close,
            LeaseCall::KeepAlive => SessionCall::KeepAlive,
            LeaseCall::TimeToLive => SessionCall::LeaseInfo,
            LeaseCall::Acquire { name, request, value } => {
                self.withdrawable.insert(caller, (origin.id(), None));
                acquire(name, request, value, false)
            }
            LeaseCall::Enqueue { name, request, value } => {
                self.withdrawable.insert(caller, (origin.id(), None));
                acquire(name, request, value, true)
            }
            LeaseCall::Release { name, token } => SessionCall::ReleaseName { name, token },
            LeaseCall::Proclaim { name, token, value } => {
                SessionCall::ProclaimName { name, token, value }
            }
        };
        self.session_call(call_id, origin, call, sent, now);
        self.deliver_local(now);
    }

    fn grant(
        &mut self,
        call_id: CallId,
        origin: Origin,
        (ttl_ms, fresh, client_location): (u32, bool, String),
        sent: Sent,
        now: Time,
    ) {
        let ttl = voter_ttl(Span::from_millis(ttl_ms.into()), self.terms);
        let Origin::Lease(lease) = &origin else { return };
        if fresh {
            let texts = (lease.owner.clone(), client_location);
            let answer = self.open(call_id, origin, ttl, texts, sent, now);
            return answer.into_iter().for_each(|answer| self.answer(call_id, answer));
        }
        let session = origin.id();
        let follow_up = FollowUp::Grant { origin, ttl, client_location, sent };
        self.ask_voters(
            call_id,
            Question::Session(session),
            QuestionState::session(follow_up),
            now,
        );
    }

    /// Opens a session. The call is answered once a quorum knows the session.
    pub(super) fn open(
        &mut self,
        call_id: CallId,
        origin: Origin,
        ttl: Span,
        (client_name, client_location): (String, String),
        sent: Sent,
        now: Time,
    ) -> Option<CallResponse> {
        if self.leaving.is_some() {
            return Some(CallResponse::Failed(Failure::Leaving));
        }
        if self.relays.len() + self.direct.len() >= self.settings.sessions_most {
            return Some(too_much("this node has reached its limit of sessions".to_owned()));
        }
        if client_name.len() > TEXT_MOST || client_location.len() > TEXT_MOST {
            return Some(too_much(format!("a text has at most {TEXT_MOST} bytes")));
        }
        let (lease, owner) = match &origin {
            Origin::Key(_) => (0, String::new()),
            Origin::Lease(lease) => (lease.id, lease.owner.clone()),
        };
        let added = Charge {
            sessions: 1,
            bytes: client_name.len() + client_location.len(),
            ..Charge::default()
        };
        if let Err(failure) = self.charge(call_id.0, added, now) {
            return Some(CallResponse::Failed(failure));
        }
        let (session, node) = (origin.id(), self.settings.id.index() as u32);
        self.set_owner(call_id.0, session);
        let session_text =
            SessionText { client_name, client_location, node, relayed: true, lease, owner };
        self.describe(Description { session, session_text, request: None }, now);
        self.start_relay(origin, ttl, call_id.0, now);
        if let Some(relay) = self.relays.get_mut(&session) {
            relay.young_until = now + self.terms.validity(ttl);
        }
        self.begin_call(session, (call_id, true), sent, now);
        None
    }

    pub(super) fn start_relay(&mut self, origin: Origin, ttl: Span, caller: CallerId, now: Time) {
        let session = origin.id();
        let ids = (self.new_candidate(), self.unique_number());
        let previous = self.membership.chain.present().previous();
        let voters = (self.electorate.clone(), previous);
        let relay = Relay::new(origin, ttl, ids, voters, caller, now);
        self.candidates.insert(ids.0, session);
        self.relays.insert(session, relay);
        self.alarms.insert((now + ttl + expiry_margin(ttl), Alarm::Relay(session)));
        for voter in &self.avoided() {
            self.drive(session, now, |relay, out| relay.candidate.avoid(voter, out));
        }
    }

    /// Begins a beat for a call. The call is answered once a quorum has echoed that beat.
    fn begin_call(
        &mut self,
        session: u128,
        (call_id, opens): (CallId, bool),
        sent: Sent,
        now: Time,
    ) {
        let Some(relay) = self.relays.get_mut(&session) else { return };
        let (beat, until) = (relay.call(call_id.0, sent, now), now + ECHO_TIMEOUT);
        relay.pending.push(PendingCall { beat, call_id, sent, until, opens });
        self.alarms.insert((until, Alarm::Calls(session)));
        self.send_beat(session, beat, now);
    }

    /// Sends a beat that a call has begun to all voters.
    pub(super) fn send_beat(&mut self, session: u128, beat: u64, now: Time) {
        self.drive(session, now, |relay, out| relay.candidate.begin_beat(beat, 0, out));
        self.retry_stale(session, now);
    }

    /// Handles a call of a session, whichever node has opened the session.
    pub(super) fn session_call(
        &mut self,
        call_id: CallId,
        origin: Origin,
        call: SessionCall,
        sent: Sent,
        now: Time,
    ) {
        let session = origin.id();
        match call {
            SessionCall::Close => self.close(call_id, origin, now),
            SessionCall::List => self.look_up_session(call_id, session, FollowUp::List, now),
            SessionCall::LeaseInfo => {
                self.look_up_session(call_id, session, FollowUp::LeaseInfo, now)
            }
            SessionCall::Release(number) => {
                let request = RequestId { session, incarnation: NUMBERED, number };
                self.release_at_voters(call_id, request, u64::MAX, now);
            }
            SessionCall::ReleaseName { name, token } => {
                self.look_up_session(call_id, session, FollowUp::Release { name, token }, now);
            }
            SessionCall::Proclaim(number, value) => {
                self.proclaim(call_id, session, (None, Some(number), None), value, now);
            }
            SessionCall::ProclaimName { name, token, value } => {
                self.proclaim(call_id, session, (Some(name), None, Some(token)), value, now);
            }
            SessionCall::KeepAlive | SessionCall::Acquire(_) => {
                match self.relays.contains_key(&session) {
                    true => self.relay_call(call_id, &origin, call, sent, now),
                    false => self.resume(call_id, origin, call, sent, now),
                }
            }
        }
    }

    /// Handles a call in the relay of its session.
    pub(super) fn relay_call(
        &mut self,
        call_id: CallId,
        origin: &Origin,
        call: SessionCall,
        sent: Sent,
        now: Time,
    ) {
        let session = origin.id();
        match (self.relays.get(&session).is_none_or(|relay| relay.doomed), call) {
            (true, _) => self.answer(call_id, CallResponse::Failed(Failure::NoSession)),
            (false, SessionCall::Acquire(acquire)) => {
                if let Err(refused) = self.acquire(call_id, session, acquire, sent, now) {
                    self.answer(call_id, refused);
                }
                self.answer_ready(session, now);
            }
            (false, _) => self.begin_call(session, (call_id, false), sent, now),
        }
    }

    fn acquire(
        &mut self,
        call_id: CallId,
        session: u128,
        acquire: AcquireCall,
        sent: Sent,
        now: Time,
    ) -> Result<(), CallResponse> {
        let AcquireCall { number, name, wait_ms, why, inside, enqueue } = acquire;
        let no_session = CallResponse::Failed(Failure::NoSession);
        let relay = self.relays.get(&session).ok_or_else(|| no_session.clone())?;
        let request = relay.request(number, &name);
        let known = relay.interests.get(&request);
        let is_known = known.is_some();
        match known {
            Some(interest) if interest.name != name => {
                return Err(too_much(
                    "this request number is already used for another name".to_owned(),
                ));
            }
            Some(interest) if interest.waiting.len() >= CALLS_MOST => {
                return Err(too_much(format!(
                    "at most {CALLS_MOST} calls may wait for one request"
                )));
            }
            Some(_) => {}
            None => self
                .may_begin(session, (&name, &why), wait_ms, now)
                .map_err(CallResponse::Failed)?,
        }
        let mode = match wait_ms {
            Some(0) => WaitMode::OnlyIfFree,
            _ if enqueue => WaitMode::Enqueued,
            _ => WaitMode::Granted,
        };
        let wait = wait_ms.map(|wait| now + Span::from_millis(wait.min(1 << 40)));
        let until = if mode == WaitMode::Granted { wait } else { Some(now + ONLY_IF_FREE_TIMEOUT) };
        let relay = self.relays.get_mut(&session).ok_or(no_session)?;
        let beat = relay.call(call_id.0, sent, now);
        if !is_known {
            let attempt = relay.first_attempt(request, self.voter.clock());
            let new = Interest::new(name, why, now);
            relay.put(request, Interest { attempt, ..new });
        }
        let Some(interest) = relay.interests.get_mut(&request) else { return Ok(()) };
        let until = if interest.token.is_some() { Some(now + ECHO_TIMEOUT) } else { until };
        interest.waiting.push(Waiter { call_id, sent, beat, until, mode, inside, connected: true });
        self.alarms.extend(until.map(|until| (until, Alarm::Calls(session))));
        self.alarms.insert((now + WIDEN_DELAY, Alarm::Widen(request)));
        self.describe_request(session, request, now);
        match is_known {
            // Whether the lock is still held is known once voters have echoed the beat of this call.
            true => self.send_beat(session, beat, now),
            false => self.pursue(session, request, now),
        }
        Ok(())
    }

    /// Checks whether a session may make a request that is not known here.
    fn may_begin(
        &mut self,
        session: u128,
        (name, why): (&Name, &str),
        wait_ms: Option<u64>,
        now: Time,
    ) -> Result<(), Failure> {
        if self.leaving.is_some() {
            return Err(Failure::Leaving);
        }
        let relay = self.relays.get(&session).ok_or(Failure::NoSession)?;
        if let Some(other) = relay.interest_in(name) {
            let number = other.number;
            let reason = format!("the session already requests this lock, with request {number}");
            return Err(Failure::TooMuch(reason));
        }
        if wait_ms == Some(0) && !self.has_quorum() {
            return Err(Failure::NoQuorum);
        }
        if self.requests() >= self.settings.requests_most {
            return Err(Failure::TooMuch("this node has reached its limit of requests".to_owned()));
        }
        if why.len() > TEXT_MOST {
            return Err(Failure::TooMuch(format!("a text has at most {TEXT_MOST} bytes")));
        }
        let bytes = name.text().len() + why.len();
        self.charge_session(session, Charge { requests: 1, bytes, ..Charge::default() }, now)
    }

    /// Releases a request, because its client has stopped or no longer wants the lock. The call is answered
    /// once a quorum knows.
    pub(super) fn release_at_voters(
        &mut self,
        call_id: CallId,
        request: RequestId,
        attempt: u64,
        now: Time,
    ) {
        let state = QuestionState::released(request);
        self.ask_voters(call_id, Question::Release(request, attempt), state, now);
    }

    /// Stops pursuing a request that the client has released through any node, so that the relay here does
    /// not request it again.
    pub(super) fn drop_interest(&mut self, request: RequestId, attempt: u64, now: Time) {
        let Some(relay) = self.relays.get_mut(&request.session) else { return };
        relay.note_end(request, attempt);
        if relay.interests.get(&request).is_some_and(|interest| interest.attempt > attempt) {
            return;
        }
        relay.candidate.forget(request);
        let Some(interest) = relay.take(request) else { return };
        self.note_release(request, &interest, now);
        let connected = interest.waiting.into_iter().filter(|waiter| waiter.connected);
        let connected: Vec<Waiter> = connected.collect();
        self.reacquire(request, interest.name, attempt, connected, now);
    }

    /// Handles the end of a request, up to the attempt `ended`. Calls for a lock that its lease has released request the
    /// lock anew if they may have begun after the release. Other calls fail.
    pub(super) fn reacquire(
        &mut self,
        request: RequestId,
        name: Name,
        ended: u64,
        waiting: Vec<Waiter>,
        now: Time,
    ) {
        let Some(relay) = self.relays.get_mut(&request.session) else { return };
        let begun = |waiter: &Waiter| relay.begun(waiter.beat).is_some_and(|at| at + RECENT > now);
        let is_new = |waiter: &Waiter| ended < u64::MAX && begun(waiter);
        let (waiting, over): (Vec<_>, Vec<_>) = waiting.into_iter().partition(is_new);
        for waiter in over {
            self.answer(waiter.call_id, CallResponse::Failed(Failure::NoRequest));
        }
        let Some(relay) = self.relays.get_mut(&request.session).filter(|_| !waiting.is_empty())
        else {
            return;
        };
        // A call that confirms a held lock has a short timeout. Now the lock is not held, so the call
        // waits without a limit.
        let held = |waiter: Waiter| match waiter.mode {
            WaitMode::Granted => Waiter { until: None, ..waiter },
            _ => waiter,
        };
        let waiting = waiting.into_iter().map(held).collect();
        let clock = self.voter.clock();
        let attempt = relay.first_attempt(request, clock).max(ended.saturating_add(1));
        let new = Interest::new(name, String::new(), now);
        relay.put(request, Interest { attempt, waiting, ..new });
        self.alarms.insert((now + WIDEN_DELAY, Alarm::Widen(request)));
        self.describe_request(request.session, request, now);
        self.pursue(request.session, request, now);
    }

    /// Changes the value that a leader proclaims. The election is given by its name or by the client's request number.
    fn proclaim(
        &mut self,
        call_id: CallId,
        session: u128,
        (name, number, token): (Option<Name>, Option<u64>, Option<u64>),
        value: String,
        now: Time,
    ) {
        if value.len() > TEXT_MOST {
            return self.answer(call_id, too_much(format!("a text has at most {TEXT_MOST} bytes")));
        }
        let follow_up = FollowUp::Proclaim { name, number, token, value };
        self.look_up_session(call_id, session, follow_up, now);
    }

    fn close(&mut self, call_id: CallId, origin: Origin, now: Time) {
        let session = origin.id();
        self.drop_relay(session, &origin.ended());
        self.lookups.remove(&session);
        self.texts.forget_session(session);
        self.ask_voters(call_id, Question::End(session), QuestionState::Ended(false), now);
    }

    pub(super) fn look_up_session(
        &mut self,
        call_id: CallId,
        session: u128,
        follow_up: FollowUp,
        now: Time,
    ) {
        self.ask_voters(
            call_id,
            Question::Session(session),
            QuestionState::session(follow_up),
            now,
        );
    }

    /// Sends the texts of a request that a relay here pursues to all nodes.
    pub(super) fn describe_request(&mut self, session: u128, request: RequestId, now: Time) {
        let Some(relay) = self.relays.get(&session) else { return };
        let Some(interest) = relay.interests.get(&request) else { return };
        let (why, revision) = (interest.why.clone(), interest.revision.unwrap_or(0));
        let request = Some((request, RequestText { why, revision }));
        let Some(known) = self.texts.session(session) else { return };
        let node = self.settings.id.index() as u32;
        let session_text = SessionText { node, relayed: true, ..known.session_text.clone() };
        self.describe(Description { session, session_text, request }, now);
    }
}

pub(super) fn too_much(reason: String) -> CallResponse {
    CallResponse::Failed(Failure::TooMuch(reason))
}

/// Additional time for which a relay is kept, because voters receive a call slightly later than its node.
pub(super) fn expiry_margin(ttl: Span) -> Span {
    Span((ttl.0 / 8).min(100_000_000))
}
