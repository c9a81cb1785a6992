//! Relays at work: effects of candidates, what their clients learn, and answers to calls that waited for it.

use quorate_algorithms::mutex::leased_quorum::{
    CandidateEffect, CandidateEffects, ClientEvent, Report, RequestId, Standing, ToVoter,
};
use quorate_core::Time;
use quorate_protocol::{Answer, Failure, Life, Name, Say};

use super::relay::{Interest, Origin, PendingCall, Relay, WaitMode, Waiter};
use super::sessions::{WIDEN, expiry_margin};
use super::{Alarm, ConnectionId, NodeCore};
use crate::lease::told_ttl;
use crate::measures::seconds;
use crate::peer::{Description, PeerMessage};

/// Create revisions that clients are told before there is a token are greater than all tokens.
const QUEUED: u64 = 1 << 62;

/// Maximum number of locks whose last release is remembered, to measure hand-off.
const RELEASED_MOST: usize = 1_024;

impl NodeCore {
    /// Lets a relay's candidate handle something, and carries out its effects.
    pub(super) fn drive(
        &mut self,
        session: u128,
        now: Time,
        input: impl FnOnce(&mut Relay, &mut CandidateEffects<Name>),
    ) {
        let Some(relay) = self.relays.get_mut(&session) else { return };
        let mut out = Vec::new();
        input(relay, &mut out);
        let candidate = relay.id;
        let mut events = Vec::new();
        for effect in out {
            match effect {
                CandidateEffect::Send(voter, message) => {
                    if self.may_send(session, &message, now, &mut events) {
                        self.ask_voter(candidate, voter, message);
                    }
                }
                CandidateEffect::Report(report) => {
                    self.on_report(session, report, now, &mut events)
                }
                CandidateEffect::Refused(ttl) => {
                    tracing::debug!(ttl = ttl.0, "a voter knows the session with another ttl");
                }
            }
        }
        for event in events {
            self.on_event(session, event, now);
        }
        self.answer_ready(session, now);
    }

    /// Tokens that one attempt records only grow: of those on record, the greatest is the one that the client may have been
    /// told. For a smaller one, another attempt begins.
    fn may_send(
        &mut self,
        session: u128,
        message: &ToVoter<Name>,
        now: Time,
        events: &mut Vec<ClientEvent>,
    ) -> bool {
        let ToVoter::Raise { lock, claim, token, enters: true, .. } = message else { return true };
        let Some(relay) = self.relays.get_mut(&session) else { return true };
        let interest = relay.interests.get_mut(lock).filter(|it| it.request == claim.request);
        let Some(interest) = interest else { return true };
        let (attempt, greatest) = interest.raising;
        if attempt != claim.attempt || greatest <= *token || interest.token.is_some() {
            interest.raising = (claim.attempt, *token);
            return true;
        }
        let wanted = relay.client.wanted(claim.request);
        if wanted.is_some_and(|wanted| wanted.attempt == claim.attempt) {
            let attempt = claim.attempt.saturating_add(1);
            relay.client.adopt(lock.clone(), claim.request, attempt, None, now);
            events.push(ClientEvent::Again(claim.request));
        }
        false
    }

    fn on_report(
        &mut self,
        session: u128,
        report: Report,
        now: Time,
        events: &mut Vec<ClientEvent>,
    ) {
        let Some(relay) = self.relays.get_mut(&session) else { return };
        if let Standing::Stale(known) = report.standing {
            // Another relay goes on with the request. Only a call of the client takes it back, once per beat.
            let (calls, called, beat) =
                (relay.has_calls(), !relay.pending.is_empty(), relay.beat());
            if !calls {
                tracing::debug!("another node relays for the session");
                return self.forget_relay(session);
            }
            let Some(name) = relay.name_of(report.request) else { return };
            let Some(interest) = relay.interests.get_mut(&name) else { return };
            if interest.raised >= beat || !(called || interest.has_calls()) {
                return;
            }
            (interest.raised, interest.since) = (beat, now);
            if let Some(token) = interest.token.take() {
                // The client may rely on what the other relay has answered last, or may have lost the lock there.
                interest.recorded = Some(token);
                let attempt = known.max(report.attempt).saturating_add(1);
                relay.client.adopt(name, report.request, attempt, None, now);
                return events.push(ClientEvent::Again(report.request));
            }
        }
        if let Some(relay) = self.relays.get_mut(&session) {
            relay.client.on_report(report, now, events);
        }
    }

