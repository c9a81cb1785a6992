//! The two delays by which mutual exclusion algorithms are compared: how long it takes into a free
//! section, and how long from one holder to the next.

use quorate_core::{ProcessId, ProcessSet, Span, Time};

use crate::monitor::Sighting;
use crate::observer::Moment;

/// Measures both delays of a run.
#[derive(Clone, Debug, Default)]
pub struct EntryDelays {
    inside: ProcessSet,
    waiting: ProcessSet,
    /// A request that found the section free and nobody waiting.
    unrivalled: Option<(ProcessId, Time)>,
    /// The last exit, if somebody was waiting then.
    handing_over: Option<Time>,
    client: Spread,
    synchronisation: Spread,
}

/// Some spans in a nutshell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spread {
    /// How many there were.
    pub count: u64,
    /// Their sum.
    pub total: u128,
    /// The shortest.
    pub min: Span,
    /// The longest.
    pub max: Span,
}

impl Spread {
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
    pub fn see(&mut self, at: Moment, sighting: Sighting) {
        match sighting {
            Sighting::Requested => {
                let free = self.inside.is_empty() && self.waiting.is_empty();
                self.unrivalled = free.then_some((at.process, at.time));
                self.waiting.insert(at.process);
            }
            Sighting::Entered => {
                self.waiting.remove(at.process);
                self.inside.insert(at.process);
                if let Some((process, asked)) = self.unrivalled.take()
                    && process == at.process
                {
                    self.client.add(at.time - asked);
                }
                if let Some(exit) = self.handing_over.take() {
                    self.synchronisation.add(at.time - exit);
                }
            }
            Sighting::Left => {
                self.inside.remove(at.process);
                self.handing_over = (!self.waiting.is_empty()).then_some(at.time);
            }
            Sighting::Crashed | Sighting::Recovered(_) | Sighting::GaveUp | Sighting::Expelled => {
                self.waiting.remove(at.process);
                self.inside.remove(at.process);
                self.unrivalled = None;
                self.handing_over = None;
            }
        }
    }

    /// From request to entry with the section free and nobody else waiting.
    pub fn client(&self) -> Spread {
        self.client
    }

    /// From an exit with somebody waiting to the next entry.
    pub fn synchronisation(&self) -> Spread {
        self.synchronisation
    }
}
