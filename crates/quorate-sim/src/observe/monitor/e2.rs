//! E2, the liveness of elections: once a live process has learned of an election, every live process eventually knows a
//! leader that is up.
//!
//! Judged at the end of the run. If the run was stopped, the property is violated only if nothing has changed for
//! longer than the patience while a process was waiting. Otherwise it is open. Cost: O(1) for each event, O(n) at the end.

use quorate_core::{ProcessId, Property, Span, Time};

use super::violation::{Evidence, Violation, name_all};
use crate::engine::Ending;
use crate::engine::observer::Moment;
use crate::observe::followers::Followers;

/// Monitor of processes that still wait for a leader.
#[derive(Clone, Debug, Default)]
pub(crate) struct E2 {
    /// The last output, crash or recovery of any process.
    last_change: Option<Moment>,
    violation: Option<Violation>,
    open: bool,
}

impl E2 {
    /// The output of a process has changed, or the process has crashed or recovered.
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

    /// Whether the run was stopped before the property could be judged.
    pub(crate) fn is_open(&self) -> bool {
        self.open
    }
}

/// Names the processes that know no leader or, if all know one, those whose leader is down.
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
    let leaders: quorate_core::SortedSet<ProcessId> =
        with_crashed_leader.iter().map(|(_, leader)| *leader).collect();
    let down = if leaders.len() == 1 { "is" } else { "are" };
    let followers = name_all(with_crashed_leader.iter().map(|(process, _)| *process));
    format!("{followers} {verb} {}, which {down} down", name_all(leaders))
}
