//! Texts of sessions and requests, kept beside the voter: client name, location and purpose. This is soft state: a node
//! that has lost it shows less, and nothing else depends on it.

use quorate_algorithms::mutex::leased_quorum::RequestId;
use quorate_core::{SortedMap, Span, Time};
use quorate_protocol::TEXT_MOST;

use crate::peer::{Description, RequestText, SessionText};

/// Maximum number of sessions with texts.
const SESSIONS_MOST: usize = 200_000;

/// Maximum number of requests with texts in one session.
const REQUESTS_MOST: usize = 4_096;

/// Time for which texts of a session are kept although the voter does not know it. Texts may arrive before
/// the session's first beat.
const UNKNOWN: Span = Span::from_millis(10_000);

/// All texts at one node.
#[derive(Debug, Default)]
pub(super) struct Texts {
    sessions: SortedMap<u128, SessionRecord>,
}

/// Texts of one session.
#[derive(Debug)]
pub(super) struct SessionRecord {
    pub(super) session_text: SessionText,
    pub(super) requests: SortedMap<RequestId, (RequestText, Time)>,
    /// When the texts were last updated.
    updated: Time,
    /// When the first text of the session arrived.
    pub(super) since: Time,
}

impl Texts {
    /// Records texts; returns whether the text of a request has changed.
    pub(super) fn record(&mut self, description: Description, now: Time) -> bool {
        let Description { session, session_text, request } = description;
        if self.sessions.len() >= SESSIONS_MOST && !self.sessions.contains_key(&session) {
            return false;
        }
        let texts = [&session_text.client_name, &session_text.client_location, &session_text.owner];
        if texts.iter().any(|text| text.len() > TEXT_MOST) {
            return false;
        }
        let (requests, since) = (SortedMap::new(), now);
        let known = self.sessions.entry(session).or_insert_with(|| {
            let session_text = SessionText::default();
            SessionRecord { session_text, requests, updated: now, since }
        });
        (known.session_text, known.updated) = (session_text, now);
        let Some((id, text)) = request else { return false };
        let bounded = text.why.len() <= TEXT_MOST;
        let room = known.requests.len() < REQUESTS_MOST || known.requests.contains_key(&id);
        if id.session != session || !bounded || !room {
            return false;
        }
        let before = known.requests.insert(id, (text.clone(), now));
        before.is_none_or(|(before, _)| before.why != text.why)
    }

    pub(super) fn session(&self, session: u128) -> Option<&SessionRecord> {
        self.sessions.get(&session)
    }

    /// Returns the number of bytes of the texts of a session's requests.
    pub(super) fn bytes(&self, session: u128) -> usize {
        let requests = self.sessions.get(&session).into_iter().flat_map(|it| it.requests.values());
        requests.map(|(text, _)| text.why.len()).sum()
    }

    pub(super) fn sessions(&self) -> impl Iterator<Item = (u128, &SessionRecord)> {
        self.sessions.iter().map(|(session, known)| (*session, known))
    }

    pub(super) fn request(&self, request: RequestId) -> Option<&(RequestText, Time)> {
        self.sessions.get(&request.session)?.requests.get(&request)
    }

    /// Returns the texts of a session and of one of its requests, as they are sent to other nodes.
    pub(super) fn describe(
        &self,
        session: u128,
        request: Option<RequestId>,
    ) -> Option<Description> {
        let known = self.sessions.get(&session)?;
        let text = |request: RequestId| Some((request, known.requests.get(&request)?.0.clone()));
        let request = request.and_then(text);
        Some(Description { session, session_text: known.session_text.clone(), request })
    }

    pub(super) fn forget(&mut self, request: RequestId) {
        if let Some(known) = self.sessions.get_mut(&request.session) {
            known.requests.remove(&request);
        }
    }

    pub(super) fn forget_session(&mut self, session: u128) {
        self.sessions.remove(&session);
    }

    /// Drops texts of sessions that have ended.
    pub(super) fn sweep(&mut self, exists: impl Fn(u128) -> bool, now: Time) {
        self.sessions
            .retain(|session, known| now.since(known.updated) < UNKNOWN || exists(*session));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_bounded_and_end_with_their_session() {
        let mut texts = Texts::default();
        let request = RequestId { session: 1, incarnation: 2, number: 3 };
        let text = |why: &str| RequestText { why: why.to_owned(), revision: 0 };
        let described = |session, why: &str| Description {
            session,
            session_text: SessionText::default(),
            request: Some((request, text(why))),
        };
        assert!(texts.record(described(1, "one"), Time::ZERO));
        assert!(!texts.record(described(1, "one"), Time::ZERO), "nothing has changed");
        assert!(!texts.record(described(2, "of another session"), Time::ZERO));
        assert!(!texts.record(described(1, &"x".repeat(TEXT_MOST + 1)), Time::ZERO));
        assert!(texts.request(request).is_some());
        texts.sweep(|session| session == 1, Time::ZERO + UNKNOWN);
        assert!(texts.session(1).is_some() && texts.session(2).is_none());
    }
}
