//! Relays for sessions that another node has relayed before: what the session has is learned from the voters.
//!
//! A relay that resumes begins a beat, waits for the lists of a quorum, and goes on with the requests in them: with those
//! that are recorded as held at once, with those that wait when the client asks for the lock again. The attempt is raised,
//! so that the votes change over; lock, place in the queue and token stay the same.

use quorate_algorithms::mutex::leased_quorum::CandidateId;
use quorate_core::{Span, Time};
use quorate_protocol::{Answer, Failure};

use super::queries::Then;
use super::relay::{Interest, Origin, PendingCall, Sent};
use super::sessions::{SessionCall, WIDEN};
use super::{Alarm, By, NodeCore};
use crate::peer::{Description, PeerMessage, SessionText};

/// A session that voters are asked for.
#[derive(Debug)]
pub(super) struct Lookup {
    pub(super) origin: Origin,
    calls: Vec<(By, SessionCall, Sent)>,
}

impl NodeCore {
    /// A call for a session that has no relay here.
    pub(super) fn resume(
        &mut self,
        by: By,
        origin: Origin,
        call: SessionCall,
        sent: Sent,
        now: Time,
    ) {
        let session = origin.id();
        if self.leaving.is_some() {
            return self.answer(by, Answer::Failed(Failure::Leaving));
        }
        if self.relays.len() + self.direct.len() >= self.settings.sessions_most {
            let why = "this node has as many sessions as it may";
            return self.answer(by, Answer::Failed(Failure::TooMuch(why.to_owned())));
        }
        let known = self.voter.session(session).filter(|it| it.lapses() > now).map(|it| it.ttl());
        // A node that has restarted knows the session from its vote file, and not the numbers that its client uses.
        let described = self.texts.session(session).is_some();
        if let Some(ttl) = known.filter(|_| described && self.voter.is_voting()) {
            self.start_resuming(origin, ttl, by.0, now);
            let call = PendingCall::Deferred(Box::new(call));
            return self.begin_call(session, by, sent, call, now);
        }
        let lookup = self.lookups.entry(session);
        let lookup = lookup.or_insert_with(|| Lookup { origin, calls: Vec::new() });
        lookup.calls.push((by, call, sent));
        if lookup.calls.len() == 1 {
            self.ask_session(by, session, Then::Lookup(session), now);
        }
    }

    fn start_resuming(
        &mut self,
        origin: Origin,
        ttl: Span,
        connection: super::ConnectionId,
        now: Time,
    ) {
        let session = origin.id();
        if self.texts.session(session).is_none() {
            let (lease, owner) = match &origin {
                Origin::Key(_) => (0, String::new()),
                Origin::Lease(lease) => (lease.id, lease.owner.clone()),
            };
            let (who, node) = (owner.clone(), self.settings.id.index() as u32);
            let place = String::new();
            let about = SessionText { who, place, node, relayed: true, lease, owner };
            self.describe(Description { session, about, request: None }, now);
        }
        self.start_relay(origin, ttl, connection, now);
        self.owns(connection, session);
        if let Some(relay) = self.relays.get_mut(&session) {
            relay.resuming = true;
        }
    }

    /// Voters have told of a session: its time-to-live, or that none of a quorum knows it. `Err` if too few have answered.
    pub(super) fn looked_up(&mut self, session: u128, found: Result<Option<Span>, ()>, now: Time) {
        let Some(Lookup { origin, calls }) = self.lookups.remove(&session) else { return };
        let failure = match found {
            Ok(Some(ttl)) => {
                if !self.relays.contains_key(&session)
                    && let Some(((connection, _), ..)) = calls.first()
                {
                    self.start_resuming(origin, ttl, *connection, now);
                }
                for (by, call, sent) in calls {
                    let call = PendingCall::Deferred(Box::new(call));
                    self.begin_call(session, by, sent, call, now);
                }
                return;
            }
            Ok(None) => Failure::NoSession,
            Err(()) => Failure::NoQuorum,
        };
        for (by, ..) in calls {
            self.answer(by, Answer::Failed(failure.clone()));
        }
    }