    /// A call may take back what another relay has.
    pub(super) fn retry_stale(&mut self, session: u128, now: Time) {
        let Some(relay) = self.relays.get(&session) else { return };
        let stale = relay.candidate.reports();
        let stale = stale.filter(|report| matches!(report.standing, Standing::Stale(_)));
        let (stale, mut events): (Vec<Report>, _) = (stale.collect(), Vec::new());
        stale.into_iter().for_each(|report| self.on_report(session, report, now, &mut events));
        for event in events {
            self.on_event(session, event, now);
        }
    }

    pub(super) fn pursue(&mut self, session: u128, request: RequestId, now: Time) {
        self.drive(session, now, |relay, out| {
            let Some(wanted) = relay.client.wanted(request) else { return };
            let (beat, known) = (relay.beat(), relay.candidate.report(request));
            let (fresh, mut held) = (known.is_none_or(|it| it.attempt < wanted.attempt), false);
            if fresh && let Some(interest) = relay.interests.get_mut(&wanted.lock) {
                (interest.taken, held) = (beat, !interest.is_waiting());
            }
            relay.candidate.pursue(wanted, out);
            if held {
                // Any voter may have a vote with which it is held.
                relay.candidate.widen(request, out);
                relay.candidate.widen(request, out);
            }
        });
    }

    fn on_event(&mut self, session: u128, event: ClientEvent, now: Time) {
        match event {
            ClientEvent::Entered { request, token } => {
                self.on_entered(session, request, token, now);
            }
            ClientEvent::Lost { request, forced, .. } => {
                self.on_lost(session, request, forced, now);
            }
            ClientEvent::Gone(request) => self.on_gone(session, request, now),
            ClientEvent::Waiting(request, place) => self.on_waiting(session, request, place, now),
            ClientEvent::Again(request) => self.pursue(session, request, now),
        }
    }

    fn on_entered(&mut self, session: u128, request: RequestId, token: u64, now: Time) {
        let Some(relay) = self.relays.get_mut(&session) else { return };
        let Some(name) = relay.name_of(request) else { return };
        let wanted = relay.client.wanted(request).filter(|wanted| wanted.attempt > 1);
        if let Some(wanted) = wanted {
            // The client may rely on what another relay has answered last.
            relay.client.adopt(name.clone(), request, wanted.attempt, Some(token), now);
        }
        let next = relay.client.next_wake();
        let Some(interest) = relay.interests.get_mut(&name) else { return };
        interest.token = Some(token);
        let adopted = interest.recorded.take().is_some();
        let asked = std::mem::replace(&mut interest.since, now);
        for waiter in &interest.waiting {
            if !interest.holding.contains(&waiter.number) {
                interest.holding.push(waiter.number);
            }
        }
        let asked_by = interest.waiting.first().map(|waiter| waiter.number);
        self.alarms.extend(next.map(|next| (next, Alarm::Validity(session))));
        self.alarms.insert((now + WIDEN, Alarm::Widen(request)));
        if !adopted {
            tracing::debug!(lock = %name, token, at = now.0, "granted");
            if let Some(spans) = &mut self.spans {
                spans.request(&name, request, asked_by, (asked, now), Some(token));
            }
            self.measures.granted.inc();
            self.measures.wait.observe(seconds(now.since(asked)));
            if let Some(freed) = self.released.remove(&name).filter(|freed| *freed >= asked) {
                self.measures.hand_off.observe(seconds(now.since(freed)));
            }
        }
        self.describe_request(session, &name, now);
        self.pursue(session, request, now);
    }

    /// A lock is lost. By force: voters keep its votes until the client has confirmed that it stopped, or cannot rely on them
    /// any longer. Otherwise the client has stopped by its own clock.
    fn on_lost(&mut self, session: u128, request: RequestId, forced: bool, now: Time) {
        let Some(relay) = self.relays.get_mut(&session) else { return };
        let Some(name) = relay.name_of(request) else { return };
        let Some(interest) = relay.interests.remove(&name) else { return };
        relay.note_end(request);
        self.measures.loses(if forced { "expelled" } else { "no-quorum" });
        self.measures.hold.observe(seconds(now.since(interest.since)));
        self.tell_lost(session, &interest, forced, now);
        if forced {
            self.forget_texts(request);
        } else {
            // Its client may have gone on through another node, which needs the texts.
            self.drive(session, now, |relay, out| relay.candidate.release(request, out));
        }
        self.ask_anew(session, name, interest.waiting, now);
    }

