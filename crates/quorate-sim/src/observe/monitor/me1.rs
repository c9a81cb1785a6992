//! ME1, safety: at most one process is inside the critical section at any time.
//!
//! A process that crashes inside is no longer inside, because it can do no more harm. If it recovers with its memory, it
//! is inside again, unless it is expelled before any other event. A process that is expelled has left. Cost: O(1) for
//! each entry and exit.

use quorate_core::Property;
use quorate_core::definition::mutex::two_inside;

use super::violation::{Evidence, Violation};
use crate::engine::observer::Moment;
use crate::observe::mutex_event::MutexEvent;
use crate::scenario::plan::Memory;

/// Monitor of the property ME1.
#[derive(Clone, Debug, Default)]
pub struct Me1 {
    inside: Vec<Moment>,
    crashed_inside: Vec<Moment>,
    /// A process that crashed inside and has just recovered. It is inside unless the next event expels it.
    returning: Option<Moment>,
    violation: Option<Violation>,
}

impl Me1 {
    /// Processes an event of a process.
    pub fn observe(&mut self, at: Moment, event: MutexEvent) {
        let expelled = event == MutexEvent::Expelled;
        if let Some(back) = self.returning.take_if(|back| !expelled || back.process != at.process) {
            self.enter(back);
        }
        match event {
            MutexEvent::Requested | MutexEvent::GaveUp => {}
            MutexEvent::Expelled => {
                self.returning = None;
                self.leave(at);
            }
            MutexEvent::Entered => self.enter(at),
            MutexEvent::Left => self.leave(at),
            MutexEvent::Crashed => {
                let crashed = self.inside.extract_if(.., |entry| entry.process == at.process);
                self.crashed_inside.extend(crashed);
            }
            MutexEvent::Recovered(memory) => {
                let back = self.crashed_inside.iter().position(|entry| entry.process == at.process);
                if back.map(|place| self.crashed_inside.swap_remove(place)).is_some()
                    && memory == Memory::Kept
                {
                    self.returning = Some(at);
                }
            }
        }
    }

    /// Judges the end of the run.
    pub fn end(&mut self) {
        if let Some(back) = self.returning.take() {
            self.enter(back);
        }
    }

    /// The first violation, if there is one.
    pub fn violation(&self) -> Option<&Violation> {
        self.violation.as_ref()
    }

    fn leave(&mut self, at: Moment) {
        self.inside.retain(|entry| entry.process != at.process);
    }

    fn enter(&mut self, at: Moment) {
        let inside = self.inside.iter().chain([&at]);
        if let Some((first, _)) = two_inside(inside).filter(|_| self.violation.is_none()) {
            self.violation = Some(Violation {
                property: Property::ME1,
                time: at.time,
                detail: format!(
                    "{} entered at {} while {} was inside since {}",
                    at.process, at.time, first.process, first.time
                ),
                events: vec![Evidence::new(*first, "entered"), Evidence::new(at, "entered")],
            });
        }
        self.inside.push(at);
    }
}