    /// A quorum has sent its lists: the relay goes on with what the session holds.
    pub(super) fn adopt_held(&mut self, session: u128, since: u64, now: Time) {
        let Some(relay) = self.relays.get_mut(&session) else { return };
        relay.resuming = false;
        for name in relay.listed_held(since) {
            let Some(relay) = self.relays.get_mut(&session) else { return };
            let Some((request, attempt, Some(token))) = relay.listed(&name, since) else {
                continue;
            };
            let known = relay.interests.get(&name);
            let heard = relay.heard_since(since);
            if known.is_some_and(|it| !it.is_waiting())
                || !relay.may_be_told(request, token, &heard, &self.electorate)
            {
                continue;
            }
            let before = relay.interests.remove(&name);
            relay.client.adopt(name.clone(), request, attempt.saturating_add(1), None, now);
            relay.fading.remove(&request);
            let texts = self.texts.request(request).map(|(text, _)| text.clone());
            let (why, known, revision) = texts.map_or_else(Default::default, |text| {
                (text.why, text.numbers, Some(text.revision).filter(|known| *known > 0))
            });
            let mut interest = Interest::new(request, why, now);
            interest.taken = relay.beat();
            (interest.recorded, interest.revision) = (Some(token), revision);
            relay.numbers.extend(known.iter().map(|number| (*number, name.clone())));
            interest.holding = known;
            let other = before.as_ref().map(|it| it.request).filter(|other| *other != request);
            interest.waiting = before.map_or_else(Vec::new, |before| before.waiting);
            relay.interests.insert(name, interest);
            if let Some(other) = other {
                // Two nodes were asked at once. The session holds the lock with the other one's request.
                relay.note_end(other);
                relay.client.release(other);
                self.drive(session, now, |relay, out| relay.candidate.release(other, out));
                self.forget_texts(other);
            }
            self.alarms.insert((now + WIDEN, Alarm::Widen(request)));
            self.pursue(session, request, now);
        }
    }

    /// Runs calls that had to wait until the relay knew what its session has.
    pub(super) fn run_deferred(&mut self, session: u128, now: Time) {
        let Some(relay) = self.relays.get_mut(&session) else { return };
        let echoed = relay.echoed();
        if relay.resuming {
            return;
        }
        let deferred = relay.pending.extract_if(.., |pending| {
            matches!(pending.call, PendingCall::Deferred(_)) && pending.beat <= echoed
        });
        let deferred: Vec<_> = deferred.collect();
        for pending in deferred {
            let PendingCall::Deferred(call) = pending.call.clone() else { continue };
            match *call {
                SessionCall::Acquire(wanted) => {
                    let call = (pending.beat, pending.sent);
                    self.acquire(pending.by, session, wanted, call, now);
                }
                SessionCall::Release(number) => {
                    self.adopt_held(session, pending.beat, now);
                    self.release(pending.by, session, number, now);
                }
                _ => {
                    let Some(relay) = self.relays.get_mut(&session) else { return };
                    let call = PendingCall::KeepAlive;
                    relay.pending.push(super::relay::Pending { call, ..pending });
                }
            }
        }
    }

    /// A lease was kept alive here: relays of the same lease at other nodes, with requests that wait, learn that.
    pub(super) fn tell_other_relays(&mut self, session: u128, since: u64) {
        let Some(relay) = self.relays.get(&session) else { return };
        let (others, avoided) = (relay.candidates_listed(since), self.avoided());
        for candidate in others {
            let node = super::voter_host::node_of(candidate);
            let known = node != self.settings.id && node.index() < self.settings.addresses.len();
            if known && !avoided.contains(node) {
                self.send(node, PeerMessage::Called(session, candidate));
            }
        }
    }

    /// The client of a lease has called another node: the relay here begins a beat, which the call has caused.
    pub(super) fn called_elsewhere(
        &mut self,
        from: quorate_core::ProcessId,
        session: u128,
        candidate: CandidateId,
        now: Time,
    ) {
        let Some(relay) = self.relays.get_mut(&session).filter(|relay| relay.id == candidate)
        else {
            return self.send(from, PeerMessage::NoRelay(session));
        };
        let connection = relay.connection;
        let beat = relay.call(connection, Sent { at: now.0 / 1_000, clock: None }, now);
        self.tell_beat(session, beat, now);
    }

    /// Goes on with everything that voters list for a lease.
    pub(super) fn adopt_all(&mut self, session: u128, now: Time) {
        let Some(relay) = self.relays.get(&session) else { return };
        let since = relay.echoed();
        self.adopt_held(session, since, now);
    }
}
