//! Grants as operators see them: log lines for grants that end without their clients, and gauges of those that last.
//!
//! Each node reports from the view of its own voter, which cannot know whether other voters have voted for the same request.
//! The token of a relayed request is recorded before its client may enter. A direct client enters as soon as it has a quorum of
//! votes, so that a vote for it counts as a grant here.

use std::fmt;

use quorate_algorithms::mutex::leased_quorum::{GrantedVote, RequestId};
use quorate_core::Time;
use quorate_protocol::{Name, escaped};

use super::NodeCore;
use super::relay::is_relayed;
use crate::metrics::seconds;

/// Maximum number of characters of a client's text in a log line.
const SHOWN_MOST: usize = 200;

/// Name and location of a session's client, for a log line.
pub(super) struct ShownClient(String);

impl fmt::Display for ShownClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl NodeCore {
    /// Describes the client of a session, with its texts escaped and shortened.
    pub(super) fn shown_client(&self, session: u128) -> ShownClient {
        let Some(known) = self.texts.session(session) else {
            return ShownClient("unknown".to_owned());
        };
        let (name, at) = (&known.session_text.client_name, &known.session_text.client_location);
        ShownClient(format!("{} at {}", shown(name), shown(at)))
    }

    /// Logs the grants whose clients have been silent for their ttl, before the voter frees their votes.
    pub(super) fn log_expired(&mut self, now: Time) {
        let expired: Vec<(Name, RequestId, u64)> = self
            .voter
            .lapsing(now)
            .filter_map(|(session, incarnation)| {
                let known = self.voter.session(session)?;
                let its = move |(request, _): &(RequestId, &Name)| {
                    request.incarnation == incarnation || known.lapses() <= now
                };
                Some(known.requests().filter(its))
            })
            .flatten()
            .filter_map(|(request, name)| {
                let vote = self.voter.ballot(name)?.vote()?;
                let token = token_of(vote).filter(|_| vote.claim.request == request)?;
                Some((name.clone(), request, token))
            })
            .collect();
        for (name, request, token) in expired {
            self.metrics.expired.inc();
            let client = self.shown_client(request.session);
            tracing::info!(lock = %name, token, %client, "grant expired: its client has been silent for its ttl");
        }
    }

    /// Sets the gauges that describe grants and their clients.
    pub(super) fn set_grant_gauges(&self, now: Time) {
        let (mut held, mut waiting, mut oldest) = (0, 0, None);
        for (_, ballot) in self.voter.ballots() {
            waiting += ballot.queue().len() as i64;
            if let Some(vote) = ballot.vote().filter(|vote| token_of(vote).is_some()) {
                held += 1;
                let candidate = (vote.stamp, vote.claim.request);
                oldest = Some(oldest.map_or(candidate, |oldest| candidate.min(oldest)));
            }
        }
        let metrics = &self.metrics;
        metrics.held.set(held);
        metrics.waiting.set(waiting);
        // Stamps are wall-clock milliseconds, or slightly greater.
        let age = |stamp: u64| self.voter.clock().saturating_sub(stamp) as f64 / 1_000.0;
        metrics.oldest_age.set(oldest.map_or(0.0, |(stamp, _)| age(stamp)));
        let left = oldest.and_then(|(_, request)| self.voter.session(request.session));
        metrics.oldest_left.set(left.map_or(0.0, |it| seconds(it.lapses().since(now))));
    }
}

/// The token of the request that has this vote, if its client may be inside. A direct client may have a greater token than its
/// vote says.
fn token_of(vote: &GrantedVote) -> Option<u64> {
    let recorded = vote.entered.map(|(token, _)| token);
    recorded.or((!is_relayed(vote.claim.request)).then_some(vote.number))
}

/// A text of a client for a log line: escaped, and of limited length.
pub(super) fn shown(text: &str) -> String {
    let short: String = text.chars().take(SHOWN_MOST).collect();
    let more = if short.len() < text.len() { "…" } else { "" };
    format!("{}{more}", escaped(&short))
}
