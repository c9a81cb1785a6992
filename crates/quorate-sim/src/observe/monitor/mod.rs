//! Monitors: each checks one property online and keeps the events that broke it.

mod accuracy;
mod backlog;
mod causal_order;
mod clock_condition;
mod clock_error;
mod clock_precision;
mod completeness;
mod decisions;
#[cfg(test)]
mod definitions;
mod delivery;
mod e1;
mod e2;
mod eventual_accuracy;
mod fifo_order;
mod me1;
mod me2;
mod me3;
mod total_order;

use quorate_core::{ProcessId, Property, Time};
use serde::{Deserialize, Serialize};

pub(crate) use accuracy::Accuracy;
pub(crate) use causal_order::CausalOrder;
pub(crate) use clock_condition::{Announced, ClockCondition};
pub(crate) use clock_error::{ClockError, Setting};
pub(crate) use clock_precision::ClockPrecision;
pub(crate) use completeness::Completeness;
pub(crate) use decisions::Decisions;
pub(crate) use delivery::Deliveries;
pub(crate) use e1::E1;
pub(crate) use e2::E2;
pub(crate) use eventual_accuracy::EventualAccuracy;
pub(crate) use fifo_order::FifoOrder;
pub use me1::Me1;
pub use me2::Me2;
pub use me3::Me3;
pub(crate) use total_order::TotalOrder;

use crate::engine::observer::Moment;
use crate::scenario::plan::Memory;

pub use crate::scenario::Status;

/// An event of a process in mutual exclusion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MutexEvent {
    /// The process has requested entry.
    Requested,
    /// The process has entered the critical section.
    Entered,
    /// The process has left the critical section.
    Left,
    /// The process has given up its request because no quorum is left.
    GaveUp,
    /// The process was inside and learns that it no longer is, because it crashed or its lease has ended.
    Expelled,
    /// The process has crashed.
    Crashed,
    /// The process has recovered, with or without memory.
    Recovered(Memory),
}

/// A violation of a property.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The property that was violated.
    pub property: Property,
    /// Time at which the property was violated.
    pub time: Time,
    /// Description of the violation in a sentence.
    pub detail: String,
    /// Events that led to the violation.
    pub events: Vec<Evidence>,
}

/// An event that led to a violation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evidence {
    /// Number of the event in the trace.
    pub event: u64,
    /// Time of the event in nanoseconds.
    pub time: u64,
    /// Process of the event.
    pub process: u32,
    /// Description of the event.
    #[serde(rename = "what")]
    pub description: String,
}

impl Evidence {
    /// Creates evidence for an event at that moment.
    pub fn new(at: Moment, description: impl Into<String>) -> Self {
        Self {
            event: at.event,
            time: at.time.0,
            process: at.process.number(),
            description: description.into(),
        }
    }
}

/// Formats a list of processes for a sentence: `p0, p1 and p3`. A long list is cut after the first eight.
pub fn name_all(processes: impl IntoIterator<Item = ProcessId>) -> String {
    const MOST: usize = 8;
    let names: Vec<String> = processes.into_iter().map(|process| process.to_string()).collect();
    match names.as_slice() {
        [] => "nobody".to_owned(),
        [one] => one.clone(),
        [first @ .., last] if names.len() <= MOST => format!("{} and {last}", first.join(", ")),
        all => format!("{} and {} more", all[..MOST].join(", "), all.len() - MOST),
    }
}
