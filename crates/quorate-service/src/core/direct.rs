//! Direct clients run their own candidate. This node passes messages between the candidate and the voter.

use quorate_algorithms::mutex::leased_quorum::{CandidateId, RequestId, ToVoter};
use quorate_core::{SortedMap, Time};
use quorate_protocol::{Attached, CallResponse, Failure, Name, SessionKey, TEXT_MOST};

use super::quotas::Charge;
use super::sessions::too_much;
use super::{CallId, CallerId, LocalMessage, NodeCore};
use crate::peer::{Description, RequestText, SessionText};

/// Direct clients of this node.
#[derive(Debug, Default)]
pub(super) struct DirectClients {
    attached: SortedMap<CallerId, (u128, CandidateId)>,
    candidates: SortedMap<CandidateId, CallerId>,
}

impl DirectClients {
    /// Returns the connection of a candidate.
    pub(super) fn caller(&self, candidate: CandidateId) -> Option<CallerId> {
        self.candidates.get(&candidate).copied()
    }

    pub(super) fn callers(&self) -> impl Iterator<Item = CallerId> {
        self.attached.keys().copied()
    }

    pub(super) fn len(&self) -> usize {
        self.attached.len()
    }

    fn attach(&mut self, caller: CallerId, session: u128, candidate: CandidateId) {
        self.detach(caller);
        if let Some(earlier) = self.candidates.insert(candidate, caller) {
            self.attached.remove(&earlier);
        }
        self.attached.insert(caller, (session, candidate));
    }

    /// Unbinds a closed connection. The session lives until it expires.
    pub(super) fn detach(&mut self, caller: CallerId) {
        if let Some((_, candidate)) = self.attached.remove(&caller) {
            self.candidates.remove(&candidate);
        }
    }

    /// Returns whether another session uses this candidate through this node.
    fn is_foreign(&self, candidate: CandidateId, session: u128) -> bool {
        let of = self.caller(candidate).and_then(|caller| self.attached.get(&caller));
        of.is_some_and(|(other, _)| *other != session)
    }
}

/// Returns whether a message names only this session and this candidate.
fn speaks_for(message: &ToVoter<Name>, session: u128, candidate: CandidateId) -> bool {
    match message {
        ToVoter::Beat { session: presented, .. } => presented.session == session,
        ToVoter::Request { session: presented, claim, .. } => {
            presented.session == session
                && claim.request.session == session
                && claim.candidate == candidate
        }
        ToVoter::Raise { claim, .. }
        | ToVoter::Yield { claim, .. }
        | ToVoter::Withdraw { claim, .. } => {
            claim.request.session == session && claim.candidate == candidate
        }
        ToVoter::Release { request, .. } => request.session == session,
        ToVoter::End { session: ended } => *ended == session,
    }
}

impl NodeCore {
    pub(super) fn attach(
        &mut self,
        call_id: CallId,
        key: SessionKey,
        (client_name, client_location): (String, String),
        candidate: Option<u64>,
        now: Time,
    ) -> CallResponse {
        if self.leaving.is_some() {
            return CallResponse::Failed(Failure::Leaving);
        }
        if client_name.len() > TEXT_MOST || client_location.len() > TEXT_MOST {
            return too_much(format!("a text has at most {TEXT_MOST} bytes"));
        }
        let session = key.id();
        // A client that reconnects does not count as an additional session.
        if !self.session_exists(session) {
            if self.direct.len() + self.relays.len() >= self.settings.sessions_most {
                return too_much("this node has reached its limit of sessions".to_owned());
            }
            let added = Charge {
                sessions: 1,
                bytes: client_name.len() + client_location.len(),
                ..Charge::default()
            };
            if let Err(failure) = self.charge(call_id.0, added, now) {
                return CallResponse::Failed(failure);
            }
        }
        let candidate = match candidate {
            Some(known) => CandidateId(known),
            None => self.new_candidate(),
        };
        let taken = self.candidates.contains_key(&candidate);
        if taken || self.direct.is_foreign(candidate, session) {
            return CallResponse::Failed(Failure::NotAllowed(
                "the candidate belongs to another session".to_owned(),
            ));
        }
        self.direct.attach(call_id.0, session, candidate);
        self.set_owner(call_id.0, session);
        let node = self.settings.id.index() as u32;
        let session_text =
            SessionText { client_name, client_location, node, ..SessionText::default() };
        self.describe(Description { session, session_text, request: None }, now);
        CallResponse::Attached(Box::new(self.attached(candidate)))
    }

