//! VCube multicast: a message travels down a spanning tree that is built on demand and repaired when a relay crashes.
//!
//! - **Source**: Rodrigues, Arantes and Duarte, "An Autonomic Implementation of Reliable Broadcast Based on Dynamic
//!   Spanning Trees", EDCC 2014.
//! - **Assumes**: a perfect detector; crashed processes do not recover; links that lose nothing. Any
//!   order; duplicates are tolerated.
//! - **Guarantees**: validity, integrity and agreement: every live member delivers once, or none does.
//! - **Costs**: n - 1 TREE messages without failures (to a group, one for each member but the sender) and as many ACKs;
//!   a message delay for each of at most log2 n levels.
//! - **Departs from the paper**: there are groups, and only their members relay. Acknowledged clusters are remembered,
//!   so that a repaired tree does not send again into clusters where all members have the message. A process that
//!   receives the message of a crashed sender covers all of its clusters, but acknowledges to its parent as soon as
//!   those below its cluster of the parent are done.
//!
//! A process that has the message covers clusters: for each, it sends TREE to the first live member and awaits ACK, which
//! confirms that the whole cluster has the message. The sender covers all of its clusters. A process that receives TREE
//! from j covers the clusters below its cluster of j, and sends ACK when they are done. If the awaited member crashes, TREE
//! goes to the next one. If the sender crashes, every process that has its last message covers all clusters.
//!
//! A sender begins its next message when the last one is everywhere. So only the last message of each sender can be
//! incomplete, and only this message is remembered. If an older one arrives again, it is acknowledged immediately.

use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;
use core::convert::Infallible;

use quorate_core::multicast::{Command, Content, Group, LastNumber, Misuse, Output};
use quorate_core::{
    Assumption, Belief, Cost, Effects, Kind, Layer, Process, ProcessId, ProcessSet, Profile,
    Property, SortedMap, SortedSet, VCube,
};

use crate::{Algorithm, Setup, Shape, Sound};

/// One process of the VCube multicast.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct VcubeMulticast {
    id: ProcessId,
    vcube: VCube,
    crashed: ProcessSet,
    /// The last message of each sender that this process has received.
    relays: SortedMap<ProcessId, Relay>,
    /// Messages of the user that wait for the current one to complete, in order.
    waiting: VecDeque<(u64, Group)>,
    last: LastNumber,
}

/// A message that this process relays.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Relay {
    id: u64,
    to: Group,
    /// The progress of each cluster, from the smallest.
    clusters: Vec<Progress>,
    /// Processes that await ACK for the clusters below their own.
    pending_acks: SortedSet<ProcessId>,
}

/// The progress of a message in a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Progress {
    /// This process does not cover the cluster so far.
    Open,
    /// This process has sent TREE to this member and awaits its ACK.
    Awaiting(ProcessId),
    /// Every live member has the message.
    Done,
}

/// The messages of the protocol.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// A message of `origin` that the receiver has to relay.
    Tree {
        /// The process that multicast the message.
        origin: ProcessId,
        /// The number of the message.
        id: u64,
        /// The members that receive the message.
        to: Group,
    },
    /// All members that were left to the sender of this ACK have the message.
    Ack {
        /// The process that multicast the message.
        origin: ProcessId,
        /// The number of the message.
        id: u64,
    },
}

impl Relay {
    fn new(id: u64, to: Group, clusters: u32) -> Self {
        let clusters = vec![Progress::Open; clusters as usize];
        Self { id, to, clusters, pending_acks: SortedSet::new() }
    }

    /// Whether the smallest `clusters` clusters are done.
    fn is_done(&self, clusters: u32) -> bool {
        self.clusters.iter().take(clusters as usize).all(|cluster| *cluster == Progress::Done)
    }
}

impl VcubeMulticast {
    /// Creates process `id` of `n`.
    pub fn new(n: usize, id: ProcessId) -> Self {
        Self {
            id,
            vcube: VCube::new(n),
            crashed: ProcessSet::new(),
            relays: SortedMap::new(),
            waiting: VecDeque::new(),
            last: LastNumber::default(),
        }
    }

