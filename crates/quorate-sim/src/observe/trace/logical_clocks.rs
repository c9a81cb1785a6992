//! Lamport and vector clocks of all processes of a trace.

use std::collections::BTreeMap;

use quorate_core::{LamportClock, ProcessId, VectorClock};

use super::record::{Record, RecordKind};

/// The logical clocks of all processes after the records so far.
#[derive(Clone, Debug)]
pub struct LogicalClocks {
    clocks: Vec<(LamportClock, VectorClock)>,
    /// The times at which messages were sent.
    carried: BTreeMap<u64, LogicalTime>,
}

/// The stamps of an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogicalTime {
    /// Lamport time of the event.
    pub lamport: u64,
    /// Vector time of the event.
    pub vector: VectorClock,
}

impl LogicalClocks {
    /// The clocks of `n` processes before their first event.
    pub fn new(n: usize) -> Self {
        Self {
            clocks: vec![(LamportClock::at(0), VectorClock::new()); n],
            carried: BTreeMap::new(),
        }
    }

    /// The stamps of the next record. `None` if its process does not exist.
    pub fn stamp(&mut self, record: &Record) -> Option<LogicalTime> {
        let process = ProcessId::new(record.process);
        let (lamport, vector) = self.clocks.get_mut(process.index())?;
        let received = match &record.kind {
            RecordKind::Deliver(envelope) => self.carried.get(&envelope.message),
            _ => None,
        };
        let time = match received {
            Some(sent) => {
                vector.merge(&sent.vector);
                lamport.witness(sent.lamport)
            }
            None => lamport.tick(),
        };
        vector.tick(process);
        let stamp = LogicalTime { lamport: time, vector: vector.clone() };
        if let RecordKind::Send(envelope) = &record.kind {
            self.carried.insert(envelope.message, stamp.clone());
        }
        Some(stamp)
    }
}

impl LogicalTime {
    /// The stamps as they are drawn: `3 (1,0,2)`.
    pub fn text(&self, n: usize) -> String {
        let counts = ProcessId::all(n).map(|process| self.vector.of(process).to_string());
        format!("{} ({})", self.lamport, counts.collect::<Vec<_>>().join(","))
    }
}
