//! E1, the safety of elections: every process that decides elects the
//! greatest live process, and all processes that have decided agree.
//!
//! Two conditions are checked.
//!
//! When a process names a leader, no greater process may have been passed over. A greater process counts if it has been
//! up ever since the last output or recovery of the naming process (or since the start, if there was none), and since
//! the leader became a candidate. If a process crashed or recovered in between, the naming process may or may not have
//! noticed. A process counts with the smallest identifier that it may have been a candidate with in that time, because
//! an election keeps the identifiers with which it began.
//!
//! When the run is quiescent or its users are content, all live processes that have decided must name the same leader.
//! Before that they may differ, because some have learned of a crash and others have not.
//!
//! Cost: O(log n) for each correct decision, and O(n) at the end.

use std::ops::Bound;

use quorate_core::definition::election::{passes_over, rival_leaders};
use quorate_core::election::{Candidates, Identifier};
use quorate_core::{ProcessId, ProcessSet, Property, SortedSet, Time};

use super::violation::{Evidence, Violation, name_all};
use crate::engine::observer::Moment;
use crate::observe::followers::Followers;
use crate::scenario::plan::Memory;

/// Monitor of the decisions of n processes.
#[derive(Clone, Debug)]
pub(crate) struct E1 {
    candidates: Candidates,
    states: Vec<CandidateState>,
    /// Live processes with their current identifiers.
    up: SortedSet<Identifier>,
    exempt: ProcessSet,
    violation: Option<Violation>,
}

/// State of one process.
#[derive(Clone, Debug, Default)]
struct CandidateState {
    /// The event since which the process is up.
    up_since: u64,
    value: u64,
    /// The identifier of the process in the election that it currently takes part in.
    candidacy: Option<u64>,
    /// Earlier identifiers, of the process or of its candidacy, each with the event in which it was replaced.
    before: Vec<(u64, u64)>,
    /// The last output or recovery of the process, and when it happened.
    last_event: Option<(Moment, ProcessEvent)>,
    /// The event in which the process became a candidate before it was last elected.
    candidate_since: Option<u64>,
}

/// An output of a process, or its recovery.
#[derive(Clone, Copy, Debug)]
enum ProcessEvent {
    TakesPart,
    Elected(Identifier),
    Back,
}

impl ProcessEvent {
    fn evidence(self, at: Moment) -> Evidence {
        let description = match self {
            Self::TakesPart => "took part in an election".to_owned(),
            Self::Elected(leader) => format!("elected {leader}"),
            Self::Back => "came back".to_owned(),
        };
        Evidence::new(at, description)
    }
}

impl CandidateState {
    /// The smallest identifier that the process may have been a candidate with since that event.
    fn least_since(&self, event: u64) -> u64 {
        let since = self.before.iter().filter(|(changed, _)| *changed >= event);
        let values = since.map(|(_, value)| *value).chain(self.candidacy).chain([self.value]);
        values.min().unwrap_or(self.value)
    }

    /// Ends the election of the process. From now on the process counts with its current identifier.
    fn end_candidacy(&mut self, event: u64) {
        let value = self.candidacy.take().filter(|value| *value != self.value);
        self.before.extend(value.map(|value| (event, value)));
    }
}

impl E1 {
    pub(crate) fn new(n: usize, candidates: Candidates, exempt: ProcessSet) -> Self {
        let state = |process| CandidateState {
            value: candidates.of(process).value,
            ..CandidateState::default()
        };
        Self {
            states: ProcessId::all(n).map(state).collect(),
            up: ProcessId::all(n).map(|process| candidates.of(process)).collect(),
            candidates,
            exempt,
            violation: None,
        }
    }

    /// The process has a new identifier from now on.
    pub(crate) fn identified(&mut self, at: Moment, value: u64) {
        let state = &mut self.states[at.process.index()];
        let old = Identifier { value: state.value, process: at.process };
        state.before.push((at.event, state.value));
        state.value = value;
        self.up.remove(&old);
        self.up.insert(Identifier { value, process: at.process });
    }

    /// The process takes part in an election.
    pub(crate) fn undecided(&mut self, at: Moment) {
        let state = &mut self.states[at.process.index()];
        state.end_candidacy(at.event);
        state.candidacy = Some(state.value);
        state.last_event = Some((at, ProcessEvent::TakesPart));
    }

    /// The process names a leader.
    pub(crate) fn elected(&mut self, at: Moment, leader: Identifier) {
        let state = &mut self.states[at.process.index()];
        let since = state.last_event.replace((at, ProcessEvent::Elected(leader)));
        if leader.process == at.process {
            let began = since.filter(|_| state.candidacy.is_some()).map_or(at, |(began, _)| began);
            state.candidate_since = Some(began.event);
        }
        if self.violation.is_none() && !self.exempt.contains(at.process) {
            self.violation = self.passed_over(at, since, leader);
        }
        self.states[at.process.index()].end_candidacy(at.event);
    }

