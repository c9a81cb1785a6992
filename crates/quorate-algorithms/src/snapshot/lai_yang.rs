//! Lai and Yang's snapshot: every message has the colour of its sender, and histories of messages replace markers.
//!
//! - **Source**: Lai and Yang, "On Distributed Snapshots", Information Processing Letters 25(3), 1987.
//! - **Assumes**: links that lose nothing and duplicate nothing; no crashes. Any order of messages on a link.
//! - **Guarantees**: consistent-cut, channel-state and completion.
//! - **Costs**: n(n - 1) reports per snapshot; a snapshot is complete after two message delays. A report grows with the number of
//!   messages that were sent on its channel, and a message of the computation with the number of processes that began snapshots.
//! - **Departs from the paper**: a process sends its history of each channel to the receiver of that channel, which computes the state
//!   of the channel; the paper collects all histories in one place. These reports are red, so that every process turns red even if
//!   the computation sends nothing. Each snapshot has a colour of its own, so that snapshots may overlap. The snapshots of one
//!   process are numbered, and a process that is red for one of them is red for all earlier ones, so that a number for each initiator is
//!   enough. Histories are kept whole.
//!
//! ```text
//!           a red message, or a command                                a report from each other process
//!   white ------------------------------> red, with reports missing -----------------------------------> complete
//!           record the own state,           channel := white messages sent
//!           report white messages sent                 - white messages received
//! ```

use alloc::vec::Vec;
use core::convert::Infallible;

use quorate_core::snapshot::{Command, Misuse, Output, SnapshotId, Transfer};
use quorate_core::{
    Assumption, Cost, Effects, Kind, Layer, Message as CoreMessage, Process, ProcessId, ProcessSet,
    Profile, Property, SortedMap, VectorClock,
};

use super::common::Account;
use crate::{Algorithm, Setup, Sound};

/// One process of Lai and Yang's algorithm.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LaiYang {
    account: Account,
    /// The colours of the process: the number of snapshots of each initiator for which it is red.
    red: VectorClock,
    /// All messages sent to each process.
    sent: SortedMap<ProcessId, Vec<Transfer>>,
    /// All messages received from each process, in the order of receipt.
    received: SortedMap<ProcessId, Vec<Transfer>>,
    /// The snapshots that this process has not completed.
    open: SortedMap<SnapshotId, OpenSnapshot>,
}

/// A snapshot for which the own state is recorded.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct OpenSnapshot {
    /// Number of white messages received from each process.
    white: SortedMap<ProcessId, usize>,
    /// Processes whose report is missing.
    missing: ProcessSet,
}

/// The messages of the computation and of the algorithm.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// Money for the receiver, with the colours of the sender.
    Transfer(Transfer, VectorClock),
    /// All white messages that the sender has sent to the receiver. The sender is red.
    Report(SnapshotId, Vec<Transfer>),
}

impl CoreMessage for Message {
    const KINDS: &'static [Kind] = &[Kind::snapshot("TRANSFER"), Kind::snapshot("REPORT")];

    fn kind(&self) -> usize {
        match self {
            Self::Transfer(..) => 0,
            Self::Report(..) => 1,
        }
    }

    fn bytes(&self) -> Option<u64> {
        Some(match self {
            Self::Transfer(_, colours) => 1 + 2 * 8 + 8 * colours.iter().count() as u64,
            Self::Report(_, transfers) => 1 + 2 * 8 + 16 * transfers.len() as u64,
        })
    }
}

impl LaiYang {
    fn new(setup: &Setup, id: ProcessId) -> Self {
        Self {
            account: Account::new(setup, id),
            red: VectorClock::new(),
            sent: SortedMap::new(),
            received: SortedMap::new(),
            open: SortedMap::new(),
        }
    }

    /// Turns red for all snapshots of an initiator that are among the first `count`.
    fn turn_red(&mut self, initiator: ProcessId, count: u64, out: &mut Effects<Self>) {
        while self.red.of(initiator) < count {
            let snapshot = SnapshotId { initiator, number: self.red.of(initiator) };
            self.red.tick(initiator);
            self.record(snapshot, out);
        }
    }