    fn tell_lost(&mut self, session: u128, interest: &Interest, forced: bool, now: Time) {
        let Some(relay) = self.relays.get_mut(&session) else { return };
        let connection = relay.connection;
        for number in &interest.holding {
            if forced {
                let token = interest.token.or(interest.recorded);
                relay.revoked.insert(*number, (interest.request, token));
            } else {
                relay.numbers.remove(number);
            }
        }
        if let Origin::Key(key) = relay.origin {
            for number in &interest.holding {
                let (request, expelled) = (*number, forced);
                self.say(connection, Say::Lost { session: key, request, expelled });
            }
        } else if interest.waiting.is_empty()
            && !interest.is_waiting()
            && (forced || relay.called + relay.ttl > now && !relay.is_elsewhere(interest.request))
        {
            // Clients of etcd's API learn of a loss only by the end of their lease. One that has not called for so long uses
            // another node, which may hold the lock.
            relay.doomed = true;
        }
    }

    /// Calls that wait for a lock whose earlier request is over make a new one.
    pub(super) fn ask_anew(&mut self, session: u128, name: Name, waiting: Vec<Waiter>, now: Time) {
        let Some(relay) = self.relays.get_mut(&session) else { return };
        if waiting.is_empty() {
            return;
        }
        let request = relay.client.acquire(name.clone(), self.voter.clock() + 1);
        let mut interest = Interest::new(request, String::new(), now);
        relay.numbers.extend(waiting.iter().map(|waiter| (waiter.number, name.clone())));
        // A call for a lock that was held waits as long as it takes now that it is not.
        let held = |waiter: Waiter| match waiter.mode {
            WaitMode::Granted => Waiter { until: None, ..waiter },
            _ => waiter,
        };
        interest.waiting = waiting.into_iter().map(held).collect();
        relay.interests.insert(name.clone(), interest);
        self.describe_request(session, &name, now);
        self.pursue(session, request, now);
    }

    /// A request that waited was ended by force.
    fn on_gone(&mut self, session: u128, request: RequestId, now: Time) {
        let Some(relay) = self.relays.get_mut(&session) else { return };
        let Some(name) = relay.name_of(request) else { return };
        let Some(interest) = relay.interests.remove(&name) else { return };
        relay.note_end_of(request, u64::MAX);
        let own = relay.client.presented().beat.incarnation == request.incarnation;
        if interest.recorded.is_some() || !own {
            // A voter that restarts does not know that the request has ended: it must not be asked again.
            relay.candidate.release(request, &mut Vec::new());
        }
        if interest.recorded.is_some() {
            self.tell_lost(session, &interest, true, now);
            return self.ask_anew(session, name, interest.waiting, now);
        }
        if !own {
            // The client has withdrawn a request through another node before it asked here.
            return self.ask_anew(session, name, interest.waiting, now);
        }
        relay.numbers.retain(|_, of| *of != name);
        for waiter in interest.waiting {
            self.answer(waiter.by, Answer::Failed(Failure::NoRequest));
        }
        self.drive(session, now, |relay, out| relay.candidate.release(request, out));
        self.forget_texts(request);
    }

    fn on_waiting(&mut self, session: u128, request: RequestId, place: u32, now: Time) {
        let Some(relay) = self.relays.get_mut(&session) else { return };
        let Some(name) = relay.name_of(request) else { return };
        let Some(interest) = relay.interests.get_mut(&name) else { return };
        let first = std::mem::replace(&mut interest.place, place) == 0;
        if place == 0 || interest.recorded.is_some() {
            return;
        }
        let refused = interest.waiting.extract_if(.., |it| it.mode == WaitMode::OnlyIfFree);
        let refused: Vec<Waiter> = refused.collect();
        let told: Vec<(ConnectionId, u64)> =
            interest.waiting.iter().map(|waiter| (waiter.by.0, waiter.number)).collect();
        if let Origin::Key(key) = relay.origin {
            for (connection, number) in told {
                let say = Say::Position { session: key, request: number, position: place };
                self.say(connection, say);
            }
        }
        refused.into_iter().for_each(|waiter| self.refuse(session, waiter, Failure::Busy));
        self.answer_enqueued(session, &name, now);
        self.drop_unwaited(session, &name, now);
        if first {
            self.drive(session, now, |relay, out| relay.candidate.announce(out));
        }
    }

