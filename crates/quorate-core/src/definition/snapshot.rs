//! Snapshots: consistent cut, exact channel states and completion.
//!
//! A [`Ledger`] has everything that the user of one process observes. The properties compare the ledgers of all processes. A
//! transfer is identified by its sender and its number, so that a cut is judged by the messages themselves and not by sums.

use alloc::vec::Vec;

use crate::snapshot::{Command, Output, SnapshotId, Transfer};
use crate::{ProcessId, ProcessSet, SortedMap};

/// The transfers and recorded states of one process, as its user observes them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Ledger {
    /// Whether the process has not crashed. Nothing is expected of one that has.
    pub live: bool,
    balance: i64,
    sent: Vec<(ProcessId, u64)>,
    received: Vec<(ProcessId, Transfer)>,
    begun: u64,
    cuts: SortedMap<SnapshotId, Cut>,
}

/// The place of a snapshot in the history of one process, and what the process has recorded.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Cut {
    /// Number of transfers sent before.
    sent: usize,
    /// Number of transfers received before.
    received: usize,
    /// Whether the recorded balance was the balance at that moment.
    is_true: bool,
    channels: SortedMap<ProcessId, Vec<Transfer>>,
    completed: bool,
}

impl Ledger {
    /// The ledger of a process that starts with this balance.
    pub fn new(balance: i64) -> Self {
        let (sent, received, cuts) = (Vec::new(), Vec::new(), SortedMap::new());
        Self { live: true, balance, sent, received, begun: 0, cuts }
    }

    /// The process has accepted a command.
    pub fn on_command(&mut self, command: &Command) {
        match *command {
            Command::Transfer { to, amount } => {
                self.balance -= amount as i64;
                self.sent.push((to, amount));
            }
            Command::Record => self.begun += 1,
        }
    }

    /// The process has produced an output.
    pub fn on_output(&mut self, output: &Output) {
        match output {
            Output::Received { from, transfer } => {
                self.balance += transfer.amount as i64;
                self.received.push((*from, *transfer));
            }
            Output::Recorded { snapshot, balance } => {
                let (sent, received) = (self.sent.len(), self.received.len());
                let (is_true, channels) = (*balance == self.balance, SortedMap::new());
                let cut = Cut { sent, received, is_true, channels, completed: false };
                self.cuts.insert(*snapshot, cut);
            }
            Output::RecordedChannel { snapshot, from, transfers } => {
                if let Some(cut) = self.cuts.get_mut(snapshot) {
                    cut.channels.insert(*from, transfers.clone());
                }
            }
            Output::Completed { snapshot } => {
                if let Some(cut) = self.cuts.get_mut(snapshot) {
                    cut.completed = true;
                }
            }
        }
    }

    /// Number of snapshots that this process began.
    pub fn begun(&self) -> u64 {
        self.begun
    }

    /// Number of transfers that this process has sent.
    pub fn transfers(&self) -> usize {
        self.sent.len()
    }

    /// The snapshots for which this process has recorded its state.
    pub fn snapshots(&self) -> impl Iterator<Item = SnapshotId> {
        self.cuts.keys().copied()
    }

    /// Whether this process has completed its part of a snapshot.
    pub fn has_completed(&self, snapshot: SnapshotId) -> bool {
        self.cuts.get(&snapshot).is_some_and(|cut| cut.completed)
    }

    /// Transfers to `to` that this process sent before the cut.
    fn sent_before(&self, cut: &Cut, to: ProcessId) -> impl Iterator<Item = Transfer> {
        let sent = self.sent[..cut.sent].iter().zip(0..);
        sent.filter(move |((receiver, _), _)| *receiver == to)
            .map(|((_, amount), id)| Transfer { id, amount: *amount })
    }

