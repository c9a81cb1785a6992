//! Exclusion, the safety of resource allocation: only compatible claims are inside together.
//!
//! A process that crashes inside is no longer inside, because it can do no more harm. If it recovers with its memory, it is
//! inside again. Cost: O(i) for each entry while i processes are inside.

use quorate_core::Property;
use quorate_core::allocation::Claim;
use quorate_core::definition::allocation::{Breach, breach};

use super::violation::{Evidence, Violation, name_all};
use crate::engine::observer::Moment;
use crate::scenario::plan::Memory;

/// Monitor of the property exclusion.
#[derive(Clone, Debug)]
pub(crate) struct Exclusion {
    capacity: usize,
    inside: Vec<(Moment, Claim)>,
    crashed_inside: Vec<(Moment, Claim)>,
    violation: Option<Violation>,
}

impl Exclusion {
    /// Creates a monitor for this number of permits.
    pub(crate) fn new(capacity: usize) -> Self {
        Self { capacity, inside: Vec::new(), crashed_inside: Vec::new(), violation: None }
    }

    /// A process has entered with this claim.
    pub(crate) fn entered(&mut self, at: Moment, claim: Claim) {
        let claims = self.inside.iter().map(|(_, claim)| claim);
        if let Some(found) = breach(claims, &claim, self.capacity)
            && self.violation.is_none()
        {
            self.violation = Some(self.describe(at, &claim, found));
        }
        self.inside.push((at, claim));
    }

    /// A process has left.
    pub(crate) fn left(&mut self, at: Moment) {
        self.inside.retain(|(entry, _)| entry.process != at.process);
    }

    /// A process has crashed.
    pub(crate) fn crashed(&mut self, at: Moment) {
        let crashed = self.inside.extract_if(.., |(entry, _)| entry.process == at.process);
        self.crashed_inside.extend(crashed);
    }

    /// A process has recovered.
    pub(crate) fn recovered(&mut self, at: Moment, memory: Memory) {
        let own = |(entry, _): &(Moment, Claim)| entry.process == at.process;
        if let Some(place) = self.crashed_inside.iter().position(own) {
            let (_, claim) = self.crashed_inside.swap_remove(place);
            if memory == Memory::Kept {
                self.entered(at, claim);
            }
        }
    }

    /// The processes inside with their claims, in the order of entry.
    pub(crate) fn inside(&self) -> &[(Moment, Claim)] {
        &self.inside
    }

    /// The first violation, if there is one.
    pub(crate) fn violation(&self) -> Option<&Violation> {
        self.violation.as_ref()
    }

    fn describe(&self, at: Moment, claim: &Claim, found: Breach) -> Violation {
        let (detail, concerned) = match found {
            Breach::Conflict(place) => {
                let (first, other) = &self.inside[place];
                let detail = format!(
                    "{} entered at {} ({claim}) while {} was inside since {} ({other})",
                    at.process, at.time, first.process, first.time
                );
                (detail, &self.inside[place..=place])
            }
            Breach::TooMany => {
                let names = name_all(self.inside.iter().map(|(entry, _)| entry.process));
                let detail = format!(
                    "{} entered at {} while {names} were inside, and there are {} permits",
                    at.process, at.time, self.capacity
                );
                (detail, self.inside.as_slice())
            }
        };
        let evidence = concerned.iter().map(|(entry, _)| Evidence::new(*entry, "entered"));
        let events = evidence.chain([Evidence::new(at, "entered")]).collect();
        Violation { property: Property::Exclusion, time: at.time, detail, events }
    }
}
