//! Concurrency of resource allocation: a claim waits only for others.
//!
//! The monitor counts messages in flight. When there are none, no process can enter until a user gives a command, so every
//! claim that still waits has to have a reason. The state after an event is judged at the next one, since an event may both
//! consume messages and send some. Processes that crash hold claims in ways that users do not observe, so nothing is judged
//! from the first crash on. Cost: O(1) for each message, and O(w i) whenever no message is in flight while w processes wait
//! and i are inside.

use quorate_core::allocation::Claim;
use quorate_core::definition::allocation::may_wait;
use quorate_core::{Property, SortedMap};

use super::violation::{Evidence, Violation};
use crate::engine::observer::Moment;

/// Monitor of the property concurrency.
#[derive(Clone, Debug)]
pub(crate) struct Concurrency {
    capacity: usize,
    in_flight: u64,
    /// The event whose effects are being observed.
    event: Option<Moment>,
    waiting: SortedMap<u32, (Moment, Claim)>,
    /// Whether a process has crashed.
    disturbed: bool,
    violation: Option<Violation>,
}

impl Concurrency {
    /// Creates a monitor for this number of permits.
    pub(crate) fn new(capacity: usize) -> Self {
        let (event, waiting) = (None, SortedMap::new());
        Self { capacity, in_flight: 0, event, waiting, disturbed: false, violation: None }
    }

    /// An event begins or continues. Judges the state after the previous one, given the claims inside since then.
    pub(crate) fn on_event(&mut self, at: Moment, inside: &[(Moment, Claim)]) {
        match self.event.replace(at) {
            Some(last) if last.event != at.event => self.judge(last, inside),
            _ => {}
        }
    }

    /// The run has ended.
    pub(crate) fn end(&mut self, inside: &[(Moment, Claim)]) {
        if let Some(last) = self.event.take() {
            self.judge(last, inside);
        }
    }

    /// A process has requested entry with this claim.
    pub(crate) fn requested(&mut self, at: Moment, claim: Claim) {
        self.waiting.insert(at.process.number(), (at, claim));
    }

    /// A process no longer waits. Returns its claim.
    pub(crate) fn answered(&mut self, at: Moment) -> Option<Claim> {
        self.waiting.remove(&at.process.number()).map(|(_, claim)| claim)
    }

    /// A process has crashed.
    pub(crate) fn crashed(&mut self) {
        self.disturbed = true;
    }

    /// A message has been sent.
    pub(crate) fn sent(&mut self) {
        self.in_flight += 1;
    }

    /// A message has arrived or was lost.
    pub(crate) fn arrived(&mut self) {
        self.in_flight = self.in_flight.saturating_sub(1);
    }

    /// The first violation, if there is one.
    pub(crate) fn violation(&self) -> Option<&Violation> {
        self.violation.as_ref()
    }

    fn judge(&mut self, last: Moment, inside: &[(Moment, Claim)]) {
        if self.in_flight > 0 || self.disturbed || self.violation.is_some() {
            return;
        }
        let needless = self.waiting.iter().find(|(process, (_, claim))| {
            let others = self.waiting.iter().filter(|(other, _)| other != process);
            let others = others.map(|(_, (_, claim))| claim);
            !may_wait(claim, inside.iter().map(|(_, claim)| claim), others, self.capacity)
        });
        if let Some((_, (since, claim))) = needless {
            let detail = format!(
                "{} waits ({claim}) at {} although no claim excludes it and no message is in flight",
                since.process, last.time
            );
            let events = vec![Evidence::new(*since, "asked to enter")];
            self.violation = Some(Violation {
                property: Property::Concurrency,
                time: last.time,
                detail,
                events,
            });
        }
    }
}
