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
//! incomplete, and only this message is remembered. If an older one arrives again, it is acknowledged immediately. So the
//! messages of a sender are delivered in order, whatever their groups and whatever the order of the links.
//!
//! A message may have a body, in which a layer above puts its own message: see `quorum-vcube-multicast`.

use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;
use core::convert::Infallible;
use core::fmt::{self, Debug};

use quorate_core::multicast::{Body, Command, Content, Group, LastNumber, Misuse, Output};
use quorate_core::{
    Assumption, Belief, Cost, Effects, Kind, Layer, Layered, Message as CoreMessage, Process,
    ProcessId, ProcessSet, Profile, Property, SortedMap, SortedSet, VCube,
};

use crate::{Algorithm, Setup, Shape, Sound};

/// One process of the VCube multicast.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct VcubeMulticast<B = Content> {
    id: ProcessId,
    vcube: VCube,
    crashed: ProcessSet,
    /// The last message of each sender that this process has received.
    relays: SortedMap<ProcessId, Relay<B>>,
    /// Messages of the user that wait for the current one to complete, in order.
    waiting: VecDeque<(u64, Group, B)>,
    last: LastNumber,
}

/// A message that this process relays.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Relay<B> {
    id: u64,
    to: Group,
    body: B,
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

/// A message of the protocol.
#[derive(Clone, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message<B = Content> {
    /// A multicast on its way down the tree.
    Tree(Tree<B>),
    /// All members that were left to the sender of this ACK have the message.
    Ack(Ack),
}

/// A message of `origin` that the receiver has to relay.
#[derive(Clone, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Tree<B> {
    origin: ProcessId,
    id: u64,
    /// The members that receive the message.
    to: Group,
    body: B,
}

/// The acknowledgement of a message of `origin`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Ack {
    origin: ProcessId,
    id: u64,
}

/// The body of a multicast. It determines the kind under which its TREE messages are counted: if a layer above sends its own
/// messages as bodies, they are counted as messages of that layer.
pub trait TreeBody: Body {
    /// The kinds of TREE messages.
    const KINDS: &'static [Kind];

    /// Index of the kind of a TREE message with this body.
    fn kind(&self) -> usize;

    /// The Lamport time that the body carries, if any.
    fn stamp(&self) -> Option<u64> {
        None
    }
}

impl TreeBody for Content {
    const KINDS: &'static [Kind] = &[Kind::multicast("TREE")];

    fn kind(&self) -> usize {
        0
    }
}

impl<B> Relay<B> {
    fn new(id: u64, to: Group, body: B, clusters: u32) -> Self {
        let clusters = vec![Progress::Open; clusters as usize];
        Self { id, to, body, clusters, pending_acks: SortedSet::new() }
    }

    /// Whether the smallest `clusters` clusters are done.
    fn is_done(&self, clusters: u32) -> bool {
        self.clusters.iter().take(clusters as usize).all(|cluster| *cluster == Progress::Done)
    }
}