    fn record(&mut self, snapshot: SnapshotId, out: &mut Effects<Self>) {
        out.output(Output::Recorded { snapshot, balance: self.account.balance });
        let missing = ProcessSet::others(self.account.n, self.account.owner);
        for other in &missing {
            let sent = self.sent.get(&other).cloned().unwrap_or_default();
            out.send(other, Message::Report(snapshot, sent));
        }
        let white = self.received.iter().map(|(from, all)| (*from, all.len())).collect();
        self.open.insert(snapshot, OpenSnapshot { white, missing });
        self.complete_if_reported(snapshot, out);
    }

    fn complete_if_reported(&mut self, snapshot: SnapshotId, out: &mut Effects<Self>) {
        if self.open.get(&snapshot).is_some_and(|open| open.missing.is_empty()) {
            self.open.remove(&snapshot);
            out.output(Output::Completed { snapshot });
        }
    }

    fn on_report(
        &mut self,
        from: ProcessId,
        snapshot: SnapshotId,
        mut transfers: Vec<Transfer>,
        out: &mut Effects<Self>,
    ) {
        self.turn_red(snapshot.initiator, snapshot.number + 1, out);
        let Some(open) = self.open.get_mut(&snapshot) else {
            return out.ignored("a report for a snapshot that is complete");
        };
        if !open.missing.remove(from) {
            return out.ignored("a second report on one channel");
        }
        let white = open.white.get(&from).copied().unwrap_or(0);
        let received = self.received.get(&from).map_or(&[][..], |all| &all[..white]);
        transfers.retain(|transfer| !received.contains(transfer));
        out.output(Output::RecordedChannel { snapshot, from, transfers });
        self.complete_if_reported(snapshot, out);
    }
}

impl Process for LaiYang {
    type Command = Command;
    type Message = Message;
    type Timer = Infallible;
    type Output = Output;
    type Misuse = Misuse;

    fn on_command(&mut self, command: Command, out: &mut Effects<Self>) -> Result<(), Misuse> {
        match command {
            Command::Transfer { to, amount } => {
                let transfer = self.account.withdraw(to, amount)?;
                self.sent.entry(to).or_default().push(transfer);
                out.send(to, Message::Transfer(transfer, self.red.clone()));
            }
            Command::Record => {
                let owner = self.account.owner;
                self.turn_red(owner, self.red.of(owner) + 1, out);
            }
        }
        Ok(())
    }

    fn on_message(&mut self, from: ProcessId, message: Message, out: &mut Effects<Self>) {
        match message {
            Message::Transfer(transfer, colours) => {
                // A white process turns red before it receives a red message.
                for (initiator, count) in colours.iter() {
                    self.turn_red(initiator, count, out);
                }
                self.account.deposit(transfer);
                self.received.entry(from).or_default().push(transfer);
                out.output(Output::Received { from, transfer });
            }
            Message::Report(snapshot, sent) => self.on_report(from, snapshot, sent, out),
        }
    }
}

impl Algorithm for LaiYang {
    const PROFILE: Profile = Profile {
        name: "lai-yang",
        layer: Layer::Snapshot,
        summary: "messages have the colour of their sender, and histories replace markers",
        source: "Lai and Yang, Information Processing Letters 25(3), 1987",
        specimen: None,
        assumes: &[
            Assumption::NoLoss,
            Assumption::NoDuplication,
            Assumption::NoCrash,
            Assumption::Honesty,
        ],
        guarantees: &[
            Property::ConsistentCut,
            Property::ChannelState,
            Property::SnapshotTermination,
        ],
        cost: "n(n - 1) reports per snapshot, beside the messages of the computation",
        never_quiescent: false,
    };

    fn build(setup: &Setup, id: ProcessId) -> Self {
        Self::new(setup, id)
    }

    fn cost(setup: &Setup) -> Cost {
        let n = setup.n as u64;
        Cost::exact("n(n - 1)", n * (n - 1))
            .with_delays(1..=2, 0..=0)
            .without_delays_if_single(setup.n)
    }
}

