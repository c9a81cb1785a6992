//! Relays at work: effects and reports of candidates, and answers to calls that waited for them.

use quorate_algorithms::mutex::leased_quorum::{
    CandidateEffect, CandidateEffects, Report, RequestId, RequestStatus, ToVoter,
};
use quorate_core::{Span, Time};
use quorate_protocol::{CallResponse, Failure, LeaseInfo, Name, ServerMessage};

use super::queries::QuestionState;
use super::relay::{Interest, Origin, PendingCall, Relay, Sent, WaitMode, Waiter, last_of_turn};
use super::sessions::{ECHO_TIMEOUT, WIDEN_DELAY, expiry_margin};
use super::{Alarm, CallerId, NodeCore};
use crate::lease::{GRANT, client_ttl};
use crate::metrics::seconds;
use crate::peer::{Description, PeerMessage, Question};

/// Bit of create revisions that clients receive before the token is known. It makes them greater than all tokens.
const QUEUED: u64 = 1 << 62;

/// Maximum number of locks whose last release is remembered, for measuring the hand-off time. When it is
/// reached, all are forgotten.
const RELEASED_MOST: usize = 1_024;

/// Interval at which an expired call is checked again while its lock is being granted.
const WITHDRAW_RETRY: Span = Span::from_millis(200);

impl NodeCore {
    /// Passes an input to a relay's candidate, and applies its effects.
    pub(super) fn drive(
        &mut self,
        session: u128,
        now: Time,
        input: impl FnOnce(&mut Relay, &mut CandidateEffects<Name>),
    ) {
        self.check_due_validity(session, now);
        let Some(relay) = self.relays.get_mut(&session) else { return };
        let mut out = Vec::new();
        input(relay, &mut out);
        let candidate = relay.id;
        let (mut sent, mut reports, mut lost) = (Vec::new(), Vec::new(), Vec::new());
        for effect in out {
            match effect {
                CandidateEffect::Send(_, ToVoter::Raise { claim, token, .. })
                    if relay.has_lost(claim.request, token) =>
                {
                    relay.keep_token(claim, token);
                    lost.push(claim.request);
                }
                CandidateEffect::Send(voter, message @ ToVoter::Raise { claim, token, .. }) => {
                    relay.note_recording(claim, token);
                    sent.push((voter, message));
                }
                // The voter is asked once its echo shows that it counts.
                CandidateEffect::Send(voter, ToVoter::Request { .. }) if !relay.may_ask(voter) => {
                    if relay.note_unasked(voter) {
                        sent.push((voter, relay.candidate.present(voter)));
                    }
                }
                CandidateEffect::Send(voter, message) => sent.push((voter, message)),
                CandidateEffect::Report(report) => reports.push(report),
                CandidateEffect::Refused(ttl) => {
                    tracing::debug!(ttl = ttl.0, "a voter knows the session with a different ttl");
                }
            }
        }
        for (voter, message) in sent {
            self.send_to_voter(candidate, voter, message);
        }
        let Some(relay) = self.relays.get(&session) else { return };
        if let Some(request) = lost.into_iter().find(|request| relay.is_given_up(*request, now)) {
            return self.end_lease(request, now);
        }
        for report in reports {
            self.on_report(session, report, now);
        }
        self.answer_ready(session, now);
    }

    /// Ends a lease that has lost a lock. The request is ended by force, so that every node knows it.
    fn end_lease(&mut self, request: RequestId, now: Time) {
        let Some(relay) = self.relays.get_mut(&request.session) else { return };
        let Some(interest) = relay.take(request) else { return };
        relay.candidate.forget(request);
        relay.doomed = true;
        tracing::info!(lock = %interest.name, token = interest.token, "grant lost: its lease ends");
        self.fail_calls(request.session, &Failure::NoSession);
        let question = Question::Force(interest.name, request, "its lease has lost it".to_owned());
        self.ask_voters((CallerId::Node, 0), question, QuestionState::Forced(false), now);
    }

