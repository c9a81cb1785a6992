//! The clock condition: if one event happened before another, its logical time is smaller.
//!
//! Processes announce events with a Lamport time ([`quorate_core::Message::stamp`]), such as a request.
//! Every message carries the latest time that its sender knows of, regardless of its own contents. An event breaks the
//! condition if its time is not later than every time that its process could know of. This includes times that arrived
//! with messages that carry no clock of their own.

use quorate_core::{ProcessId, ProcessSet, Property};

use super::violation::{Evidence, Violation};
use crate::engine::observer::Moment;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Announced {
    time: u64,
    at: Moment,
}

/// Monitor of the clock condition.
#[derive(Clone, Debug)]
pub(crate) struct ClockCondition {
    /// The latest event in the causal past of each process.
    past: Vec<Option<Announced>>,
    /// Time of the last event that each process announced. The same
    /// event may be announced to several processes, and repeatedly.
    own: Vec<Option<u64>>,
    exempt: ProcessSet,
    violation: Option<Violation>,
}

impl ClockCondition {
    /// Creates a monitor for n processes. Traitors are not judged.
    pub(crate) fn new(n: usize, traitors: ProcessSet) -> Self {
        Self { past: vec![None; n], own: vec![None; n], exempt: traitors, violation: None }
    }

    /// A process announces an event with this time.
    pub(crate) fn announced(&mut self, at: Moment, time: u64) {
        let process = at.process.index();
        if self.exempt.contains(at.process) || self.own[process] == Some(time) {
            return;
        }
        self.own[process] = Some(time);
        let event = Announced { time, at };
        match self.past[process] {
            Some(earlier) if earlier.time >= time => self.breach(earlier, event),
            _ => self.past[process] = Some(event),
        }
    }

    /// The latest event that a process knows of. Its messages carry it.
    pub(crate) fn known_to(&self, process: ProcessId) -> Option<Announced> {
        self.past[process.index()]
    }

    /// A message that carries this event has arrived.
    pub(crate) fn received(&mut self, process: ProcessId, announced: Option<Announced>) {
        let past = &mut self.past[process.index()];
        if announced.map(|event| event.time) > past.map(|event| event.time) {
            *past = announced;
        }
    }

    /// A process has restarted without memory, so no event happened before its next one.
    pub(crate) fn forgot(&mut self, process: ProcessId) {
        self.past[process.index()] = None;
        self.own[process.index()] = None;
    }

    /// The first violation, if there is one.
    pub(crate) fn violation(&self) -> Option<&Violation> {
        self.violation.as_ref()
    }

    fn breach(&mut self, earlier: Announced, later: Announced) {
        self.violation.get_or_insert_with(|| Violation {
            property: Property::ClockCondition,
            time: later.at.time,
            detail: format!(
                "an event of {} has the time {}, and one of {} that happened before has {}",
                later.at.process, later.time, earlier.at.process, earlier.time
            ),
            events: vec![
                Evidence::new(earlier.at, format!("announced an event of time {}", earlier.time)),
                Evidence::new(later.at, format!("announced an event of time {}", later.time)),
            ],
        });
    }
}

#[cfg(test)]
mod tests {
    use quorate_core::Time;

    use super::*;

    fn moment(process: u32) -> Moment {
        Moment { event: 1, time: Time(1), process: ProcessId::new(process) }
    }

    #[test]
    fn a_time_that_ignores_what_was_heard_is_caught() {
        let mut condition = ClockCondition::new(2, ProcessSet::new());
        condition.announced(moment(0), 7);
        condition.announced(moment(0), 7);
        assert!(condition.violation().is_none(), "the same event again");
        condition.received(ProcessId::new(1), condition.known_to(ProcessId::new(0)));
        condition.announced(moment(1), 7);
        assert!(condition.violation().is_some());
    }

    #[test]
    fn events_that_know_nothing_of_each_other_may_have_any_time() {
        let mut condition = ClockCondition::new(2, ProcessSet::new());
        condition.announced(moment(0), 7);
        condition.announced(moment(1), 3);
        condition.announced(moment(1), 4);
        assert!(condition.violation().is_none());
    }
}