    /// Transfers from `from` that this process received before the cut.
    fn received_before(&self, cut: &Cut, from: ProcessId) -> impl Iterator<Item = Transfer> {
        let received = self.received[..cut.received].iter();
        received.filter(move |(sender, _)| *sender == from).map(|(_, transfer)| *transfer)
    }
}

/// The reason why a cut is not consistent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inconsistency {
    /// The recorded balance is not the one that the process had at that moment.
    WrongState(ProcessId),
    /// The cut contains the receipt of this transfer, but not its sending.
    Orphan {
        /// The sender of the transfer.
        from: ProcessId,
        /// The receiver of the transfer.
        to: ProcessId,
        /// The transfer that is received before it is sent.
        transfer: Transfer,
    },
}

/// Consistent cut: every recorded state is one that the process had, and no recorded state contains the receipt of a message whose
/// sending is not recorded. Judges the processes that have recorded their state. `ledgers` are in the order of process numbers.
pub fn inconsistency(ledgers: &[&Ledger], snapshot: SnapshotId) -> Option<Inconsistency> {
    for (to, receiver) in ProcessId::all(ledgers.len()).zip(ledgers) {
        let Some(cut) = receiver.cuts.get(&snapshot) else { continue };
        if !cut.is_true {
            return Some(Inconsistency::WrongState(to));
        }
        for (from, sender) in ProcessId::all(ledgers.len()).zip(ledgers) {
            let Some(sending) = sender.cuts.get(&snapshot) else { continue };
            let mut received = receiver.received_before(cut, from);
            if let Some(transfer) = received.find(|it| it.id >= sending.sent as u64) {
                return Some(Inconsistency::Orphan { from, to, transfer });
            }
        }
    }
    None
}

/// Channel state: the recorded state of a channel has exactly the messages that were sent before the cut and received after it. Judges
/// the channels between processes that have recorded both. Returns the ends of a channel of which another state was recorded.
pub fn wrong_channel(ledgers: &[&Ledger], snapshot: SnapshotId) -> Option<(ProcessId, ProcessId)> {
    for (to, receiver) in ProcessId::all(ledgers.len()).zip(ledgers) {
        let Some(cut) = receiver.cuts.get(&snapshot) else { continue };
        for (from, recorded) in &cut.channels {
            let Some(sender) = ledgers.get(from.index()) else { return Some((*from, to)) };
            let Some(sending) = sender.cuts.get(&snapshot) else { continue };
            let mut in_flight: Vec<Transfer> = sender.sent_before(sending, to).collect();
            for transfer in receiver.received_before(cut, *from) {
                in_flight.retain(|other| *other != transfer);
            }
            let mut recorded = recorded.clone();
            recorded.sort_unstable();
            if recorded != in_flight {
                return Some((*from, to));
            }
        }
    }
    None
}

/// Completion: every live process records its state for every snapshot that was begun, and the states of all channels from live
/// processes, and then completes. Returns the live processes that have not.
pub fn incomplete(ledgers: &[&Ledger], snapshot: SnapshotId) -> ProcessSet {
    let live = || ProcessId::all(ledgers.len()).zip(ledgers).filter(|(_, ledger)| ledger.live);
    let is_whole = |process: ProcessId, ledger: &Ledger| {
        ledger.cuts.get(&snapshot).is_some_and(|cut| {
            let mut others = live().filter(|(other, _)| *other != process);
            cut.completed && others.all(|(other, _)| cut.channels.contains_key(&other))
        })
    };
    live()
        .filter(|(process, ledger)| !is_whole(*process, ledger))
        .map(|(process, _)| process)
        .collect()
}