    fn attached(&self, candidate: CandidateId) -> Attached {
        let (node, members) = (self.settings.id.number(), self.members_known());
        Attached { node, candidate: candidate.0, members }
    }

    /// Handles messages of a direct client's candidate. The client may only send messages for its own session, within its
    /// quotas. Returns the failure if a request is refused.
    pub(super) fn on_candidate_messages(
        &mut self,
        caller: CallerId,
        messages: Vec<ToVoter<Name>>,
        now: Time,
    ) -> Option<CallResponse> {
        let &(session, candidate) = self.direct.attached.get(&caller)?;
        let mut refused = None;
        for message in messages {
            if !speaks_for(&message, session, candidate) {
                tracing::debug!("a direct client sent a message for another session: ignored");
            } else if let Err(failure) = self.charge_request(&message, now) {
                refused = Some(CallResponse::Failed(failure));
            } else {
                self.local_messages.push_back(LocalMessage::ToVoter(candidate, message));
            }
        }
        refused
    }

    /// Charges a request that the voter does not know yet.
    fn charge_request(&mut self, message: &ToVoter<Name>, now: Time) -> Result<(), Failure> {
        let ToVoter::Request { claim, lock, .. } = message else { return Ok(()) };
        let session = self.voter.session(claim.request.session);
        if session.is_some_and(|session| session.has(claim.request)) {
            return Ok(());
        }
        let added = Charge { requests: 1, bytes: lock.text().len(), ..Charge::default() };
        self.charge_session(claim.request.session, added, now)
    }

    /// Sets the text of a direct client's request.
    pub(super) fn describe_direct(
        &mut self,
        caller: CallerId,
        request: RequestId,
        why: String,
        now: Time,
    ) {
        let Some(&(session, _)) = self.direct.attached.get(&caller) else { return };
        let Some(session_text) =
            self.texts.session(session).map(|known| known.session_text.clone())
        else {
            return;
        };
        let added = Charge { bytes: why.len(), ..Charge::default() };
        let mut refused = || self.charge_session(session, added, now).is_err();
        if request.session != session || why.len() > TEXT_MOST || refused() {
            return;
        }
        let known = self.texts.request(request).map(|(text, _)| text.clone());
        let text = RequestText { why, ..known.unwrap_or_default() };
        self.describe(Description { session, session_text, request: Some((request, text)) }, now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quorate_algorithms::mutex::leased_quorum::{Beat, Claim, Presented, Rank};
    use quorate_core::Span;

    #[test]
    fn a_client_speaks_only_for_its_session_and_candidate() {
        let (own, other) = (CandidateId(1), CandidateId(2));
        let request = |session| RequestId { session, incarnation: 0, number: 1 };
        let presented = |session| Presented {
            session,
            ttl: Span(1),
            beat: Beat::default(),
            relayed: false,
            config: 0,
        };
        let lock = Name::lock("a").expect("a name");
        let request_message = |of: u128, claimed: u128, candidate| ToVoter::Request {
            session: presented(of),
            lock: lock.clone(),
            claim: Claim { request: request(claimed), attempt: u64::MAX, candidate },
            stamp: u64::MAX,
            inside: Some(u64::MAX),
            rank: Rank::First,
            ended: u64::MAX,
        };
        assert!(speaks_for(&request_message(7, 7, own), 7, own));
        for (of, claimed, candidate) in [(8, 7, own), (7, 8, own), (7, 7, other)] {
            assert!(!speaks_for(&request_message(of, claimed, candidate), 7, own));
        }
        let release = ToVoter::Release { lock, request: request(8), attempt: 1, token: None };
        assert!(!speaks_for(&release, 7, own));
        assert!(!speaks_for(&ToVoter::End { session: 8 }, 7, own));
        assert!(speaks_for(&ToVoter::End { session: 7 }, 7, own));
    }
}
