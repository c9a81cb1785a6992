//! The two delays by which mutual exclusion algorithms are compared: how long it takes into a free
//! section, and how long from one holder to the next.

use quorate_core::{ProcessId, ProcessSet, Span, Time};

use crate::monitor::MutexEvent;
use crate::observer::Moment;

/// Measures both delays of a run.
#[derive(Clone, Debug, Default)]
pub struct EntryDelays {
    inside: ProcessSet,
    waiting: ProcessSet,
    /// A request that found the section free and nobody waiting.
    uncontended: Option<(ProcessId, Time)>,
    /// The last exit, if somebody was waiting then.
    last_contended_exit: Option<Time>,
    client: SpanSummary,
    synchronisation: SpanSummary,
}

/// Some spans in a nutshell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SpanSummary {
    /// How many there were.
    pub count: u64,
    /// Their sum.
    pub total: u128,
    /// The shortest.
    pub min: Span,
    /// The longest.
    pub max: Span,
}

impl SpanSummary {
    /// One more.
    pub fn add(&mut self, span: Span) {
        self.min = if self.count == 0 { span } else { self.min.min(span) };
        self.max = self.max.max(span);
        self.count += 1;
        self.total += u128::from(span.0);
    }

    /// Their mean in units of `unit`; none if there were none.
    pub fn mean_in(&self, unit: Span) -> Option<f64> {
        (self.count > 0 && unit > Span::ZERO)
            .then(|| self.total as f64 / self.count as f64 / unit.0 as f64)
    }
}

impl EntryDelays {
    /// Sees something of a process.
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
                self.uncontended = None;
                self.last_contended_exit = None;
            }
        }
    }

    /// From request to entry with the section free and nobody else waiting.
    pub fn client(&self) -> SpanSummary {
        self.client
    }

    /// From an exit with somebody waiting to the next entry.
    pub fn synchronisation(&self) -> SpanSummary {
        self.synchronisation
    }
}
