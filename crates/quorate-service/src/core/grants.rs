//! Grants as operators see them: log lines for grants that end without their clients, and gauges of those that last.
//!
//! Each node reports from the view of its own voter, which cannot know whether other voters have voted for the same request.
//! The token of a relayed request is recorded before its client may enter. A direct client enters as soon as it has a quorum of
//! votes, so that a vote for it counts as a grant here.

use std::fmt;

use quorate_algorithms::mutex::leased_quorum::{GrantedVote, RequestId};
use quorate_core::{Span, Time};
use quorate_protocol::{Name, escaped};

use super::NodeCore;
use super::relay::is_relayed;
use crate::metrics::seconds;

/// Maximum number of characters of a client's text in a log line.
const SHOWN_MOST: usize = 200;

/// The smallest stamp that is a time of the wall clock: a month after the beginning of 1970.
const WALL_CLOCK_FROM: u64 = 30 * 24 * 3_600 * 1_000;

/// When a request was made, in milliseconds since 1970, if its stamp tells. Stamps are times of the wall clock, or slightly
/// greater. A request that came before others by its rank has a small number instead.
pub(crate) fn asked_at(stamp: u64) -> Option<u64> {
    (stamp >= WALL_CLOCK_FROM).then_some(stamp)
}

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
        for (name, ballot) in self.voter.ballots() {
            waiting += ballot.queue().len() as i64;
            if let Some(vote) = ballot.vote().filter(|vote| token_of(vote).is_some()) {
                held += 1;
                let candidate = (self.age_of(name, vote.stamp, now), vote.claim.request);
                oldest = Some(oldest.map_or(candidate, |oldest| candidate.max(oldest)));
            }
        }
        let metrics = &self.metrics;
        metrics.held.set(held);
        metrics.waiting.set(waiting);
        metrics.oldest_age.set(oldest.map_or(0.0, |(age, _)| seconds(age)));
        let left = oldest.and_then(|(_, request)| self.voter.session(request.session));
        metrics.oldest_left.set(left.map_or(0.0, |it| seconds(it.lapses().since(now))));
    }

    /// Returns the time since a holder has asked, or since it has the vote of this node if that is not known.
    fn age_of(&self, name: &Name, stamp: u64, now: Time) -> Span {
        if let Some(asked) = asked_at(stamp) {
            return Span::from_millis(self.voter.clock().saturating_sub(asked));
        }
        self.history.given_since(name).map_or(Span::ZERO, |since| now.since(since))
    }
}

/// The token of the request that has this vote, if its client may be inside. A direct client may have a greater token than its
/// vote says.
pub(super) fn token_of(vote: &GrantedVote) -> Option<u64> {
    let recorded = vote.entered.map(|(token, _)| token);
    recorded.or((!is_relayed(vote.claim.request)).then_some(vote.number))
}

/// A text of a client for a log line: escaped, and of limited length.
pub(super) fn shown(text: &str) -> String {
    let short: String = text.chars().take(SHOWN_MOST).collect();
    let more = if short.len() < text.len() { "…" } else { "" };
    format!("{}{more}", escaped(&short))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::testing::node_of_three;

    #[test]
    fn a_stamp_that_is_no_time_says_nothing_of_the_age() {
        let mut core = node_of_three(0);
        let name = Name::lock("a").expect("a name");
        let now_ms = WALL_CLOCK_FROM + 90_000;
        core.wake(Time(2), now_ms);
        let age = |stamp| core.age_of(&name, stamp, Time(2));
        assert_eq!(age(now_ms - 1_000), Span::from_millis(1_000));
        assert_eq!(age(1), Span::ZERO, "not decades");
    }
}