    fn on_report(&mut self, session: u128, report: Report, now: Time) {
        let Report { request, attempt, standing, .. } = report;
        let Some(relay) = self.relays.get_mut(&session) else { return };
        let (beat, called) = (relay.beat(), !relay.pending.is_empty());
        let inside = relay.candidate.inside(request);
        let Some(interest) = relay.interests.get_mut(&request) else { return };
        if interest.attempt != attempt {
            return;
        }
        match standing {
            RequestStatus::Waiting(position) => self.on_waiting(session, request, position, now),
            RequestStatus::Granted { token, beat } => {
                self.on_granted(session, request, (token, beat.number), now);
            }
            RequestStatus::Held(_) => interest.token = inside,
            RequestStatus::Broken => self.raise(session, request, attempt, now),
            // Only a call of the client takes a request back, at most once per beat. Otherwise two relays would take it
            // from each other forever.
            RequestStatus::Stale(known)
                if (called || interest.has_calls()) && interest.raised < beat =>
            {
                interest.raised = beat;
                self.raise(session, request, known, now);
            }
            RequestStatus::Stale(_) if !called && !interest.has_calls() => {
                // Another relay continues the request.
                relay.take(request);
                relay.candidate.forget(request);
            }
            RequestStatus::Stale(_) => {}
            RequestStatus::Gone => self.on_gone(session, request, now),
        }
    }

    /// Begins another attempt. Tokens that earlier attempts have recorded stay on record.
    fn raise(&mut self, session: u128, request: RequestId, known: u64, now: Time) {
        let Some(relay) = self.relays.get_mut(&session) else { return };
        let Some(interest) = relay.interests.get_mut(&request) else { return };
        // The client may have ended the turn that this relay knows, and begun a later turn through another relay. The token
        // of the later turn, if any, is on record at the voters.
        interest.token = interest.token.filter(|_| known <= last_of_turn(interest.attempt));
        interest.attempt = known.max(interest.attempt).saturating_add(1);
        self.alarms.insert((now + WIDEN_DELAY, Alarm::Widen(request)));
        self.pursue(session, request, now);
    }

    /// Retries requests that another relay has taken over, because a call of the client may take them back.
    pub(super) fn retry_stale(&mut self, session: u128, now: Time) {
        let Some(relay) = self.relays.get(&session) else { return };
        let stale = relay.candidate.reports();
        let stale = stale.filter(|report| matches!(report.standing, RequestStatus::Stale(_)));
        for report in stale.collect::<Vec<Report>>() {
            self.on_report(session, report, now);
        }
    }

    pub(super) fn pursue(&mut self, session: u128, request: RequestId, now: Time) {
        self.drive(session, now, |relay, out| {
            if let Some(wanted) = relay.wanted(request) {
                relay.candidate.pursue(wanted, out);
            }
        });
    }

    fn on_granted(
        &mut self,
        session: u128,
        request: RequestId,
        (token, good): (u64, u64),
        now: Time,
    ) {
        let Some(relay) = self.relays.get_mut(&session) else { return };
        let found = relay.candidate.found_token(request);
        let Some(interest) = relay.interests.get_mut(&request) else { return };
        // A grant that another relay may have counted is not counted again.
        let first = interest.token.replace(token).is_none() && found.is_none();
        // Clients of etcd's API name a lock by the create revision that they received first.
        interest.revision = interest.revision.or(found.filter(|found| *found != token));
        let asked = std::mem::replace(&mut interest.since, now);
        let name = interest.name.clone();
        self.watch_validity(session, good, now);
        self.alarms.insert((now + WIDEN_DELAY, Alarm::Widen(request)));
        if first {
            tracing::debug!(lock = %name, token, at = now.0, "granted");
            if let Some(spans) = &mut self.spans {
                spans.request(&name, request, Some(request.number), (asked, now), Some(token));
            }
            self.metrics.granted.inc();
            self.metrics.wait.observe(seconds(now.since(asked)));
            if let Some(freed) = self.released.remove(&name).filter(|freed| *freed >= asked) {
                self.metrics.hand_off.observe(seconds(now.since(freed)));
            }
        }
        self.describe_request(session, request, now);
        // Informs the candidate that the client is inside.
        self.pursue(session, request, now);
    }