    pub(crate) fn crashed(&mut self, process: ProcessId) {
        let state = &mut self.states[process.index()];
        state.candidacy = None;
        self.up.remove(&Identifier { value: state.value, process });
    }

    pub(crate) fn recovered(&mut self, at: Moment, memory: Memory) {
        let state = &mut self.states[at.process.index()];
        if memory == Memory::Lost {
            state.value = self.candidates.of(at.process).value;
        }
        (state.up_since, state.last_event) = (at.event, Some((at, ProcessEvent::Back)));
        self.up.insert(Identifier { value: state.value, process: at.process });
    }

    /// Judges the end of a run that is quiescent or whose users are content.
    pub(crate) fn end(&mut self, now: Time, followers: &Followers) {
        let camps = followers.camps();
        if self.violation.is_some() || rival_leaders(camps.keys().copied()).is_none() {
            return;
        }
        let camp = |(leader, followers): &(Identifier, Vec<ProcessId>)| {
            format!("{} {leader}", follow(followers))
        };
        let descriptions: Vec<String> = camps.values().map(camp).collect();
        let last_evidence = |follower: &ProcessId| {
            let (at, event) = self.states[follower.index()].last_event?;
            Some(event.evidence(at))
        };
        let events =
            camps.values().filter_map(|(_, followers)| last_evidence(followers.first()?)).collect();
        let detail = format!("in the end {}", descriptions.join(", "));
        self.violation = Some(Violation { property: Property::E1, time: now, detail, events });
    }

    pub(crate) fn violation(&self) -> Option<&Violation> {
        self.violation.as_ref()
    }

    /// Finds a process that is greater than the leader and was up since the naming process last reported something.
    fn passed_over(
        &self,
        at: Moment,
        since: Option<(Moment, ProcessEvent)>,
        leader: Identifier,
    ) -> Option<Violation> {
        let candidate_since =
            self.states.get(leader.process.index()).and_then(|state| state.candidate_since);
        let event =
            since.map_or(0, |(since, _)| since.event).min(candidate_since.unwrap_or(u64::MAX));
        let greater = self.up.range((Bound::Excluded(leader), Bound::Unbounded)).rev();
        let passed_over = greater.into_iter().find(|other| {
            let state = &self.states[other.process.index()];
            let least = Identifier { value: state.least_since(event), process: other.process };
            state.up_since <= event
                && passes_over(leader, least)
                && !self.exempt.contains(other.process)
        })?;
        let detail = format!(
            "{} elected {leader} at {}, though {passed_over} was up all the while",
            at.process, at.time
        );
        let before = since.map(|(since, event)| event.evidence(since));
        let now = ProcessEvent::Elected(leader).evidence(at);
        let events = before.into_iter().chain([now]).collect();
        Some(Violation { property: Property::E1, time: at.time, detail, events })
    }
}

/// Formats followers with their verb: `p0 and p1 follow`.
fn follow(followers: &[ProcessId]) -> String {
    let verb = if followers.len() == 1 { "follows" } else { "follow" };
    format!("{} {verb}", name_all(followers.iter().copied()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(event: u64, process: u32) -> Moment {
        Moment { event, time: Time(event), process: ProcessId::new(process) }
    }

    fn leader(value: u64, process: u32) -> Identifier {
        Identifier { value, process: ProcessId::new(process) }
    }

    fn e1() -> E1 {
        E1::new(3, Candidates::new(3, &[5, 7, 9]), ProcessSet::new())
    }

    #[test]
    fn one_who_was_up_must_not_be_passed_over() {
        let mut e1 = e1();
        e1.undecided(at(1, 0));
        e1.elected(at(2, 0), leader(7, 1));
        let detail = e1.violation().map(|violation| violation.detail.clone());
        assert_eq!(
            detail.as_deref(),
            Some("p0 elected 7 (p1) at 2ns, though 9 (p2) was up all the while")
        );
    }

    #[test]
    fn one_who_was_down_may_be_passed_over() {
        let mut e1 = e1();
        e1.undecided(at(1, 0));
        e1.crashed(ProcessId::new(2));
        e1.recovered(at(2, 2), Memory::Kept);
        e1.elected(at(3, 0), leader(7, 1));
        assert!(e1.violation().is_none());
        // By the second decision, p2 has been up since the first one.
        e1.elected(at(4, 0), leader(7, 1));
        assert!(e1.violation().is_some());
    }

    #[test]
    fn an_election_keeps_the_identifiers_with_which_it_began() {
        let mut e1 = e1();
        e1.undecided(at(1, 0));
        e1.undecided(at(2, 1));
        e1.identified(at(3, 0), 100);
        e1.elected(at(4, 1), leader(9, 2));
        assert!(e1.violation().is_none());
        // The new identifier counts from the next election on.
        e1.elected(at(5, 0), leader(9, 2));
        e1.undecided(at(6, 1));
        e1.undecided(at(7, 0));
        e1.elected(at(8, 1), leader(9, 2));
        assert!(e1.violation().is_some());
    }
}