    /// Calls that want to know only whether they have to wait.
    fn answer_enqueued(&mut self, session: u128, name: &Name, now: Time) {
        let Some(relay) = self.relays.get_mut(&session) else { return };
        let Some(interest) = relay.interests.get_mut(name) else { return };
        let request = interest.request;
        let hash = request.incarnation.wrapping_mul(31).wrapping_add(request.number);
        let revision = QUEUED | hash & (QUEUED - 1);
        let mut told = Vec::new();
        for waiter in interest.waiting.iter_mut().filter(|it| it.mode == WaitMode::Enqueued) {
            told.push(waiter.by);
            let nobody = (ConnectionId::NONE, 0);
            (waiter.mode, waiter.until, waiter.by) = (WaitMode::Granted, None, nobody);
            waiter.connected = false;
        }
        if told.is_empty() {
            return;
        }
        interest.revision = Some(revision);
        told.into_iter().for_each(|by| self.answer(by, Answer::Queued(revision)));
        self.describe_request(session, name, now);
    }

    fn refuse(&mut self, session: u128, waiter: Waiter, why: Failure) {
        if let Some(relay) = self.relays.get_mut(&session) {
            relay.numbers.remove(&waiter.number);
        }
        let label = match why {
            Failure::Busy => "busy",
            Failure::TimedOut => "timed-out",
            _ => "no-quorum",
        };
        self.measures.refuses(label);
        self.answer(waiter.by, Answer::Failed(why));
    }

    /// A request that no call waits for any longer is released, unless it holds the lock without a number that is known
    /// here: its client has got it through another node.
    pub(super) fn drop_unwaited(&mut self, session: u128, name: &Name, now: Time) {
        let interest = self.relays.get(&session).and_then(|relay| relay.interests.get(name));
        if interest.is_some_and(Interest::is_waiting) {
            self.drop_unwanted(session, name, now);
        }
    }

    /// A request that nobody waits for or holds any more is released.
    pub(super) fn drop_unwanted(&mut self, session: u128, name: &Name, now: Time) {
        let Some(relay) = self.relays.get(&session) else { return };
        let Some(interest) = relay.interests.get(name) else { return };
        if !interest.holding.is_empty() || !interest.waiting.is_empty() {
            return;
        }
        match relay.may_be_inside(interest, &self.electorate) {
            // Another relay may have told the client that it is inside.
            true => self.fade(session, name.clone(), now),
            false => self.end_interest(session, name, None, now),
        }
    }

    pub(super) fn note_release(&mut self, name: &Name, interest: &Interest, now: Time) {
        if let Some(token) = interest.token {
            tracing::debug!(lock = %name, token, at = now.0, "released");
            self.measures.hold.observe(seconds(now.since(interest.since)));
            if self.released.len() >= RELEASED_MOST {
                self.released.clear();
            }
            self.released.insert(name.clone(), now);
        } else if let Some(spans) = &mut self.spans {
            spans.request(name, interest.request, None, (interest.since, now), None);
        }
    }

    /// Answers everything that waited for what is known now.
    pub(super) fn answer_ready(&mut self, session: u128, now: Time) {
        let Some(relay) = self.relays.get(&session) else { return };
        if relay.resuming {
            let first = relay.pending.iter().map(|pending| pending.beat).min().unwrap_or(1);
            let listed = self.electorate.is_quorum(&relay.candidate.lists());
            if !listed || relay.echoed() < first {
                return;
            }
            self.adopt_held(session, first, now);
        }
        self.run_deferred(session, now);
        self.check_recorded(session, now);
        self.answer_waiters(session);
        self.answer_pending(session, now);
    }

    /// Requests that were held through another node, and of whose votes too few are left.
    fn check_recorded(&mut self, session: u128, now: Time) {
        let Some(relay) = self.relays.get(&session) else { return };
        let lost = |it: &Interest| relay.is_lost(it, &self.electorate, now);
        let lost = relay.interests.iter().filter(|(_, it)| lost(it));
        for name in lost.map(|(name, _)| name.clone()).collect::<Vec<_>>() {
            self.fade(session, name, now);
        }
    }

    /// Locks that the client cannot be told of, because its numbers for them are not known. The answer to its call does not
    /// list them, so it has lost them.
    fn drop_unnamed(&mut self, session: u128, now: Time) {
        let Some(relay) = self.relays.get(&session) else { return };
        let unnamed =
            |it: &Interest| !it.is_waiting() && it.holding.is_empty() && it.waiting.is_empty();
        let unnamed = relay.interests.iter().filter(|(_, it)| unnamed(it));
        for name in unnamed.map(|(name, _)| name.clone()).collect::<Vec<_>>() {
            self.fade(session, name, now);
        }
    }