    /// Handles the end of a request that was ended by force, or that its client has released through another node.
    fn on_gone(&mut self, session: u128, request: RequestId, now: Time) {
        let Some(relay) = self.relays.get_mut(&session) else { return };
        let (ended, forced) = relay.candidate.ended(request).unwrap_or_default();
        match forced {
            true => drop(relay.forced.insert(request)),
            false => relay.note_end(request, ended),
        }
        relay.candidate.forget(request);
        let caller = relay.caller;
        let Some(interest) = relay.take(request) else { return };
        let expelled = forced && interest.token.is_some();
        if expelled {
            self.metrics.count_loss("expelled");
            let (lock, client) = (&interest.name, self.shown_client(session));
            tracing::info!(%lock, token = interest.token, %client, "grant lost: it was revoked");
        }
        if interest.token.is_some() {
            self.metrics.hold.observe(seconds(now.since(interest.since)));
        }
        let Some(relay) = self.relays.get_mut(&session) else { return };
        if let (Origin::Key(key), true) = (&relay.origin, expelled) {
            let (session, request) = (*key, request.number);
            self.send_client(caller, ServerMessage::Lost { session, request, revoked: true });
        }
        let waiting = interest.waiting.into_iter().filter(|waiter| waiter.connected);
        let waiting: Vec<Waiter> = waiting.collect();
        self.forget_texts(request);
        self.reacquire(request, interest.name, ended, waiting, now);
    }

    fn on_waiting(&mut self, session: u128, request: RequestId, position: u32, now: Time) {
        let Some(relay) = self.relays.get_mut(&session) else { return };
        let Some(interest) = relay.interests.get_mut(&request) else { return };
        let first = std::mem::replace(&mut interest.queue_position, position) == 0;
        if position == 0 {
            return;
        }
        if let Origin::Key(key) = relay.origin {
            let notified: Vec<CallerId> = interest.waiting.iter().map(|it| it.call_id.0).collect();
            for caller in notified {
                let (session, request) = (key, request.number);
                self.send_client(caller, ServerMessage::Position { session, request, position });
            }
        }
        self.refuse_waiters(session, request, now, |it| it.mode == WaitMode::OnlyIfFree);
        self.answer_enqueued(session, request, now);
        if first {
            self.drive(session, now, |relay, out| relay.candidate.announce(out));
        }
    }

    /// Answers the calls that wait only to know whether the request is queued.
    fn answer_enqueued(&mut self, session: u128, request: RequestId, now: Time) {
        let Some(relay) = self.relays.get_mut(&session) else { return };
        let Some(interest) = relay.interests.get_mut(&request) else { return };
        let enqueued = interest.waiting.extract_if(.., |it| it.mode == WaitMode::Enqueued);
        let enqueued: Vec<Waiter> = enqueued.collect();
        if enqueued.is_empty() {
            return;
        }
        let hash = (request.session as u64).wrapping_mul(31).wrapping_add(request.number);
        let revision = QUEUED | hash & (QUEUED - 1);
        (interest.revision, interest.detached) = (Some(revision), true);
        enqueued
            .into_iter()
            .for_each(|waiter| self.answer(waiter.call_id, CallResponse::Queued(revision)));
        self.describe_request(session, request, now);
    }

    /// Refuses calls that no longer wait for a lock. If no other call is left, the request is withdrawn. If that is not
    /// possible because the lock is being granted, the calls wait for the outcome.
    fn refuse_waiters(
        &mut self,
        session: u128,
        request: RequestId,
        now: Time,
        is_over: impl Fn(&Waiter) -> bool,
    ) {
        let Some(relay) = self.relays.get_mut(&session) else { return };
        let Some(interest) = relay.interests.get_mut(&request) else { return };
        let over: Vec<Waiter> = interest.waiting.extract_if(.., |it| is_over(it)).collect();
        if over.is_empty() {
            return;
        }
        let held = interest.token.is_some();
        let is_last = interest.waiting.is_empty() && !interest.detached && !held;
        if is_last && !self.withdraw(session, request, false, now) {
            let give_up = |it: &Waiter| it.until.is_some_and(|until| until + ECHO_TIMEOUT <= now);
            let Some(relay) = self.relays.get_mut(&session) else { return };
            let Some(interest) = relay.interests.get_mut(&request) else { return };
            let (late, granting): (Vec<_>, Vec<_>) = over.into_iter().partition(give_up);
            interest.waiting.extend(granting);
            self.alarms.insert((now + WITHDRAW_RETRY, Alarm::Calls(session)));
            return late.into_iter().for_each(|it| self.refuse(it, Failure::NoQuorum));
        }
        for waiter in over {
            let why = match waiter.mode {
                _ if held => Failure::NoQuorum,
                WaitMode::OnlyIfFree => Failure::Busy,
                _ => Failure::TimedOut,
            };
            self.refuse(waiter, why);
        }
    }