    fn is_sending(&self) -> bool {
        self.relays.get(&self.id).is_some_and(|own| !own.is_done(self.vcube.dimension()))
    }

    /// Begins the waiting messages of the user, each once the previous one is everywhere.
    fn advance(&mut self, out: &mut Effects<Self>) {
        while !self.is_sending() {
            let Some((id, to)) = self.waiting.pop_front() else { return };
            self.receive(self.id, id, to, out);
            self.cover(self.id, self.vcube.clusters(), out);
            self.settle(self.id, out);
        }
    }

    /// Delivers a new message and stores it in place of the sender's last one.
    fn receive(&mut self, origin: ProcessId, id: u64, to: Group, out: &mut Effects<Self>) {
        if to.contains(self.id) {
            out.output(Output::Delivered { origin, id, body: Content::TRUE });
        }
        let new = Relay::new(id, to, self.vcube.dimension());
        // The sender knew that the old message is everywhere, so all outstanding ACKs for it can be sent.
        if let Some(old) = self.relays.insert(origin, new) {
            old.pending_acks
                .into_iter()
                .for_each(|parent| out.send(parent, Message::Ack { origin, id: old.id }));
        }
    }

    fn on_tree(
        &mut self,
        from: ProcessId,
        origin: ProcessId,
        id: u64,
        to: Group,
        out: &mut Effects<Self>,
    ) {
        let last = self.relays.get(&origin).map(|relay| relay.id);
        if last.is_some_and(|last| id < last) {
            return out.send(from, Message::Ack { origin, id });
        }
        if last != Some(id) {
            self.receive(origin, id, to, out);
            if self.crashed.contains(origin) {
                self.cover(origin, self.vcube.clusters(), out);
            }
        }
        if let Some(relay) = self.relays.get_mut(&origin) {
            relay.pending_acks.insert(from);
        }
        self.cover(origin, 1..self.vcube.cluster_of(self.id, from), out);
        self.settle(origin, out);
    }

    fn on_ack(&mut self, from: ProcessId, origin: ProcessId, id: u64, out: &mut Effects<Self>) {
        let Some(relay) = self.relays.get_mut(&origin).filter(|relay| relay.id == id) else {
            return out.ignored("an acknowledgement of an older message");
        };
        for cluster in &mut relay.clusters {
            if *cluster == Progress::Awaiting(from) {
                *cluster = Progress::Done;
            }
        }
        self.settle(origin, out);
        self.advance(out);
    }

    /// Sends the message into those of these clusters that are still open.
    fn cover(
        &mut self,
        origin: ProcessId,
        clusters: impl Iterator<Item = u32>,
        out: &mut Effects<Self>,
    ) {
        let Some(relay) = self.relays.get_mut(&origin) else { return };
        let mut recipients = ProcessSet::new();
        for s in clusters {
            let cluster = &mut relay.clusters[s as usize - 1];
            if *cluster == Progress::Open {
                let live = |member: &ProcessId| {
                    relay.to.contains(*member) && !self.crashed.contains(*member)
                };
                let first = self.vcube.cluster(self.id, s).find(live);
                *cluster = first.map_or(Progress::Done, Progress::Awaiting);
                recipients.extend(first);
            }
        }
        if !recipients.is_empty() {
            out.multicast(recipients, Message::Tree { origin, id: relay.id, to: relay.to.clone() });
        }
    }

    /// Sends the outstanding ACKs for clusters that are done.
    fn settle(&mut self, origin: ProcessId, out: &mut Effects<Self>) {
        let Some(relay) = self.relays.get_mut(&origin) else { return };
        for parent in core::mem::take(&mut relay.pending_acks) {
            if relay.is_done(self.vcube.cluster_of(self.id, parent) - 1) {
                out.send(parent, Message::Ack { origin, id: relay.id });
            } else {
                relay.pending_acks.insert(parent);
            }
        }
    }

