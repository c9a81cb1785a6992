//! Chandy and Lamport's snapshot: a marker on every channel separates the messages before the cut from those after it.
//!
//! - **Source**: Chandy and Lamport, "Distributed Snapshots: Determining Global States of Distributed Systems", ACM Transactions on
//!   Computer Systems 3(1), 1985.
//! - **Assumes**: links that lose nothing, duplicate nothing and keep the order of messages; no crashes.
//! - **Guarantees**: consistent-cut, channel-state and completion. The recorded state need never have occurred, but it is reachable
//!   from the state in which the snapshot began, and the state in which it ends is reachable from it.
//! - **Costs**: n(n - 1) markers per snapshot; a snapshot is complete after two message delays.
//! - **Departs from the paper**: the network is complete. A marker names its snapshot, so that snapshots of different processes, and
//!   several of one process, may overlap; each is an instance of the paper's algorithm. Recorded states stay where they are: the
//!   paper leaves open how they are collected.
//!
//! ```text
//!                first marker, or a command                     a marker from each other process
//!   not recorded ---------------------------> recording channels --------------------------------> complete
//!                record the own state,         record messages on each channel
//!                send markers                  until its marker comes
//! ```

use alloc::vec::Vec;
use core::convert::Infallible;
use core::fmt::Debug;
use core::hash::Hash;
use core::marker::PhantomData;

use quorate_core::snapshot::{Command, Misuse, Output, SnapshotId, Transfer};
use quorate_core::{
    Assumption, Cost, Effects, Kind, Layer, Message as CoreMessage, Process, ProcessId, ProcessSet,
    Profile, Property, SortedMap,
};

use super::common::Account;
use crate::{Algorithm, Setup, Sound, Step};

/// One process of Chandy and Lamport's algorithm.
pub type ChandyLamport = MarkerSnapshot<OrderedLinks>;

/// The links that a variant of the algorithm assumes. The algorithm and its specimen differ only in this.
pub trait LinkOrder: Clone + Eq + Hash + Debug + Send + Sync {
    /// The profile of the algorithm over such links.
    const PROFILE: Profile;
}

/// The paper's links, which keep the order of messages.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct OrderedLinks;

/// A process that records its state at the first marker, over links with the order `L`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MarkerSnapshot<L> {
    account: Account,
    /// Number of snapshots that this process has begun.
    begun: u64,
    /// Snapshots for which the own state is recorded. Each has the channels whose marker has not come yet, with the
    /// messages that have arrived on them since.
    open: SortedMap<SnapshotId, SortedMap<ProcessId, Vec<Transfer>>>,
    links: PhantomData<L>,
}

/// The messages of the computation and of the algorithm.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// Money for the receiver.
    Transfer(Transfer),
    /// Messages before this one belong to the snapshot, later ones do not.
    Marker(SnapshotId),
}

impl CoreMessage for Message {
    const KINDS: &'static [Kind] = &[Kind::snapshot("TRANSFER"), Kind::snapshot("MARKER")];

    fn kind(&self) -> usize {
        match self {
            Self::Transfer(_) => 0,
            Self::Marker(_) => 1,
        }
    }

    fn bytes(&self) -> Option<u64> {
        Some(1 + 2 * 8)
    }
}

impl<L: LinkOrder> MarkerSnapshot<L> {
    fn new(setup: &Setup, id: ProcessId) -> Self {
        let (account, open) = (Account::new(setup, id), SortedMap::new());
        Self { account, begun: 0, open, links: PhantomData }
    }

    /// Records the own state and tells all others. The channels of `channels` are recorded until their markers come.
    fn record(&mut self, snapshot: SnapshotId, channels: ProcessSet, out: &mut Effects<Self>) {
        out.output(Output::Recorded { snapshot, balance: self.account.balance });
        let channels = channels.iter().map(|from| (from, Vec::new())).collect();
        self.open.insert(snapshot, channels);
        out.send_to_others(Message::Marker(snapshot));
    }

    fn complete_if_closed(&self, snapshot: SnapshotId, out: &mut Effects<Self>) {
        if self.open.get(&snapshot).is_some_and(SortedMap::is_empty) {
            out.output(Output::Completed { snapshot });
        }
    }

    fn on_marker(&mut self, from: ProcessId, snapshot: SnapshotId, out: &mut Effects<Self>) {
        let transfers = match self.open.get_mut(&snapshot) {
            // Everything that was sent before the marker was received before the state was recorded.
            None => {
                let mut others = ProcessSet::others(self.account.n, self.account.owner);
                others.remove(from);
                self.record(snapshot, others, out);
                Vec::new()
            }
            Some(channels) => match channels.remove(&from) {
                Some(transfers) => transfers,
                None => return out.ignored("a second marker on one channel"),
            },
        };
        out.output(Output::RecordedChannel { snapshot, from, transfers });
        self.complete_if_closed(snapshot, out);
    }
}

impl<L: LinkOrder> Process for MarkerSnapshot<L> {
    type Command = Command;
    type Message = Message;
    type Timer = Infallible;
    type Output = Output;
    type Misuse = Misuse;

    fn on_command(&mut self, command: Command, out: &mut Effects<Self>) -> Result<(), Misuse> {
        match command {
            Command::Transfer { to, amount } => {
                let transfer = self.account.withdraw(to, amount)?;
                out.send(to, Message::Transfer(transfer));
            }
            Command::Record => {
                let owner = self.account.owner;
                let snapshot = SnapshotId { initiator: owner, number: self.begun };
                self.begun += 1;
                self.record(snapshot, ProcessSet::others(self.account.n, owner), out);
                self.complete_if_closed(snapshot, out);
            }
        }
        Ok(())
    }