    fn refuse(&mut self, waiter: Waiter, why: Failure) {
        let label = match why {
            Failure::Busy => "busy",
            Failure::TimedOut => "timed-out",
            _ => "no-quorum",
        };
        self.metrics.count_refusal(label);
        self.answer(waiter.call_id, CallResponse::Failed(why));
    }

    /// Withdraws a request about which the client has received no answer; returns whether that was possible. `untold`
    /// permits it even if this attempt has recorded a token.
    pub(super) fn withdraw(
        &mut self,
        session: u128,
        request: RequestId,
        untold: bool,
        now: Time,
    ) -> bool {
        let Some(relay) = self.relays.get_mut(&session) else { return false };
        let (candidate, mut out) = (relay.id, Vec::new());
        if !relay.candidate.withdraw(request, untold, &mut out) {
            return false;
        }
        let interest = relay.take(request);
        for effect in out {
            if let CandidateEffect::Send(voter, message) = effect {
                self.send_to_voter(candidate, voter, message);
            }
        }
        if let Some(interest) = interest {
            self.note_release(request, &interest, now);
            self.forget_texts(request);
        }
        true
    }

    pub(super) fn note_release(&mut self, request: RequestId, interest: &Interest, now: Time) {
        let name = &interest.name;
        if let Some(token) = interest.token {
            tracing::debug!(lock = %name, token, at = now.0, "released");
            self.metrics.hold.observe(seconds(now.since(interest.since)));
            if self.released.len() >= RELEASED_MOST {
                self.released.clear();
            }
            self.released.insert(name.clone(), now);
        } else if let Some(spans) = &mut self.spans {
            spans.request(name, request, None, (interest.since, now), None);
        }
    }

    /// Answers all calls whose result is known now.
    pub(super) fn answer_ready(&mut self, session: u128, now: Time) {
        self.answer_waiters(session, now);
        self.answer_pending(session, now);
        self.confirm_voters(session, now);
        self.ask_further_voters(session, now);
    }

    /// Sends the requests of a lease to voters at which it has become continuous.
    fn ask_further_voters(&mut self, session: u128, now: Time) {
        let Some(relay) = self.relays.get_mut(&session) else { return };
        for voter in relay.take_askable() {
            self.drive(session, now, |relay, out| relay.candidate.repeat_requests(voter, out));
        }
    }

    /// Sends releases to voters that still list an ended request, because they were unreachable when it was released.
    pub(super) fn release_ended(&mut self, session: u128) {
        let Some(relay) = self.relays.get(&session) else { return };
        let candidate = relay.id;
        for (voter, request, attempt, lock) in relay.ended_but_listed() {
            let release = ToVoter::Release { lock, request, attempt, token: None };
            self.send_to_voter(candidate, voter, release);
        }
    }

