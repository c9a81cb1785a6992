//! State at the start of a recorded part of a run. A reader who starts in the middle needs to know the crashed
//! processes, the last output of each process, the suspicions of detectors and the messages in flight.

use std::collections::BTreeMap;

use quorate_sim::trace::{Record, RecordKind};

/// Maximum number of messages in flight that are listed; the others are only counted.
const IN_FLIGHT_MOST: usize = 500;

/// Records that are still relevant, and counts of the others.
#[derive(Clone, Debug, Default)]
pub(crate) struct RunPrefix {
    /// Messages in flight in the order of sending; twice if there are two copies.
    in_flight: BTreeMap<u64, Vec<Record>>,
    /// Last annotated record of each process.
    annotations: BTreeMap<u32, Record>,
    /// Latest suspicion by observer and suspect.
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

    /// Relevant records in the order of their events. Of many messages in flight, an even selection.
    pub(crate) fn records(&self) -> Vec<&Record> {
        let in_flight = self.in_flight.values().flatten().step_by(self.sampling_step());
        let others =
            self.annotations.values().chain(self.suspicions.values()).chain(self.down.values());
        let mut records: Vec<&Record> = in_flight.chain(others).collect();
        records.sort_by_key(|record| record.event);
        records
    }

    /// Number of messages in flight that are not among the records.
    pub(crate) fn omitted(&self) -> usize {
        self.in_flight_count() - self.in_flight_count().div_ceil(self.sampling_step())
    }

    fn in_flight_count(&self) -> usize {
        self.in_flight.values().map(Vec::len).sum()
    }

    /// Every n-th message in flight is listed.
    fn sampling_step(&self) -> usize {
        self.in_flight_count().div_ceil(IN_FLIGHT_MOST).max(1)
    }

    /// Number of sent messages of each kind.
    pub(crate) fn sent(&self) -> &BTreeMap<String, u64> {
        &self.sent
    }

    /// Number of lost messages.
    pub(crate) fn lost(&self) -> u64 {
        self.lost
    }
}
