//! What came before a part of a run and still counts in it: whoever steps into the middle has to know who is down, what
//! each process last did, whom detectors suspect and which messages are under way.

use std::collections::BTreeMap;

use quorate_sim::trace::{Record, What};

/// More messages under way than this are counted, not told.
const OPEN_MOST: usize = 500;

/// The records that still count, and how much there was of what does not.
#[derive(Clone, Debug, Default)]
pub(crate) struct Earlier {
    /// Messages that have left and not arrived, in the order in which they left; twice if there are two copies.
    open: BTreeMap<u64, Vec<Record>>,
    /// What users last saw of each process.
    sights: BTreeMap<u32, Record>,
    /// Who suspects whom.
    beliefs: BTreeMap<(u32, u32), Record>,
    down: BTreeMap<u32, Record>,
    sent: BTreeMap<String, u64>,
    lost: u64,
}

impl Earlier {
    pub(crate) fn hear(&mut self, record: &Record) {
        let process = record.process;
        match &record.what {
            What::Send(letter) => {
                match self.sent.get_mut(letter.kind.as_ref()) {
                    Some(count) => *count += 1,
                    None => drop(self.sent.insert(letter.kind.clone().into_owned(), 1)),
                }
                self.open.entry(letter.message).or_default().push(record.clone());
            }
            What::Duplicate(letter) => {
                self.open.entry(letter.message).or_default().push(record.clone());
            }
            What::Deliver(letter) => self.arrive(letter.message),
            What::Lose { letter, .. } => {
                self.lost += 1;
                self.arrive(letter.message);
            }
            What::Command { sight, .. } | What::Output { sight, .. } if sight.mark.is_some() => {
                self.sights.insert(process, record.clone());
            }
            What::Belief { about, crashed: true } => {
                self.beliefs.insert((process, *about), record.clone());
            }
            What::Belief { about, crashed: false } => {
                self.beliefs.remove(&(process, *about));
            }
            What::Crash => {
                self.down.insert(process, record.clone());
            }
            What::Recover { memory } => {
                self.down.remove(&process);
                if !memory {
                    self.beliefs.retain(|(observer, _), _| *observer != process);
                }
            }
            _ => {}
        }
    }

    fn arrive(&mut self, message: u64) {
        if let Some(copies) = self.open.get_mut(&message) {
            copies.remove(0);
            if copies.is_empty() {
                self.open.remove(&message);
            }
        }
    }

    /// The records that count, in the order of their events; of many messages under way an even choice.
    pub(crate) fn records(&self) -> Vec<&Record> {
        let open = self.open.values().flatten().step_by(self.every());
        let others = self.sights.values().chain(self.beliefs.values()).chain(self.down.values());
        let mut records: Vec<&Record> = open.chain(others).collect();
        records.sort_by_key(|record| record.event);
        records
    }

    /// How many messages are under way that are not among the records.
    pub(crate) fn untold(&self) -> usize {
        self.under_way() - self.under_way().div_ceil(self.every())
    }

    fn under_way(&self) -> usize {
        self.open.values().map(Vec::len).sum()
    }

    /// One of so many messages under way is told.
    fn every(&self) -> usize {
        self.under_way().div_ceil(OPEN_MOST).max(1)
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
