//! The two delays by which mutual exclusion algorithms are compared: the delay to enter a free section, and the delay
//! from the exit of one holder to the entry of the next.

use quorate_core::{ProcessId, ProcessSet, Span, Time};

use super::mutex_event::MutexEvent;
use crate::engine::observer::Moment;

/// Measures the two delays of a run.
#[derive(Clone, Debug, Default)]
pub struct EntryDelays {
    inside: ProcessSet,
    waiting: ProcessSet,
    /// A request made while the section was free and no process was waiting.
    uncontended: Option<(ProcessId, Time)>,
    /// Time of the last exit, if a process was waiting then.
    last_contended_exit: Option<Time>,
    client: SpanSummary,
    synchronisation: SpanSummary,
}

/// Count, sum and extremes of a series of spans.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SpanSummary {
    /// Number of spans added.
    pub count: u64,
    /// Sum of all spans, in nanoseconds.
    pub total: u128,
    /// The shortest span; zero if there are none.
    pub min: Span,
    /// The longest span; zero if there are none.
    pub max: Span,
}

impl SpanSummary {
    /// Adds one span to the series.
    pub fn add(&mut self, span: Span) {
        self.min = if self.count == 0 { span } else { self.min.min(span) };
        self.max = self.max.max(span);
        self.count += 1;
        self.total += u128::from(span.0);
    }

    /// The mean in units of `unit`; none if no span was added or the unit is zero.
    pub fn mean_in(&self, unit: Span) -> Option<f64> {
        (self.count > 0 && unit > Span::ZERO)
            .then(|| self.total as f64 / self.count as f64 / unit.0 as f64)
    }
}

impl EntryDelays {
    /// Updates the measurement with an event of a process.
    pub fn observe(&mut self, at: Moment, event: MutexEvent) {
        match event {
            MutexEvent::Requested => {
                let free = self.inside.is_empty() && self.waiting.is_empty();
                self.uncontended = free.then_some((at.process, at.time));
                self.waiting.insert(at.process);
            }
            MutexEvent::Entered => {
                self.waiting.remove(at.process);
                self.inside.insert(at.process);
                if let Some((process, requested)) = self.uncontended.take()
                    && process == at.process
                {
                    self.client.add(at.time - requested);
                }
                if let Some(exit) = self.last_contended_exit.take() {
                    self.synchronisation.add(at.time - exit);
                }
            }
            MutexEvent::Left => {
                self.inside.remove(at.process);
                self.last_contended_exit = (!self.waiting.is_empty()).then_some(at.time);
            }
            MutexEvent::Crashed
            | MutexEvent::Recovered(_)
            | MutexEvent::GaveUp
            | MutexEvent::Expelled => {
                self.waiting.remove(at.process);
                self.inside.remove(at.process);
                self.uncontended.take_if(|(process, _)| *process == at.process);
                self.last_contended_exit = None;
            }
        }
    }

    /// Delays from request to entry with the section free and no other process waiting.
    pub fn client(&self) -> SpanSummary {
        self.client
    }

    /// Delays from an exit, with a process waiting, to the next entry.
    pub fn synchronisation(&self) -> SpanSummary {
        self.synchronisation
    }
}