    /// A lock is lost, although the client may rely on votes that are not known here. It is not told that it may any longer,
    /// and the votes are released when it cannot.
    fn fade(&mut self, session: u128, name: Name, now: Time) {
        let Some(relay) = self.relays.get_mut(&session) else { return };
        let Some(interest) = relay.interests.remove(&name) else { return };
        let (request, until) = (interest.request, now + relay.ttl);
        relay.note_end(request);
        relay.client.release(request);
        relay.fading.insert(request, (name.clone(), until));
        self.alarms.insert((until, Alarm::Validity(session)));
        self.measures.loses("no-quorum");
        self.tell_lost(session, &interest, false, now);
        self.ask_anew(session, name, interest.waiting, now);
    }

    /// Calls for locks that are known to be held in the beat of the call or a later one.
    fn answer_waiters(&mut self, session: u128) {
        let terms = self.settings.terms;
        let Some(relay) = self.relays.get_mut(&session) else { return };
        let held = relay.interests.iter().filter(|(_, it)| !it.waiting.is_empty());
        let held = held.filter_map(|(name, it)| Some((name.clone(), it.token?, relay.good(it))));
        let held: Vec<(Name, u64, u64)> = held.collect();
        for (name, token, good) in held {
            let Some(relay) = self.relays.get_mut(&session) else { return };
            let Some(interest) = relay.interests.get_mut(&name) else { continue };
            let ready: Vec<Waiter> =
                interest.waiting.extract_if(.., |waiter| waiter.beat <= good).collect();
            for waiter in ready {
                let Some(relay) = self.relays.get(&session) else { return };
                let reliance = relay.reliance(good, waiter.sent, terms);
                self.answer(waiter.by, Answer::Granted { token, reliance });
            }
        }
    }

    fn answer_pending(&mut self, session: u128, now: Time) {
        let Some(relay) = self.relays.get(&session) else { return };
        if relay.pending.is_empty() {
            return;
        }
        let echoed = relay.echoed();
        let due = relay.pending.iter().filter(|pending| pending.beat <= echoed);
        let keeps = |call: &PendingCall| matches!(call, PendingCall::KeepAlive);
        let kept = due.filter(|pending| keeps(&pending.call)).map(|pending| pending.beat).max();
        let leased = matches!(relay.origin, Origin::Lease(_));
        if let Some(since) = kept {
            // The client may have used another node since. What is answered is good for everything that it holds.
            self.adopt_held(session, since, now);
            match leased {
                true => self.tell_other_relays(session, since),
                false => self.drop_unnamed(session, now),
            }
        }
        let terms = self.settings.terms;
        let Some(relay) = self.relays.get_mut(&session) else { return };
        let good = relay.all_good();
        let ready = relay.pending.extract_if(.., |pending| match pending.call {
            PendingCall::Open => pending.beat <= echoed,
            PendingCall::KeepAlive => pending.beat <= good,
            PendingCall::Deferred(_) => false,
        });
        let ready: Vec<_> = ready.collect();
        for pending in ready {
            let Some(relay) = self.relays.get(&session) else { return };
            let answer = match (&relay.origin, &pending.call) {
                (Origin::Lease(_), _) => {
                    let ttl_ms = told_ttl(relay.ttl, terms).0 / 1_000_000;
                    Answer::Life(Life { ttl_ms, relied_ms: ttl_ms, requests: Vec::new() })
                }
                (Origin::Key(key), PendingCall::Open) => {
                    Answer::Opened { session: *key, ttl_ms: (relay.ttl.0 / 1_000_000) as u32 }
                }
                (Origin::Key(_), _) => relay.alive(good, pending.sent, terms),
            };
            self.answer(pending.by, answer);
        }
    }

