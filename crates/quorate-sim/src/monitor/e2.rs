//! E2, the liveness of elections: once a live process has heard of an election, every live process comes to know a leader,
//! and one that is up.
//!
//! It is judged when the run is over. If the run was stopped, only those count who have been waiting for longer than
//! anybody should; otherwise the question is open. Cost: O(1) for each event, O(n) at the end.

use quorate_core::{ProcessId, Property, Span, Time};

use super::{Evidence, Violation, name_all};
use crate::followers::Followers;
use crate::observer::Moment;
use crate::world::Ending;

/// Watches who still waits for a leader.
#[derive(Clone, Debug, Default)]
pub(crate) struct E2 {
    /// When anybody last said, lost or found anything.
    last_change: Option<Moment>,
    violation: Option<Violation>,
    open: bool,
}

impl E2 {
    /// Something has changed at a process: what it says, or whether it is up.
    pub(crate) fn changed(&mut self, at: Moment) {
        self.last_change = Some(at);
    }

    /// Judges the end of a run.
    pub(crate) fn end(
        &mut self,
        now: Time,
        ending: Ending,
        patience: Option<Span>,
        followers: &Followers,
    ) {
        if followers.is_settled() {
            return;
        }
        let complete = matches!(ending, Ending::Quiescent | Ending::Content);
        let since = self.last_change.map_or(Time::ZERO, |at| at.time);
        let too_long = patience.is_some_and(|patience| now.since(since) > patience);
        if !complete && !too_long {
            self.open = true;
            return;
        }
        let events = self.last_change.map(|at| Evidence::new(at, "was the last to stir"));
        self.violation = Some(Violation {
            property: Property::E2,
            time: now,
            detail: describe(followers),
            events: events.into_iter().collect(),
        });
    }

    pub(crate) fn violation(&self) -> Option<&Violation> {
        self.violation.as_ref()
    }

    /// Whether the run was stopped before it could be decided.
    pub(crate) fn is_open(&self) -> bool {
        self.open
    }
}

/// Who knows no leader, or else who follows one that is down.
fn describe(followers: &Followers) -> String {
    let leaderless: Vec<ProcessId> = followers.leaderless().collect();
    if !leaderless.is_empty() {
        let verb = if leaderless.len() == 1 { "knows" } else { "know" };
        return format!("{} {verb} no leader", name_all(leaderless));
    }
    let with_crashed_leader: Vec<(ProcessId, ProcessId)> = followers
        .with_crashed_leader()
        .map(|(process, leader)| (process, leader.process))
        .collect();
    let verb = if with_crashed_leader.len() == 1 { "follows" } else { "follow" };
    let leaders: std::collections::BTreeSet<ProcessId> =
        with_crashed_leader.iter().map(|(_, leader)| *leader).collect();
    let down = if leaders.len() == 1 { "is" } else { "are" };
    let followers = name_all(with_crashed_leader.iter().map(|(process, _)| *process));
    format!("{followers} {verb} {}, which {down} down", name_all(leaders))
}
