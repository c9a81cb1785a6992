//! What came before a part of a run and still counts in it: whoever steps into the middle has to know who is down, what
//! each process last did, whom detectors suspect and which messages are under way.

use std::collections::BTreeMap;

use quorate_sim::trace::{Record, RecordKind};

/// More messages under way than this are counted, not told.
const IN_FLIGHT_MOST: usize = 500;

/// The records that still count, and how much there was of what does not.
#[derive(Clone, Debug, Default)]
pub(crate) struct RunPrefix {
    /// Messages that have left and not arrived, in the order in which they left; twice if there are two copies.
    in_flight: BTreeMap<u64, Vec<Record>>,
    /// What users last saw of each process.
    annotations: BTreeMap<u32, Record>,
    /// Who suspects whom.
    suspicions: BTreeMap<(u32, u32), Record>,
    down: BTreeMap<u32, Record>,
    sent: BTreeMap<String, u64>,
    lost: u64,
}

impl RunPrefix {
    pub(crate) fn observe(&mut self, record: &Record) {
        let process = record.process;
        match &record.kind {
            RecordKind::Send(envelope) => {
                match self.sent.get_mut(envelope.kind.as_ref()) {
                    Some(count) => *count += 1,
                    None => drop(self.sent.insert(envelope.kind.clone().into_owned(), 1)),
                }
                self.in_flight.entry(envelope.message).or_default().push(record.clone());
            }
            RecordKind::Duplicate(envelope) => {
                self.in_flight.entry(envelope.message).or_default().push(record.clone());
            }
            RecordKind::Deliver(envelope) => self.arrive(envelope.message),
            RecordKind::Lose { envelope, .. } => {
                self.lost += 1;
                self.arrive(envelope.message);
            }
            RecordKind::Command { annotation, .. } | RecordKind::Output { annotation, .. }
                if annotation.mark.is_some() =>
            {
                self.annotations.insert(process, record.clone());
            }
            RecordKind::Belief { about, crashed: true } => {
                self.suspicions.insert((process, *about), record.clone());
            }
            RecordKind::Belief { about, crashed: false } => {
                self.suspicions.remove(&(process, *about));
            }
            RecordKind::Crash => {
                self.down.insert(process, record.clone());
            }
            RecordKind::Recover { memory } => {
                self.down.remove(&process);
                if !memory {
                    self.suspicions.retain(|(observer, _), _| *observer != process);
                }
            }
            _ => {}
        }
    }

    fn arrive(&mut self, message: u64) {
        if let Some(copies) = self.in_flight.get_mut(&message) {
            copies.remove(0);
            if copies.is_empty() {
                self.in_flight.remove(&message);
            }
        }
    }

    /// The records that count, in the order of their events; of many messages under way an even choice.
    pub(crate) fn records(&self) -> Vec<&Record> {
        let in_flight = self.in_flight.values().flatten().step_by(self.sampling_step());
        let others =
            self.annotations.values().chain(self.suspicions.values()).chain(self.down.values());
        let mut records: Vec<&Record> = in_flight.chain(others).collect();
        records.sort_by_key(|record| record.event);
        records
    }

    /// How many messages are under way that are not among the records.
    pub(crate) fn omitted(&self) -> usize {
        self.in_flight_count() - self.in_flight_count().div_ceil(self.sampling_step())
    }

    fn in_flight_count(&self) -> usize {
        self.in_flight.values().map(Vec::len).sum()
    }

    /// One of so many messages under way is told.
    fn sampling_step(&self) -> usize {
        self.in_flight_count().div_ceil(IN_FLIGHT_MOST).max(1)
    }

    /// How many messages of each kind have left.
    pub(crate) fn sent(&self) -> &BTreeMap<String, u64> {
        &self.sent
    }

    /// How many have been lost.
    pub(crate) fn lost(&self) -> u64 {
        self.lost
    }
}