    /// Answers calls for locks that are known to be held in the beat of the call or a later one.
    fn answer_waiters(&mut self, session: u128, now: Time) {
        let terms = self.terms;
        let Some(relay) = self.relays.get(&session) else { return };
        let interests = relay.interests.iter();
        let asked = interests.filter(|(_, it)| !it.waiting.is_empty() && it.token.is_some());
        // The token may have grown since this relay learned it.
        let held = asked.filter_map(|(request, _)| {
            let (token, good) = relay.held(*request)?;
            Some((*request, token, good))
        });
        let held: Vec<(RequestId, u64, u64)> = held.collect();
        let mut renews = false;
        for (request, token, good) in held {
            let Some(relay) = self.relays.get_mut(&session) else { return };
            // Since this call, another node may have answered the client that its session is alive. Then the votes must be
            // good for at least as long.
            let is_fresh = relay.begun(good).is_some_and(|begun| begun + GRANT > now);
            let Some(interest) = relay.interests.get_mut(&request) else { continue };
            let fits = |it: &Waiter| it.beat <= good && (is_fresh || it.sent.clock.is_some());
            let ready: Vec<Waiter> = interest.waiting.extract_if(.., |it| fits(it)).collect();
            let connected = ready.iter().filter(|waiter| waiter.connected);
            interest.answered += connected.count();
            interest.detached |= ready.iter().any(|waiter| !waiter.connected);
            renews |= interest.waiting.iter().any(|it| it.beat <= good && it.connected);
            for waiter in ready {
                self.answer_waiter(session, request, token, good, waiter, terms);
            }
        }
        if renews {
            self.renew(session, now);
        }
    }

    fn answer_waiter(
        &mut self,
        session: u128,
        request: RequestId,
        token: u64,
        good: u64,
        waiter: Waiter,
        terms: quorate_algorithms::mutex::leased_quorum::Terms,
    ) {
        let Some(relay) = self.relays.get(&session) else { return };
        let answer = match waiter.inside.is_none_or(|inside| inside <= token) {
            true => {
                let validity = relay.validity(good, waiter.sent, terms);
                CallResponse::Granted { token, validity }
            }
            // The client has lost the lock with that token.
            false => CallResponse::Failed(Failure::NoRequest),
        };
        if let Some(withdrawable) = self.withdrawable.get_mut(&waiter.call_id.0) {
            withdrawable.1 = Some(request);
        }
        self.answer(waiter.call_id, answer);
    }

    /// Begins another beat for a call that has waited and is about to be answered. Its open connection shows that
    /// the client is alive.
    fn renew(&mut self, session: u128, now: Time) {
        let Some(relay) = self.relays.get_mut(&session) else { return };
        if relay.begun(relay.beat()).is_some_and(|begun| begun + GRANT > now) {
            return;
        }
        let (caller, sent) = (relay.caller, Sent { at: now.0 / 1_000, clock: None });
        let beat = relay.call(caller, sent, now);
        self.send_beat(session, beat, now);
    }

    fn answer_pending(&mut self, session: u128, now: Time) {
        let Some(relay) = self.relays.get_mut(&session) else { return };
        if relay.pending.is_empty() {
            return;
        }
        self.answer_openings(session);
        let Some(relay) = self.relays.get_mut(&session) else { return };
        if relay.has_lapsed() {
            relay.doomed = true;
            return self.fail_calls(session, &Failure::NoSession);
        }
        let alive = relay.kept_alive();
        let kept = relay.pending.iter().filter(|it| !it.opens && it.beat <= alive);
        let Some(since) = kept.map(|pending| pending.beat).max() else { return };
        if relay.is_lease() && !relay.forced().is_empty() {
            relay.doomed = true;
            return self.fail_calls(session, &Failure::NoSession);
        }
        self.adopt_listed(session, since, now);
        let terms = self.terms;
        let Some(relay) = self.relays.get_mut(&session) else { return };
        let good = relay.held_up_to(alive, since);
        let ready = relay.pending.extract_if(.., |it| !it.opens && it.beat <= good);
        for pending in ready.collect::<Vec<_>>() {
            let Some(relay) = self.relays.get(&session) else { return };
            let answer = match relay.is_lease() {
                true => {
                    let ttl_ms = client_ttl(relay.ttl, terms).0 / 1_000_000;
                    CallResponse::LeaseInfo(LeaseInfo {
                        ttl_ms,
                        valid_ms: ttl_ms,
                        requests: Vec::new(),
                    })
                }
                false => relay.alive(&pending, good, terms),
            };
            self.answer(pending.call_id, answer);
        }
    }