impl Sound for LaiYang {}

#[cfg(test)]
mod tests {
    use std::format;
    use std::string::String;
    use std::vec;

    use quorate_core::{Effect, Time};

    use super::*;

    fn p(number: u32) -> ProcessId {
        ProcessId::new(number)
    }

    fn coin(id: u64) -> Transfer {
        Transfer { id, amount: 1 }
    }

    fn receive(process: &mut LaiYang, from: u32, message: Message) -> Vec<String> {
        let mut out = Effects::new(Time(0));
        process.on_message(p(from), message, &mut out);
        let shown = |effect: Effect<LaiYang>| match effect {
            Effect::Send { to, message: Message::Report(_, sent) } => {
                format!("report {} to {to}", sent.len())
            }
            Effect::Output(Output::Recorded { balance, .. }) => format!("state {balance}"),
            Effect::Output(Output::RecordedChannel { transfers, .. }) => {
                format!("channel {:?}", transfers.iter().map(|it| it.id).collect::<Vec<_>>())
            }
            Effect::Output(Output::Received { .. }) => "received".into(),
            Effect::Output(Output::Completed { .. }) => "complete".into(),
            _ => "other".into(),
        };
        out.drain().map(shown).collect()
    }

    #[test]
    fn a_red_message_is_received_after_the_state_is_recorded() {
        let mut process = LaiYang::build(&Setup::new(2), p(1));
        let mut red = VectorClock::new();
        red.tick(p(0));
        let transfer = Message::Transfer(coin(1), red);
        assert_eq!(receive(&mut process, 0, transfer), ["state 100", "report 0 to p0", "received"]);
        let snapshot = SnapshotId { initiator: p(0), number: 0 };
        let report = Message::Report(snapshot, vec![coin(0)]);
        assert_eq!(receive(&mut process, 0, report.clone()), ["channel [0]", "complete"]);
        assert_eq!(receive(&mut process, 0, report), ["other"], "it is complete");
    }

    #[test]
    fn a_channel_has_the_white_messages_that_have_not_arrived() {
        let mut process = LaiYang::build(&Setup::new(2), p(1));
        let white = |id| Message::Transfer(coin(id), VectorClock::new());
        assert_eq!(receive(&mut process, 0, white(1)), ["received"]);
        let snapshot = SnapshotId { initiator: p(0), number: 0 };
        let report = Message::Report(snapshot, vec![coin(0), coin(1)]);
        let recorded = ["state 101", "report 0 to p0", "channel [0]", "complete"];
        assert_eq!(receive(&mut process, 0, report), recorded);
        assert_eq!(receive(&mut process, 0, white(0)), ["received"], "late, and in the channel");
    }

    #[test]
    fn a_report_has_the_white_messages_sent_and_a_late_one_is_in_the_channel() {
        let mut process = LaiYang::build(&Setup::new(3), p(1));
        let mut out = Effects::new(Time(0));
        process.on_command(Command::Transfer { to: p(0), amount: 1 }, &mut out).unwrap();
        let snapshot = SnapshotId { initiator: p(2), number: 0 };
        let recorded = ["state 99", "report 1 to p0", "report 0 to p2", "channel []"];
        assert_eq!(receive(&mut process, 2, Message::Report(snapshot, vec![])), recorded);
        let late = Message::Transfer(coin(0), VectorClock::new());
        assert_eq!(receive(&mut process, 0, late), ["received"]);
        let report = Message::Report(snapshot, vec![coin(0)]);
        assert_eq!(receive(&mut process, 0, report), ["channel [0]", "complete"]);
    }

    #[test]
    fn a_later_snapshot_of_a_process_implies_its_earlier_ones() {
        let mut process = LaiYang::build(&Setup::new(2), p(1));
        let second = SnapshotId { initiator: p(0), number: 1 };
        let seen = receive(&mut process, 0, Message::Report(second, vec![]));
        let state = "state 100";
        let report = "report 0 to p0";
        assert_eq!(seen, [state, report, state, report, "channel []", "complete"]);
    }
}