    fn on_crash(&mut self, crashed: ProcessId, out: &mut Effects<Self>) {
        let origins: Vec<ProcessId> = self.relays.keys().copied().collect();
        for origin in origins {
            let Some(relay) = self.relays.get_mut(&origin) else { continue };
            relay.pending_acks.remove(&crashed);
            let awaited = Progress::Awaiting(crashed);
            if let Some(place) = relay.clusters.iter().position(|cluster| *cluster == awaited) {
                relay.clusters[place] = Progress::Open;
                self.cover(origin, core::iter::once(place as u32 + 1), out);
            }
            if origin == crashed {
                self.cover(origin, self.vcube.clusters(), out);
            }
            self.settle(origin, out);
        }
        self.advance(out);
    }
}

impl Process for VcubeMulticast {
    type Command = Command;
    type Message = Message;
    type Timer = Infallible;
    type Output = Output;
    type Misuse = Misuse;

    fn on_command(
        &mut self,
        Command::Multicast { id, to, .. }: Command,
        out: &mut Effects<Self>,
    ) -> Result<(), Misuse> {
        self.last.take(id)?;
        self.waiting.push_back((id, to));
        self.advance(out);
        Ok(())
    }

    fn on_message(&mut self, from: ProcessId, message: Message, out: &mut Effects<Self>) {
        if from == self.id {
            return out.ignored("a message to oneself");
        }
        match message {
            Message::Tree { origin, id, to } => self.on_tree(from, origin, id, to, out),
            Message::Ack { origin, id } => self.on_ack(from, origin, id, out),
        }
    }

    fn on_belief(&mut self, belief: Belief, out: &mut Effects<Self>) {
        match belief {
            Belief::Crashed(process) => {
                self.crashed.insert(process);
                self.on_crash(process, out);
            }
            Belief::Alive(process) => {
                self.crashed.remove(process);
            }
        }
    }

    fn waits_for(&self) -> ProcessSet {
        let awaited = |cluster: &Progress| match cluster {
            Progress::Awaiting(member) => Some(*member),
            Progress::Open | Progress::Done => None,
        };
        self.relays.values().flat_map(|relay| relay.clusters.iter().filter_map(awaited)).collect()
    }
}

impl quorate_core::Message for Message {
    const KINDS: &'static [Kind] = &[Kind::multicast("TREE"), Kind::multicast("ACK")];

    fn kind(&self) -> usize {
        match self {
            Self::Tree { .. } => 0,
            Self::Ack { .. } => 1,
        }
    }

    /// A lying process changes the number.
    fn forged(&self, choice: u64) -> Self {
        match self.clone() {
            Self::Tree { origin, to, .. } => Self::Tree { origin, id: choice % 8, to },
            Self::Ack { origin, .. } => Self::Ack { origin, id: choice % 8 },
        }
    }
}

impl Algorithm for VcubeMulticast {
    const PROFILE: Profile = Profile {
        name: "vcube-multicast",
        layer: Layer::Multicast,
        summary: "a spanning tree of the VCube, built on demand and mended when a relay crashes",
        source: "Rodrigues, Arantes, Duarte, EDCC 2014",
        specimen: None,
        assumes: &[
            Assumption::NoLoss,
            Assumption::CrashStop,
            Assumption::PerfectDetector,
            Assumption::Honesty,
        ],
        guarantees: &[
            Property::DeliveryValidity,
            Property::DeliveryIntegrity,
            Property::DeliveryAgreement,
        ],
        cost: "n - 1 TREE messages per multicast, and as many ACKs",
        never_quiescent: false,
    };

    const SHAPE: Shape = Shape::VCube;

    fn build(setup: &Setup, id: ProcessId) -> Self {
        Self::new(setup.n, id)
    }

    fn cost(setup: &Setup) -> Cost {
        let members = setup.to.size(setup.n) as u64;
        let levels = u64::from(VCube::new(setup.n).dimension());
        let cost = match setup.to {
            Group::All => Cost::exact("2(n - 1)", 2 * (members - 1)),
            // A sender that is not a member sends one more message, and receives one more ACK.
            Group::Only(_) => Cost::between("2(members - 1)", 2 * (members - 1), 2 * members),
        };
        cost.with_delays(1..=levels.max(1), 0..=0)
    }
}

impl Sound for VcubeMulticast {}
