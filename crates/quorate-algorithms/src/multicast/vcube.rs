//! VCube multicast: a message goes down a spanning tree that is built on demand and mended when a relay crashes.
//!
//! - **Source**: Rodrigues, Arantes and Duarte, "An Autonomic Implementation of Reliable Broadcast Based on Dynamic
//!   Spanning Trees", EDCC 2014.
//! - **Assumes**: a perfect detector; crashes without return; links that lose nothing. Any order, duplicates do no harm.
//! - **Guarantees**: validity, integrity and agreement: every live member delivers once, or none does.
//! - **Costs**: n - 1 TREE messages without failures (to a group, one for each member but the sender) and as many
//!   ACKs; a message delay for each of at most log2 n levels.
//! - **Departs from the paper**: groups, whose members alone relay. What a cluster has acknowledged is remembered, so
//!   that a mended tree does not send again where all have it. One that receives the message of a crashed sender
//!   covers only what its parent will not.
//!
//! Who has the message covers clusters: for each, it sends TREE to the first live member and awaits ACK, which says
//! that the whole cluster has it. The sender covers all of its clusters; one that is told by j covers those below its
//! cluster of j, and answers when they are done. If the awaited member crashes, the next one is told. If the sender
//! crashes, everybody who has its last message covers all clusters.
//!
//! A sender begins its next message when the last is everywhere. So only the last of each sender can be incomplete,
//! and only that one is remembered; an older one that comes again is acknowledged at once.

use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::vec;
use alloc::vec::Vec;
use core::convert::Infallible;

use quorate_core::multicast::{Command, Group, LastNumber, Misuse, Output};
use quorate_core::{
    Assumption, Belief, Cost, Effects, Kind, Layer, Process, ProcessId, ProcessSet, Profile,
    Property, VCube,
};

use crate::{Algorithm, Setup, Shape, Sound};

/// One process of it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct VcubeMulticast {
    id: ProcessId,
    vcube: VCube,
    crashed: ProcessSet,
    /// The last message of each sender that has passed here.
    relays: BTreeMap<ProcessId, Relay>,
    /// What the user has asked since, in order.
    waiting: VecDeque<(u64, Group)>,
    last: LastNumber,
}

/// A message on its way through this process.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Relay {
    id: u64,
    to: Group,
    /// What is known of each cluster, from the smallest.
    clusters: Vec<Progress>,
    /// Who wants to know when the clusters below its own are done.
    pending_acks: BTreeSet<ProcessId>,
}

/// What is known of a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Progress {
    /// Somebody else's business so far.
    Open,
    /// Told, and awaited.
    Awaiting(ProcessId),
    /// Every live member has the message.
    Done,
}

/// What processes say.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// A message of `origin`; pass it on.
    Tree {
        /// Who multicast it.
        origin: ProcessId,
        /// Its number.
        id: u64,
        /// For whom it is.
        to: Group,
    },
    /// All whom you left to me have it.
    Ack {
        /// Who multicast it.
        origin: ProcessId,
        /// Its number.
        id: u64,
    },
}

impl Relay {
    fn new(id: u64, to: Group, clusters: u32) -> Self {
        let clusters = vec![Progress::Open; clusters as usize];
        Self { id, to, clusters, pending_acks: BTreeSet::new() }
    }

    /// Whether the first so many clusters are done.
    fn is_done(&self, clusters: u32) -> bool {
        self.clusters.iter().take(clusters as usize).all(|cluster| *cluster == Progress::Done)
    }
}

impl VcubeMulticast {
    /// Process `id` of n.
    pub fn new(n: usize, id: ProcessId) -> Self {
        Self {
            id,
            vcube: VCube::new(n),
            crashed: ProcessSet::new(),
            relays: BTreeMap::new(),
            waiting: VecDeque::new(),
            last: LastNumber::default(),
        }
    }

    fn is_sending(&self) -> bool {
        self.relays.get(&self.id).is_some_and(|own| !own.is_done(self.vcube.dimension()))
    }

    /// Begins what the user has asked, as far as earlier messages are everywhere.
    fn advance(&mut self, out: &mut Effects<Self>) {
        while !self.is_sending() {
            let Some((id, to)) = self.waiting.pop_front() else { return };
            self.receive(self.id, id, to, out);
            self.cover(self.id, self.vcube.clusters(), out);
            self.settle(self.id, out);
        }
    }

    /// Delivers a message that is new here and keeps it in place of the sender's last.
    fn receive(&mut self, origin: ProcessId, id: u64, to: Group, out: &mut Effects<Self>) {
        if to.contains(self.id) {
            out.output(Output::Delivered { origin, id, body: () });
        }
        let new = Relay::new(id, to, self.vcube.dimension());
        // The sender knew that the old one is everywhere, so whoever still wants to know of it may.
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

    /// Sends the message into each of these clusters where nobody has been told.
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

    /// Tells those who wait for what is done by now.
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

    /// A liar changes the number.
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
            // A sender that is no member sends to one more.
            Group::Only(_) => Cost::between("2(members - 1)", 2 * (members - 1), 2 * members),
        };
        cost.with_delays(1..=levels.max(1), 0..=0)
    }
}

impl Sound for VcubeMulticast {}