    fn on_message(&mut self, from: ProcessId, message: Message, out: &mut Effects<Self>) {
        match message {
            Message::Transfer(transfer) => {
                self.account.deposit(transfer);
                out.output(Output::Received { from, transfer });
                for channels in self.open.values_mut() {
                    if let Some(transfers) = channels.get_mut(&from) {
                        transfers.push(transfer);
                    }
                }
            }
            Message::Marker(snapshot) => self.on_marker(from, snapshot, out),
        }
    }
}

impl<L: LinkOrder> Algorithm for MarkerSnapshot<L> {
    const PROFILE: Profile = L::PROFILE;

    const STEPS: &'static [Step] = &[
        Step::on("Transfer", "a step of the computation: send TRANSFER(amount)"),
        Step::on(
            "TRANSFER",
            "TRANSFER(amount) from j: receive it; if the channel from j is being recorded, note it there",
        ),
        Step::on(
            "Record",
            "record the own state; send MARKER to all others; record every incoming channel from now on",
        ),
        Step::doing(
            "MARKER",
            "MARKER",
            "the first MARKER of a snapshot, from j: record the own state; the channel from j is empty; send MARKER to all others; record the other channels",
        ),
        Step::doing(
            "MARKER",
            "Completed",
            "MARKER from j closes the last channel: the own part of the snapshot is complete",
        ),
        Step::on(
            "MARKER",
            "MARKER from j: the channel from j contained what was noted since the state was recorded",
        ),
    ];

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

impl LinkOrder for OrderedLinks {
    const PROFILE: Profile = Profile {
        name: "chandy-lamport",
        layer: Layer::Snapshot,
        summary: "a marker on every channel separates what is before the cut from what is after it",
        source: "Chandy and Lamport, ACM TOCS 3(1), 1985",
        specimen: None,
        assumes: &[
            Assumption::NoLoss,
            Assumption::NoDuplication,
            Assumption::Fifo,
            Assumption::NoCrash,
            Assumption::Honesty,
        ],
        guarantees: &[
            Property::ConsistentCut,
            Property::ChannelState,
            Property::SnapshotTermination,
        ],
        cost: "n(n - 1) markers per snapshot, beside the messages of the computation",
        never_quiescent: false,
    };
}

impl Sound for ChandyLamport {}

#[cfg(test)]
mod tests {
    use std::format;
    use std::string::String;

    use quorate_core::{Effect, Time};

    use super::*;

    const COIN: Transfer = Transfer { id: 0, amount: 1 };

    fn p(number: u32) -> ProcessId {
        ProcessId::new(number)
    }

    fn process(number: u32, n: usize) -> ChandyLamport {
        ChandyLamport::build(&Setup::new(n), p(number))
    }

    fn snapshot() -> SnapshotId {
        SnapshotId { initiator: p(0), number: 0 }
    }

    /// The effects of an input, in short.
    fn effects(act: impl FnOnce(&mut Effects<ChandyLamport>)) -> Vec<String> {
        let mut out = Effects::new(Time(0));
        act(&mut out);
        let shown = |effect: Effect<ChandyLamport>| match effect {
            Effect::Send { to, message } => {
                format!("{} to {to}", Message::KINDS[message.kind()].name)
            }
            Effect::Multicast { message, .. } => Message::KINDS[message.kind()].name.into(),
            Effect::Output(Output::Recorded { balance, .. }) => format!("state {balance}"),
            Effect::Output(Output::RecordedChannel { from, transfers, .. }) => {
                format!("channel {from} {}", transfers.len())
            }
            Effect::Output(Output::Received { .. }) => "received".into(),
            Effect::Output(Output::Completed { .. }) => "complete".into(),
            _ => "other".into(),
        };
        out.drain().map(shown).collect()
    }

    fn receive(process: &mut ChandyLamport, from: u32, message: Message) -> Vec<String> {
        effects(|out| process.on_message(p(from), message, out))
    }

    #[test]
    fn the_first_marker_records_and_its_channel_is_empty() {
        let mut process = process(1, 3);
        let marker = || Message::Marker(snapshot());
        assert_eq!(receive(&mut process, 0, marker()), ["state 100", "MARKER", "channel p0 0"]);
        assert_eq!(receive(&mut process, 2, Message::Transfer(COIN)), ["received"]);
        assert_eq!(receive(&mut process, 0, Message::Transfer(COIN)), ["received"]);
        assert_eq!(receive(&mut process, 2, marker()), ["channel p2 1", "complete"]);
        assert_eq!(receive(&mut process, 2, marker()), ["other"], "a marker comes once");
    }

    #[test]
    fn the_initiator_awaits_all_markers() {
        let mut process = process(0, 3);
        let begun = effects(|out| process.on_command(Command::Record, out).unwrap());
        assert_eq!(begun, ["state 100", "MARKER"]);
        assert_eq!(receive(&mut process, 1, Message::Transfer(COIN)), ["received"]);
        assert_eq!(receive(&mut process, 1, Message::Marker(snapshot())), ["channel p1 1"]);
        let last = receive(&mut process, 2, Message::Marker(snapshot()));
        assert_eq!(last, ["channel p2 0", "complete"]);
    }

    #[test]
    fn one_process_alone_is_complete_at_once() {
        let mut alone = process(0, 1);
        let begun = effects(|out| alone.on_command(Command::Record, out).unwrap());
        assert_eq!(begun, ["state 100", "MARKER", "complete"]);
        let mut out = Effects::new(Time(0));
        let own = Command::Transfer { to: p(0), amount: 1 };
        assert_eq!(alone.on_command(own, &mut out), Err(Misuse::NoSuchAccount(p(0))));
    }
}
