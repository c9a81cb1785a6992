//! Monitors: each watches one property online and keeps the events that broke it.

mod accuracy;
mod backlog;
mod causal_order;
mod clock_condition;
mod clock_error;
mod clock_precision;
mod completeness;
mod decisions;
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

use crate::observer::Moment;
use crate::plan::Memory;

/// What monitors of mutual exclusion see of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MutexEvent {
    /// It has asked to enter.
    Requested,
    /// It is inside.
    Entered,
    /// It has left.
    Left,
    /// It has given up: no quorum is left.
    GaveUp,
    /// It was inside when it went down, and is told that it no longer is.
    Expelled,
    /// It has crashed.
    Crashed,
    /// It is back.
    Recovered(Memory),
}

/// Whether a property held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// It held.
    Holds,
    /// It was broken.
    Violated,
    /// Nobody watched, or the run ended before it could be decided.
    NotChecked,
}

/// A broken property.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Which.
    pub property: Property,
    /// When.
    pub time: Time,
    /// What happened, in a sentence.
    pub detail: String,
    /// What led there.
    pub events: Vec<Evidence>,
}

/// An event that led to a violation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evidence {
    /// The number of the event in the trace.
    pub event: u64,
    /// Its time in nanoseconds.
    pub time: u64,
    /// Whose it was.
    pub process: u32,
    /// What it was.
    #[serde(rename = "what")]
    pub description: String,
}

impl Evidence {
    /// At that moment, this.
    pub fn new(at: Moment, description: impl Into<String>) -> Self {
        Self {
            event: at.event,
            time: at.time.0,
            process: at.process.number(),
            description: description.into(),
        }
    }
}

/// A list of processes for a sentence: `p0, p1 and p3`; the first few of many.
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