impl<B: TreeBody> VcubeMulticast<B> {
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
            let Some((id, to, body)) = self.waiting.pop_front() else { return };
            self.receive(Tree { origin: self.id, id, to, body }, out);
            self.cover(self.id, self.vcube.clusters(), out);
            self.settle(self.id, out);
        }
    }

    /// Delivers a new message and stores it in place of the sender's last one.
    fn receive(&mut self, Tree { origin, id, to, body }: Tree<B>, out: &mut Effects<Self>) {
        if to.contains(self.id) {
            out.output(Output::Delivered { origin, id, body: body.clone() });
        }
        let new = Relay::new(id, to, body, self.vcube.dimension());
        // The sender knew that the old message is everywhere, so all outstanding ACKs for it can be sent.
        if let Some(old) = self.relays.insert(origin, new) {
            old.pending_acks
                .into_iter()
                .for_each(|parent| out.send(parent, Message::Ack(Ack { origin, id: old.id })));
        }
    }

    fn on_tree(&mut self, from: ProcessId, tree: Tree<B>, out: &mut Effects<Self>) {
        let Tree { origin, id, .. } = tree;
        let last = self.relays.get(&origin).map(|relay| relay.id);
        if last.is_some_and(|last| id < last) {
            return out.send(from, Message::Ack(Ack { origin, id }));
        }
        if last != Some(id) {
            self.receive(tree, out);
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

    fn on_ack(&mut self, from: ProcessId, Ack { origin, id }: Ack, out: &mut Effects<Self>) {
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
            let Relay { id, to, body, .. } = relay;
            let tree = Tree { origin, id: *id, to: to.clone(), body: body.clone() };
            out.multicast(recipients, Message::Tree(tree));
        }
    }

    /// Sends the outstanding ACKs for clusters that are done.
    fn settle(&mut self, origin: ProcessId, out: &mut Effects<Self>) {
        let Some(relay) = self.relays.get_mut(&origin) else { return };
        for parent in core::mem::take(&mut relay.pending_acks) {
            if relay.is_done(self.vcube.cluster_of(self.id, parent) - 1) {
                out.send(parent, Message::Ack(Ack { origin, id: relay.id }));
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

impl<B: TreeBody> Process for VcubeMulticast<B> {
    type Command = Command<B>;
    type Message = Message<B>;
    type Timer = Infallible;
    type Output = Output<B>;
    type Misuse = Misuse;

    fn on_command(
        &mut self,
        Command::Multicast { id, to, body }: Command<B>,
        out: &mut Effects<Self>,
    ) -> Result<(), Misuse> {
        self.last.take(id)?;
        self.waiting.push_back((id, to, body));
        self.advance(out);
        Ok(())
    }

    fn on_message(&mut self, from: ProcessId, message: Message<B>, out: &mut Effects<Self>) {
        if from == self.id {
            return out.ignored("a message to oneself");
        }
        match message {
            Message::Tree(tree) => self.on_tree(from, tree, out),
            Message::Ack(ack) => self.on_ack(from, ack, out),
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

/// Displays the body only if traces show it.
impl<B: Body> Debug for Tree<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { origin, id, to, body } = self;
        let mut shown = f.debug_struct("Tree");
        shown.field("origin", origin).field("id", id).field("to", to);
        if body.is_shown() {
            shown.field("body", body);
        }
        shown.finish()
    }
}

/// Displays the contents, which name their kind.
impl<B: Body> Debug for Message<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tree(tree) => tree.fmt(f),
            Self::Ack(ack) => ack.fmt(f),
        }
    }
}

impl<B: TreeBody> CoreMessage for Tree<B> {
    const KINDS: &'static [Kind] = B::KINDS;

    fn kind(&self) -> usize {
        self.body.kind()
    }

    fn stamp(&self) -> Option<u64> {
        self.body.stamp()
    }

    /// A lying process changes the number.
    fn forged(&self, choice: u64) -> Self {
        Self { id: choice % 8, ..self.clone() }
    }
}

impl CoreMessage for Ack {
    const KINDS: &'static [Kind] = &[Kind::multicast("ACK")];

    fn kind(&self) -> usize {
        0
    }

    /// A lying process changes the number.
    fn forged(&self, choice: u64) -> Self {
        Self { id: choice % 8, ..self.clone() }
    }
}

impl<B: TreeBody> CoreMessage for Message<B> {
    const KINDS: &'static [Kind] = Layered::<Tree<B>, Ack>::KINDS;

    fn kind(&self) -> usize {
        match self {
            Self::Tree(tree) => tree.kind(),
            Self::Ack(ack) => B::KINDS.len() + ack.kind(),
        }
    }

    fn stamp(&self) -> Option<u64> {
        match self {
            Self::Tree(tree) => tree.stamp(),
            Self::Ack(_) => None,
        }
    }

    fn forged(&self, choice: u64) -> Self {
        match self {
            Self::Tree(tree) => Self::Tree(tree.forged(choice)),
            Self::Ack(ack) => Self::Ack(ack.forged(choice)),
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

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;
    use quorate_core::{Effect, Time};

    type Carrier = VcubeMulticast<Content>;

    /// A message, identified by its sender and its number.
    type MessageId = (ProcessId, u64);

    const BODY: Content = Content(7);

    fn process(id: u32) -> ProcessId {
        ProcessId::new(id)
    }

    fn group(members: &[u32]) -> Group {
        Group::Only(members.iter().copied().map(process).collect())
    }

    fn tree(origin: u32, id: u64, to: &Group) -> Message {
        Message::Tree(Tree { origin: process(origin), id, to: to.clone(), body: BODY })
    }

    fn ack(origin: u32, id: u64) -> Message {
        Message::Ack(Ack { origin: process(origin), id })
    }

    fn multicast(id: u64, to: &Group) -> Command {
        Command::Multicast { id, to: to.clone(), body: BODY }
    }

    /// The messages of a step in order, and the numbers of the messages that it delivers.
    fn effects(
        step: impl FnOnce(&mut Effects<Carrier>),
    ) -> (Vec<(ProcessId, Message)>, Vec<MessageId>) {
        let mut out = Effects::new(Time::ZERO);
        step(&mut out);
        let (mut sent, mut delivered) = (Vec::new(), Vec::new());
        for effect in out {
            match effect {
                Effect::Send { to, message } => sent.push((to, message)),
                Effect::Multicast { to, message } => {
                    sent.extend(to.among(8, process(9)).map(|to| (to, message.clone())));
                }
                Effect::Output(Output::Delivered { origin, id, body }) => {
                    assert_eq!(body, BODY);
                    delivered.push((origin, id));
                }
                _ => {}
            }
        }
        (sent, delivered)
    }

    #[test]
    fn a_message_waits_for_the_last_one_although_its_group_is_another() {
        let (first, second) = (group(&[1, 2]), group(&[4]));
        let mut p0 = Carrier::new(8, process(0));
        let (sent, _) = effects(|out| p0.on_command(multicast(0, &first), out).unwrap());
        assert_eq!(sent, [(process(1), tree(0, 0, &first)), (process(2), tree(0, 0, &first))]);
        let (sent, _) = effects(|out| p0.on_command(multicast(1, &second), out).unwrap());
        assert_eq!(sent, []);
        let (sent, _) = effects(|out| p0.on_message(process(1), ack(0, 0), out));
        assert_eq!(sent, []);
        let (sent, _) = effects(|out| p0.on_message(process(2), ack(0, 0), out));
        assert_eq!(sent, [(process(4), tree(0, 1, &second))]);
    }

    #[test]
    fn a_relay_passes_the_body_on_and_answers_for_its_cluster() {
        let to = group(&[4, 5, 6]);
        let mut p4 = Carrier::new(8, process(4));
        let (sent, delivered) = effects(|out| p4.on_message(process(0), tree(0, 3, &to), out));
        assert_eq!(sent, [(process(5), tree(0, 3, &to)), (process(6), tree(0, 3, &to))]);
        assert_eq!(delivered, [(process(0), 3)]);
        let (sent, _) = effects(|out| p4.on_message(process(5), ack(0, 3), out));
        assert_eq!(sent, []);
        let (sent, _) = effects(|out| p4.on_message(process(6), ack(0, 3), out));
        assert_eq!(sent, [(process(0), ack(0, 3))]);
    }

    #[test]
    fn a_receiver_completes_the_message_of_a_crashed_sender_with_its_body() {
        let to = group(&[1, 4]);
        let mut p1 = Carrier::new(8, process(1));
        let (sent, _) = effects(|out| p1.on_message(process(0), tree(0, 3, &to), out));
        assert_eq!(sent, [(process(0), ack(0, 3))]);
        let (sent, _) = effects(|out| p1.on_belief(Belief::Crashed(process(0)), out));
        assert_eq!(sent, [(process(4), tree(0, 3, &to))]);
    }

    #[test]
    fn a_message_that_has_been_succeeded_is_acknowledged_and_not_delivered() {
        let mut p1 = Carrier::new(8, process(1));
        effects(|out| p1.on_message(process(0), tree(0, 3, &group(&[1])), out));
        let older = tree(0, 2, &group(&[1, 2]));
        let (sent, delivered) = effects(|out| p1.on_message(process(2), older, out));
        assert_eq!((sent, delivered), (vec![(process(2), ack(0, 2))], vec![]));
    }

    #[test]
    fn traces_show_a_body_unless_it_is_the_usual_one() {
        let usual = Tree { origin: process(0), id: 0, to: Group::All, body: Content::TRUE };
        let shown = format!("{:?}", Message::Tree(usual));
        assert_eq!(shown, "Tree { origin: ProcessId(0), id: 0, to: All }");
        let shown = format!("{:?}", tree(0, 0, &Group::All));
        assert_eq!(shown, "Tree { origin: ProcessId(0), id: 0, to: All, body: Content(7) }");
    }
}