    /// Lets further voters count for a lease, at which it was not known to be continuous.
    fn confirm_voters(&mut self, session: u128, now: Time) {
        let Some(relay) = self.relays.get_mut(&session).filter(|relay| relay.is_lease()) else {
            return;
        };
        let needs: Vec<u64> = relay.candidate.confirmable_with().collect();
        let Some(last) = needs.iter().max() else { return };
        let alive = relay.kept_alive_before();
        let beat = if now < relay.young_until { u64::MAX } else { relay.confirms_up_to(alive) };
        if needs.iter().any(|needed| *needed <= beat) {
            return self.drive(session, now, |relay, out| relay.candidate.confirm(beat, out));
        }
        // A voter that has been away does not count until a later beat is confirmed. The relay does not wait for the next
        // call of the client, because another voter may stop before.
        if relay.beat() < *last && relay.called + Span(relay.ttl.0 / 2) > now {
            let beat = relay.begin(Sent { at: now.0 / 1_000, clock: None }, now);
            self.send_beat(session, beat, now);
        }
    }

    /// Answers the call that opens the session, once a quorum knows it.
    fn answer_openings(&mut self, session: u128) {
        let Some(relay) = self.relays.get_mut(&session).filter(|relay| relay.is_open()) else {
            return;
        };
        let echoed = relay.echoed();
        let opened = relay.pending.extract_if(.., |it| it.opens && it.beat <= echoed);
        for pending in opened.collect::<Vec<_>>() {
            self.answer_opened(session, pending);
        }
    }

    fn answer_opened(&mut self, session: u128, pending: PendingCall) {
        let Some(relay) = self.relays.get(&session) else { return };
        let answer = match &relay.origin {
            Origin::Lease(_) => {
                let ttl_ms = client_ttl(relay.ttl, self.terms).0 / 1_000_000;
                CallResponse::LeaseInfo(LeaseInfo {
                    ttl_ms,
                    valid_ms: ttl_ms,
                    requests: Vec::new(),
                })
            }
            Origin::Key(key) => {
                CallResponse::Opened { session: *key, ttl_ms: (relay.ttl.0 / 1_000_000) as u32 }
            }
        };
        self.answer(pending.call_id, answer);
    }

    fn fail_calls(&mut self, session: u128, failure: &Failure) {
        let Some(relay) = self.relays.get_mut(&session) else { return };
        for call_id in relay.take_calls() {
            self.answer(call_id, CallResponse::Failed(failure.clone()));
        }
    }

    /// Fails calls that have timed out.
    pub(super) fn expire_calls(&mut self, session: u128, now: Time) {
        let Some(relay) = self.relays.get_mut(&session) else { return };
        let late = relay.pending.extract_if(.., |pending| pending.until <= now);
        let late: Vec<_> = late.map(|pending| pending.call_id).collect();
        let opening = relay.echoed() == 0 && !relay.has_calls();
        late.into_iter()
            .for_each(|call_id| self.answer(call_id, CallResponse::Failed(Failure::NoQuorum)));
        if opening {
            return drop(self.forget_relay(session));
        }
        let Some(relay) = self.relays.get(&session) else { return };
        for request in relay.interests.keys().copied().collect::<Vec<_>>() {
            let is_late = |it: &Waiter| it.until.is_some_and(|until| until <= now);
            let Some(relay) = self.relays.get(&session) else { return };
            let Some(interest) = relay.interests.get(&request) else { continue };
            if interest.waiting.iter().any(|it| it.mode == WaitMode::Enqueued && is_late(it)) {
                self.answer_enqueued(session, request, now);
            }
            self.refuse_waiters(session, request, now, is_late);
        }
    }

    /// Sets an alarm for the end of a lock's validity. The lock is known to be held in beat `good`, which may have
    /// begun a while ago.
    pub(super) fn watch_validity(&mut self, session: u128, good: u64, now: Time) {
        let Some(relay) = self.relays.get(&session) else { return };
        let validity = self.terms.validity(relay.ttl);
        let until = relay.begun(good).map_or(now, |begun| begun + validity);
        self.alarms.insert((until, Alarm::Validity(session)));
    }

    /// Checks validity before a relay handles any input, if that is due. A node that was paused finds messages and alarms at
    /// the same time, and no token may be recorded for a client whose validity is over.
    fn check_due_validity(&mut self, session: u128, now: Time) {
        let due = self.alarms.iter().take_while(|(time, _)| *time <= now);
        let is_its = |(_, alarm): &&(Time, Alarm)| *alarm == Alarm::Validity(session);
        let due: Vec<(Time, Alarm)> = due.filter(is_its).copied().collect();
        for alarm in &due {
            self.alarms.remove(alarm);
        }
        if !due.is_empty() {
            self.check_validity(session, now);
        }
    }

