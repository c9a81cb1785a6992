//! Relays for sessions that are or were used through another node as well. The voters know the state of such sessions.
//!
//! A call for a session that has no relay here starts one. The relay takes over a request that the client names by raising
//! the attempt; the lock and the position in the queue stay the same, and the token stays or grows. A keep-alive continues
//! everything that the session holds, and the requests that wait through a node that has stopped.

use quorate_algorithms::mutex::leased_quorum::{CandidateId, RequestId};
use quorate_core::{ProcessId, Span, Time};
use quorate_protocol::{CallResponse, Failure, Name};

use super::queries::FollowUp;
use super::relay::{Interest, Origin, Sent};
use super::sessions::{SessionCall, WIDEN_DELAY};
use super::voter_host::node_of;
use super::{Alarm, CallId, CallerId, NodeCore};
use crate::peer::{Description, PeerMessage, SessionText};

/// A session that is being looked up at the voters.
#[derive(Debug)]
pub(super) struct Lookup {
    origin: Origin,
    calls: Vec<(CallId, SessionCall, Sent)>,
}

impl NodeCore {
    /// Handles a call for a session that has no relay here.
    pub(super) fn resume(
        &mut self,
        call_id: CallId,
        origin: Origin,
        call: SessionCall,
        sent: Sent,
        now: Time,
    ) {
        let session = origin.id();
        if self.leaving.is_some() {
            return self.answer(call_id, CallResponse::Failed(Failure::Leaving));
        }
        if self.relays.len() + self.direct.len() >= self.settings.sessions_most {
            let why = "this node has reached its limit of sessions";
            return self.answer(call_id, CallResponse::Failed(Failure::TooMuch(why.to_owned())));
        }
        let known = self.voter.session(session).filter(|it| it.lapses() > now).map(|it| it.ttl());
        if let Some(ttl) = known.filter(|_| self.voter.is_voting()) {
            self.restart_relay(origin.clone(), ttl, call_id.0, now);
            return self.relay_call(call_id, &origin, call, sent, now);
        }
        let lookup = self.lookups.entry(session);
        let lookup = lookup.or_insert_with(|| Lookup { origin, calls: Vec::new() });
        lookup.calls.push((call_id, call, sent));
        if lookup.calls.len() == 1 {
            self.look_up_session(call_id, session, FollowUp::Lookup(session), now);
        }
    }

    fn restart_relay(&mut self, origin: Origin, ttl: Span, caller: CallerId, now: Time) {
        let session = origin.id();
        if self.texts.session(session).is_none() {
            let (lease, owner) = match &origin {
                Origin::Key(_) => (0, String::new()),
                Origin::Lease(lease) => (lease.id, lease.owner.clone()),
            };
            let (client_name, node) = (owner.clone(), self.settings.id.index() as u32);
            let client_location = String::new();
            let session_text =
                SessionText { client_name, client_location, node, relayed: true, lease, owner };
            self.describe(Description { session, session_text, request: None }, now);
        }
        self.start_relay(origin, ttl, caller, now);
        self.set_owner(caller, session);
    }

    /// Handles the result of a lookup: the time-to-live of the session, or `None` if no voter of a quorum knows it. `Err`
    /// if fewer than a quorum have answered.
    pub(super) fn on_lookup(&mut self, session: u128, found: Result<Option<Span>, ()>, now: Time) {
        let Some(Lookup { origin, calls }) = self.lookups.remove(&session) else { return };
        let failure = match found {
            Ok(Some(ttl)) => {
                if !self.relays.contains_key(&session)
                    && let Some(((caller, _), ..)) = calls.first()
                {
                    self.restart_relay(origin.clone(), ttl, *caller, now);
                }
                for (call_id, call, sent) in calls {
                    self.relay_call(call_id, &origin, call, sent, now);
                }
                return;
            }
            Ok(None) => Failure::NoSession,
            Err(()) => Failure::NoQuorum,
        };
        for (call_id, ..) in calls {
            self.answer(call_id, CallResponse::Failed(failure.clone()));
        }
    }

    /// Takes over a request that another relay has pursued, as voters have listed it since a beat.
    fn adopt(&mut self, (request, name): (RequestId, Name), since: u64, now: Time) {
        let session = request.session;
        let Some(relay) = self.relays.get_mut(&session) else { return };
        if relay.interests.contains_key(&request) {
            return;
        }
        let text = self.texts.request(request).map(|(text, _)| text.clone());
        let (why, revision) = text.map_or_else(Default::default, |text| {
            (text.why, Some(text.revision).filter(|known| *known > 0))
        });
        let attempt = relay.attempt_listed(request).saturating_add(1);
        // An older list does not prove that the vote was still given when another voter recorded the token.
        let recorded = relay.recorded(request);
        let recorded = recorded.filter(|(_, beat)| beat.number >= since);
        let token = recorded.map(|(token, _)| token);
        let new = Interest::new(name, why, now);
        let adopted = Interest { attempt, revision, token, detached: true, ..new };
        relay.put(request, adopted);
        if let Some((_, beat)) = recorded {
            self.watch_validity(session, beat.number, now);
        }
        self.alarms.insert((now + WIDEN_DELAY, Alarm::Widen(request)));
        self.pursue(session, request, now);
    }

    /// Continues a session that was kept alive here. Takes over everything that the session holds, so that it survives
    /// the failure of voters, and the requests that wait through nodes that have stopped. Relays at other nodes are
    /// informed of the call.
    pub(super) fn adopt_listed(&mut self, session: u128, since: u64, now: Time) {
        let avoided = self.avoided();
        let Some(relay) = self.relays.get_mut(&session) else { return };
        let (held, others) = (relay.recorded_since(since), relay.claims_of_others(since));
        let (id, is_announced) = (relay.id, relay.announced_beat >= since);
        relay.announced_beat = since.max(relay.announced_beat);
        for held in held {
            self.adopt(held, since, now);
        }
        for (request, (name, candidate)) in others {
            let node = node_of(candidate);
            let is_gone = node == self.settings.id && candidate != id;
            let known = self.membership.addresses.contains_key(&node);
            if is_gone || !known || avoided.contains(node) {
                self.adopt((request, name), since, now);
            } else if !is_announced {
                self.send(node, PeerMessage::Called(session, candidate));
            }
        }
    }

    /// Begins a beat in the relay here, because the client of its session has called another node.
    pub(super) fn called_elsewhere(
        &mut self,
        from: ProcessId,
        session: u128,
        candidate: CandidateId,
        now: Time,
    ) {
        let Some(relay) = self.relays.get_mut(&session).filter(|relay| relay.id == candidate)
        else {
            return self.send(from, PeerMessage::NoRelay(session));
        };
        let caller = relay.caller;
        let beat = relay.call(caller, Sent { at: now.0 / 1_000, clock: None }, now);
        self.send_beat(session, beat, now);
    }

    /// Takes over the requests that wait through a node which no longer has a relay for the session.
    pub(super) fn adopt_from(&mut self, node: ProcessId, session: u128, now: Time) {
        let Some(relay) = self.relays.get(&session) else { return };
        let since = relay.echoed();
        let others = relay.claims_of_others(since);
        let theirs = others.into_iter().filter(|(_, (_, candidate))| node_of(*candidate) == node);
        for (request, (name, _)) in theirs.collect::<Vec<_>>() {
            self.adopt((request, name), since, now);
        }
    }
}