/// All snapshots that were begun by live processes, or for which some process has recorded its state.
pub fn begun(ledgers: &[&Ledger]) -> Vec<SnapshotId> {
    let mut all: Vec<SnapshotId> = Vec::new();
    for (initiator, ledger) in ProcessId::all(ledgers.len()).zip(ledgers) {
        let begun = if ledger.live { ledger.begun } else { 0 };
        all.extend((0..begun).map(|number| SnapshotId { initiator, number }));
        all.extend(ledger.snapshots());
    }
    all.sort_unstable();
    all.dedup();
    all
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;

    const P: [ProcessId; 2] = [ProcessId::new(0), ProcessId::new(1)];
    const SNAPSHOT: SnapshotId = SnapshotId { initiator: P[0], number: 0 };
    const COIN: Transfer = Transfer { id: 0, amount: 1 };

    fn ledgers() -> [Ledger; 2] {
        [Ledger::new(10), Ledger::new(10)]
    }

    fn record(ledger: &mut Ledger, balance: i64) {
        ledger.on_output(&Output::Recorded { snapshot: SNAPSHOT, balance });
    }

    fn channel(ledger: &mut Ledger, from: ProcessId, transfers: Vec<Transfer>) {
        ledger.on_output(&Output::RecordedChannel { snapshot: SNAPSHOT, from, transfers });
    }

    #[test]
    fn a_receipt_without_its_sending_is_an_orphan() {
        let [mut sender, mut receiver] = ledgers();
        record(&mut sender, 10);
        sender.on_command(&Command::Transfer { to: P[1], amount: 1 });
        receiver.on_output(&Output::Received { from: P[0], transfer: COIN });
        assert_eq!(inconsistency(&[&sender, &receiver], SNAPSHOT), None, "one has not recorded");
        record(&mut receiver, 11);
        let orphan = Inconsistency::Orphan { from: P[0], to: P[1], transfer: COIN };
        assert_eq!(inconsistency(&[&sender, &receiver], SNAPSHOT), Some(orphan));
    }

    #[test]
    fn a_balance_must_be_the_one_at_that_moment() {
        let [mut one, other] = ledgers();
        one.on_command(&Command::Transfer { to: P[1], amount: 1 });
        record(&mut one, 10);
        let wrong = Inconsistency::WrongState(P[0]);
        assert_eq!(inconsistency(&[&one, &other], SNAPSHOT), Some(wrong));
    }

    #[test]
    fn a_channel_has_what_was_sent_before_and_received_after() {
        for (recorded, wrong) in [(vec![COIN], None), (vec![], Some((P[0], P[1])))] {
            let [mut sender, mut receiver] = ledgers();
            sender.on_command(&Command::Transfer { to: P[1], amount: 1 });
            record(&mut sender, 9);
            record(&mut receiver, 10);
            receiver.on_output(&Output::Received { from: P[0], transfer: COIN });
            channel(&mut receiver, P[0], recorded);
            assert_eq!(wrong_channel(&[&sender, &receiver], SNAPSHOT), wrong);
        }
        let [mut sender, mut receiver] = ledgers();
        sender.on_command(&Command::Transfer { to: P[1], amount: 1 });
        record(&mut sender, 9);
        receiver.on_output(&Output::Received { from: P[0], transfer: COIN });
        record(&mut receiver, 11);
        channel(&mut receiver, P[0], vec![COIN]);
        let found = wrong_channel(&[&sender, &receiver], SNAPSHOT);
        assert_eq!(found, Some((P[0], P[1])), "it was received before");
    }

    #[test]
    fn live_processes_complete_what_was_begun() {
        let [mut one, mut other] = ledgers();
        one.on_command(&Command::Record);
        assert_eq!(begun(&[&one, &other]), [SNAPSHOT]);
        record(&mut one, 10);
        one.on_output(&Output::Completed { snapshot: SNAPSHOT });
        assert_eq!(incomplete(&[&one, &other], SNAPSHOT), P.into_iter().collect());
        other.live = false;
        assert!(incomplete(&[&one, &other], SNAPSHOT).is_empty(), "one alone needs no channel");
        other.live = true;
        channel(&mut one, P[1], vec![]);
        assert_eq!(incomplete(&[&one, &other], SNAPSHOT), [P[1]].into_iter().collect());
    }
}