    /// Calls may have waited long enough.
    pub(super) fn expire_calls(&mut self, session: u128, now: Time) {
        let Some(relay) = self.relays.get_mut(&session) else { return };
        let late = relay.pending.extract_if(.., |pending| pending.until <= now);
        let late: Vec<_> = late.map(|pending| pending.by).collect();
        let resuming = relay.resuming && relay.pending.is_empty();
        let opening = relay.echoed() == 0 && relay.pending.is_empty();
        late.into_iter().for_each(|by| self.answer(by, Answer::Failed(Failure::NoQuorum)));
        if resuming || opening {
            return self.forget_relay(session);
        }
        let Some(relay) = self.relays.get(&session) else { return };
        let names: Vec<Name> = relay.interests.keys().cloned().collect();
        for name in names {
            let Some(relay) = self.relays.get_mut(&session) else { return };
            let Some(interest) = relay.interests.get_mut(&name) else { continue };
            let is_late = |waiter: &mut Waiter| waiter.until.is_some_and(|until| until <= now);
            if interest.waiting.iter_mut().any(|it| it.mode == WaitMode::Enqueued && is_late(it)) {
                self.answer_enqueued(session, &name, now);
            }
            let Some(relay) = self.relays.get_mut(&session) else { return };
            let Some(interest) = relay.interests.get_mut(&name) else { continue };
            let late: Vec<Waiter> = interest.waiting.extract_if(.., is_late).collect();
            let held = interest.token.is_some();
            for waiter in late {
                match (held, waiter.mode) {
                    (true, _) => self.answer(waiter.by, Answer::Failed(Failure::NoQuorum)),
                    (_, WaitMode::OnlyIfFree) => self.refuse(session, waiter, Failure::Busy),
                    _ => self.refuse(session, waiter, Failure::TimedOut),
                }
            }
            self.drop_unwaited(session, &name, now);
        }
    }

    pub(super) fn check_validity(&mut self, session: u128, now: Time) {
        self.release_faded(session, now);
        let Some(relay) = self.relays.get_mut(&session) else { return };
        let mut events = Vec::new();
        relay.client.wake(now, &mut events);
        for event in events {
            self.on_event(session, event, now);
        }
        let next = self.relays.get(&session).and_then(|relay| relay.client.next_wake());
        self.alarms.extend(next.map(|next| (next, Alarm::Validity(session))));
    }

    /// Releases requests that no client can rely on any longer.
    fn release_faded(&mut self, session: u128, now: Time) {
        let Some(relay) = self.relays.get_mut(&session) else { return };
        let faded = relay.fading.extract_if(.., |_, (_, until)| *until <= now);
        for (request, _) in faded.collect::<Vec<_>>() {
            self.drive(session, now, |relay, out| relay.candidate.release(request, out));
            self.forget_texts(request);
        }
    }

    /// A request has waited for the preferred voters, or is held for longer than a moment: all voters are asked.
    pub(super) fn widen(&mut self, request: RequestId, now: Time) {
        self.drive(request.session, now, |relay, out| {
            let interest = relay.interests.values().find(|it| it.request == request);
            if interest.is_some_and(|it| !it.is_waiting() || it.place == 0) {
                relay.candidate.widen(request, out);
                relay.candidate.widen(request, out);
            }
        });
    }

    /// A relay without a call for one ttl stops, and releases nothing. While a call waits here and another node keeps the
    /// session alive, it goes on.
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
        let held = relay.interests.values().filter(|it| it.token.is_some()).count();
        (0..held).for_each(|_| self.measures.loses("session-over"));
        self.drop_relay(session, &failure);
    }

    /// Drops a relay and fails its calls.
    pub(super) fn drop_relay(&mut self, session: u128, failure: &Failure) {
        let Some(relay) = self.forget(session) else { return };
        let waiters = relay.interests.values().flat_map(|interest| &interest.waiting);
        let waiters = waiters.filter(|waiter| waiter.connected).map(|waiter| waiter.by);
        let calls = waiters.chain(relay.pending.iter().map(|pending| pending.by));
        for by in calls.collect::<Vec<_>>() {
            self.answer(by, Answer::Failed(failure.clone()));
        }
        if let Origin::Key(key) = relay.origin {
            for number in relay.interests.values().flat_map(|interest| &interest.holding) {
                let (request, expelled) = (*number, false);
                self.say(relay.connection, Say::Lost { session: key, request, expelled });
            }
        }
    }

    /// Drops a relay whose session another node relays for.
    fn forget_relay(&mut self, session: u128) {
        drop(self.forget(session));
    }

    fn forget(&mut self, session: u128) -> Option<Relay> {
        let relay = self.relays.remove(&session)?;
        self.candidates.remove(&relay.id);
        Some(relay)
    }

    /// Tells all nodes of texts.
    pub(super) fn describe(&mut self, description: Description, now: Time) {
        for peer in self.peers_that_are_up() {
            self.send(peer, PeerMessage::Describe(Box::new(description.clone())));
        }
        self.hear_texts(description, now);
    }

    pub(super) fn forget_texts(&mut self, request: RequestId) {
        for peer in self.peers_that_are_up() {
            self.send(peer, PeerMessage::Forget(request));
        }
        self.texts.forget(request);
    }
}