    /// Checks locks whose validity may have expired. Another client may soon hold such a lock. From then on this relay must
    /// not request votes as if its client were inside.
    pub(super) fn check_validity(&mut self, session: u128, now: Time) {
        let Some(relay) = self.relays.get(&session) else { return };
        let validity = self.terms.validity(relay.ttl);
        let (mut lapsed, mut next) = (Vec::new(), None);
        for (request, interest) in relay.interests.iter().filter(|(_, it)| it.token.is_some()) {
            let good = relay.held(*request).and_then(|(_, beat)| relay.begun(beat));
            match good.map(|good| good + validity).filter(|until| *until > now) {
                Some(until) => next = next.into_iter().chain([until]).min(),
                None => lapsed.push((*request, interest.attempt)),
            }
        }
        for (request, attempt) in lapsed {
            self.metrics.count_loss("no-quorum");
            let Some(relay) = self.relays.get_mut(&session) else { return };
            let lease = relay.is_lease();
            let Some(interest) = relay.interests.get_mut(&request) else { continue };
            let (lock, token) = (interest.name.clone(), interest.token.take());
            if lease && !interest.has_calls() {
                // The client of a lease could not learn that the lock was granted anew. If voters still have the record,
                // the next keep-alive continues the request.
                relay.take(request);
                relay.candidate.forget(request);
            } else {
                self.raise(session, request, attempt, now);
            }
            let client = self.shown_client(session);
            tracing::info!(%lock, token, %client, "grant lost: no quorum has confirmed it for its ttl");
        }
        self.alarms.extend(next.map(|next| (next, Alarm::Validity(session))));
    }

    /// Asks all voters, because the request has waited for the preferred voters, or the lock has been held for
    /// longer than the delay.
    pub(super) fn widen(&mut self, request: RequestId, now: Time) {
        self.drive(request.session, now, |relay, out| {
            let interest = relay.interests.get(&request);
            let adopted = |it: &Interest| it.attempt > 1;
            if interest
                .is_some_and(|it| it.token.is_some() || it.queue_position == 0 || adopted(it))
            {
                // The first call marks the request as old; only the second one extends it to all voters.
                relay.candidate.widen(request, out);
                relay.candidate.widen(request, out);
            }
        });
    }

    /// Stops a relay that has had no call for one ttl. It releases nothing. The relay continues while a call waits here and
    /// another node keeps the session alive.
    pub(super) fn expire_relay(&mut self, session: u128, now: Time) {
        let Some(relay) = self.relays.get(&session) else { return };
        let end = relay.called + relay.ttl + expiry_margin(relay.ttl);
        let lapses =
            self.voter.session(session).map(|known| known.lapses() + expiry_margin(relay.ttl));
        let end = if relay.has_calls() { end.max(lapses.unwrap_or(end)) } else { end };
        if end > now {
            self.alarms.insert((end, Alarm::Relay(session)));
            return;
        }
        let failure = relay.origin.ended();
        self.drop_relay(session, &failure);
    }

    /// Drops a relay and fails its calls.
    pub(super) fn drop_relay(&mut self, session: u128, failure: &Failure) {
        self.fail_calls(session, failure);
        self.forget_relay(session);
    }

    fn forget_relay(&mut self, session: u128) -> Option<Relay> {
        let relay = self.relays.remove(&session)?;
        self.candidates.remove(&relay.id);
        Some(relay)
    }

    /// Records texts and sends them to all nodes.
    pub(super) fn describe(&mut self, description: Description, now: Time) {
        for peer in self.peers_that_are_up() {
            self.send(peer, PeerMessage::Describe(Box::new(description.clone())));
        }
        self.on_description(description, now);
    }

    pub(super) fn forget_texts(&mut self, request: RequestId) {
        for peer in self.peers_that_are_up() {
            self.send(peer, PeerMessage::Forget(request));
        }
        self.texts.forget(request);
    }
}
