//! Violations of properties, with the events that led to them.

use quorate_core::{ProcessId, Property, Time};
use serde::{Deserialize, Serialize};

use crate::engine::observer::Moment;

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
