//! List of the sessions that the voter of this node knows.

use quorate_core::{Span, Time};
use quorate_protocol::Name;

use super::NodeCore;
use super::grants::token_of;

/// Maximum number of sessions in one answer.
const SESSIONS_MOST: usize = 2_000;

/// Maximum number of names that are listed for one session.
const NAMES_MOST: usize = 50;

/// A session, without its key: anyone with the key controls the session.
#[derive(Clone, Debug)]
pub(crate) struct ListedSession {
    pub(crate) client_name: String,
    pub(crate) client_location: String,
    /// The node through which the client made its last call; `None` if it is not known.
    pub(crate) node: Option<u32>,
    pub(crate) ttl: Span,
    /// Time until the session ends unless its client sends a beat.
    pub(crate) left: Span,
    /// Time since this node has heard of the session first; `None` if it is not known.
    pub(crate) age: Option<Span>,
    /// Number of names for which the session has the vote of this node, and some of them.
    pub(crate) holds: (usize, Vec<Name>),
    /// Number of names for which it waits, and some of them.
    pub(crate) waits: (usize, Vec<Name>),
}

impl NodeCore {
    /// Lists the sessions that the voter here knows and that have not lapsed, and returns their number.
    pub(crate) fn listed_sessions(&self, now: Time) -> (Vec<ListedSession>, usize) {
        let alive = || self.voter.sessions().filter(|(_, session)| session.lapses() > now);
        let listed = alive().take(SESSIONS_MOST).map(|(key, session)| {
            let texts = self.texts.session(key);
            let has_vote = |request, name: &Name| {
                let vote = self.voter.ballot(name).and_then(|ballot| ballot.vote());
                vote.is_some_and(|vote| vote.claim.request == request && token_of(vote).is_some())
            };
            let (mut holds, mut waits) = ((0, Vec::new()), (0, Vec::new()));
            for (request, name) in session.requests() {
                let (count, names) = if has_vote(request, name) { &mut holds } else { &mut waits };
                *count += 1;
                if names.len() < NAMES_MOST {
                    names.push(name.clone());
                }
            }
            let text = texts.map(|known| known.session_text.clone()).unwrap_or_default();
            ListedSession {
                client_name: text.client_name,
                client_location: text.client_location,
                node: texts.map(|known| known.session_text.node),
                ttl: session.ttl(),
                left: session.lapses().since(now),
                age: texts.map(|known| now.since(known.since)),
                holds,
                waits,
            }
        });
        (listed.collect(), alive().count())
    }
}
