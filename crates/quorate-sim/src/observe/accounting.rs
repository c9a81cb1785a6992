//! Message costs of a run: counts by kind, layer, sender and receiver, and the messages that did not arrive.

use std::collections::BTreeMap;

use quorate_core::{Kind, Layer, ProcessId};

use crate::engine::network::Loss;
use crate::engine::observer::Departure;

/// Message counts of a run.
#[derive(Clone, Debug)]
pub struct Accounting {
    kinds: &'static [Kind],
    layers: Vec<Layer>,
    n: usize,
    by_kind: Vec<KindTotals>,
    /// Sent and received messages of each process: n entries per layer, layer after layer.
    ends: Vec<EndpointCounts>,
    lost: BTreeMap<Loss, u64>,
    duplicated: u64,
    changed: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct KindTotals {
    /// Index of the first entry in `Accounting::ends` of the layer that this kind belongs to.
    ends: usize,
    sent: u64,
    self_sent: u64,
    /// Total size in bytes, if messages of this kind know their size.
    /// `self_bytes` is the part that processes sent to themselves.
    bytes: Option<u64>,
    self_bytes: u64,
    further: FurtherCopies,
    further_bytes: FurtherCopies,
}

/// Copies of multicasts beyond the first one of each. They are not counted if a multicast counts as one message.
#[derive(Clone, Copy, Debug, Default)]
struct FurtherCopies {
    /// Further copies if the copy to the sender itself counts.
    all: u64,
    /// Further copies if it does not.
    to_others: u64,
}

impl FurtherCopies {
    /// Adds the copies of a multicast, each with this weight.
    fn add(&mut self, to_others: u64, to_self: bool, weight: u64) {
        self.all += (to_others + u64::from(to_self)).saturating_sub(1) * weight;
        self.to_others += to_others.saturating_sub(1) * weight;
    }

    fn uncounted(&self, counting: Counting) -> u64 {
        match counting {
            Counting { multicast_once: false, .. } => 0,
            Counting { with_self: true, .. } => self.all,
            Counting { with_self: false, .. } => self.to_others,
        }
    }
}

/// The messages that are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counting {
    /// Whether messages that processes send to themselves are counted.
    pub with_self: bool,
    /// Whether a multicast is counted as one message, whatever the number of its receivers.
    pub multicast_once: bool,
}

impl Counting {
    /// Counts every message to every receiver, as the promised costs do.
    pub const ALL: Self = Self { with_self: true, multicast_once: false };
}

/// Messages sent and received by one process. Messages to itself are included, and also counted separately.
#[derive(Clone, Copy, Debug, Default)]
struct EndpointCounts {
    sent: u64,
    self_sent: u64,
    further: FurtherCopies,
    received: u64,
    self_received: u64,
}

impl Accounting {
    /// Creates empty counts for n processes of this layer whose messages have these kinds.
    pub fn new(n: usize, own: Layer, kinds: &'static [Kind]) -> Self {
        // An algorithm that sends no messages still has a layer.
        let mut layers: Vec<Layer> = vec![own];
        for kind in kinds {
            if !layers.contains(&kind.layer) {
                layers.push(kind.layer);
            }
        }
        let place = |kind: &Kind| layers.iter().position(|layer| *layer == kind.layer).unwrap_or(0);
        let totals = |kind| KindTotals { ends: place(kind) * n, ..KindTotals::default() };
        Self {
            kinds,
            n,
            by_kind: kinds.iter().map(totals).collect(),
            ends: vec![EndpointCounts::default(); n * layers.len()],
            layers,
            lost: BTreeMap::new(),
            duplicated: 0,
            changed: 0,
        }
    }

    /// Returns a kind of message by its index.
    pub(crate) fn kind(&self, kind: usize) -> Kind {
        self.kinds[kind]
    }

    /// Counts a message that a process sends.
    #[inline]
    pub fn sent(
        &mut self,
        from: ProcessId,
        to: ProcessId,
        kind: usize,
        bytes: Option<u64>,
        departure: Departure,
    ) {
        if departure != Departure::Sent && !self.unusual_departure(departure) {
            return;
        }
        let totals = &mut self.by_kind[kind];
        let end = &mut self.ends[totals.ends + from.index()];
        totals.sent += 1;
        end.sent += 1;
        // For messages without a size this is the constant `None`, and the compiler removes the branch.
        if let Some(bytes) = bytes {
            *totals.bytes.get_or_insert(0) += bytes;
            totals.self_bytes += if from == to { bytes } else { 0 };
        }
        if from == to {
            totals.self_sent += 1;
            end.self_sent += 1;
        }
    }

    /// Notes that messages of a process, counted one by one, are copies of one multicast.
    pub fn multicast(
        &mut self,
        from: ProcessId,
        kind: usize,
        bytes: Option<u64>,
        to_others: u64,
        to_self: bool,
    ) {
        let totals = &mut self.by_kind[kind];
        totals.further.add(to_others, to_self, 1);
        totals.further_bytes.add(to_others, to_self, bytes.unwrap_or(0));
        self.ends[totals.ends + from.index()].further.add(to_others, to_self, 1);
    }

    /// Counts a message that has arrived.
    #[inline]
    pub fn received(&mut self, from: ProcessId, to: ProcessId, kind: usize) {
        let end = &mut self.ends[self.by_kind[kind].ends + to.index()];
        end.received += 1;
        if from == to {
            end.self_received += 1;
        }
    }

    /// Counts a message that was lost after it was sent.
    pub fn lost(&mut self, why: Loss) {
        *self.lost.entry(why).or_insert(0) += 1;
    }

    /// Number of lost messages, by reason.
    pub fn losses(&self) -> &BTreeMap<Loss, u64> {
        &self.lost
    }

    /// Number of messages that the network delivered twice.
    pub fn duplicated(&self) -> u64 {
        self.duplicated
    }

    /// Number of messages whose contents the network changed.
    pub fn changed(&self) -> u64 {
        self.changed
    }

    /// Layers whose messages are counted. The algorithm's own layer comes first.
    pub fn layers(&self) -> &[Layer] {
        &self.layers
    }

    /// Counts of a layer. Every receipt of a multicast is counted in any case.
    pub fn layer(&self, layer: Layer, counting: Counting) -> LayerAccount {
        let with_self = counting.with_self;
        let place = self.layers.iter().position(|known| *known == layer).unwrap_or(0);
        let ends = &self.ends[place * self.n..(place + 1) * self.n];
        let without_self = |all: u64, own: u64| if with_self { all } else { all - own };
        let sent = |end: &EndpointCounts| {
            without_self(end.sent, end.self_sent) - end.further.uncounted(counting)
        };
        let received = |end: &EndpointCounts| without_self(end.received, end.self_received);
        let mut by_kind = KindCounts::default();
        let (mut total, mut to_self) = (0, 0);
        let mut bytes = None;
        let kinds = self.kinds.iter().zip(&self.by_kind);
        for (kind, totals) in kinds.filter(|(kind, _)| kind.layer == layer) {
            let to_itself = if with_self { 0 } else { totals.self_sent };
            let counted = totals.sent - to_itself - totals.further.uncounted(counting);
            // The process may be built over any of several detectors.
            // Kinds of the detectors that are not in use are left out.
            let foreign = layer == Layer::Detector && place > 0 && totals.sent == 0;
            if !foreign {
                by_kind.0.push((kind.name, counted));
            }
            total += counted;
            to_self += totals.self_sent;
            if let Some(all) = totals.bytes {
                let own = if with_self { 0 } else { totals.self_bytes };
                *bytes.get_or_insert(0) += all - own - totals.further_bytes.uncounted(counting);
            }
        }
        let by_sender = ends.iter().map(sent).collect();
        let by_receiver = ends.iter().map(received).collect();
        LayerAccount { total, to_self, bytes, by_kind, by_sender, by_receiver }
    }

    /// Counts a duplicate or a loss on departure. Returns whether this message counts as sent by the algorithm.
    #[cold]
    fn unusual_departure(&mut self, departure: Departure) -> bool {
        match departure {
            Departure::Duplicated => {
                self.duplicated += 1;
                false
            }
            Departure::Changed => {
                self.changed += 1;
                true
            }
            Departure::Lost(why) => {
                self.lost(why);
                // The algorithm did send it, even if its process suppressed it before it reached a link.
                true
            }
            Departure::Sent => true,
        }
    }
}

/// Message counts of one layer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LayerAccount {
    /// Total number of messages.
    pub total: u64,
    /// Number of messages that processes sent to themselves.
    pub to_self: u64,
    /// Total size in bytes, if the messages know their size.
    pub bytes: Option<u64>,
    /// Number of messages of each kind.
    pub by_kind: KindCounts,
    /// Number of messages sent, by process.
    pub by_sender: Vec<u64>,
    /// Number of messages received, by process.
    pub by_receiver: Vec<u64>,
}

/// Counts by kind, in the order in which the algorithm declares its kinds. Serialised as a JSON object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KindCounts(pub Vec<(&'static str, u64)>);

impl KindCounts {
    /// Number of messages of a kind; zero if the kind is not listed.
    pub fn of(&self, kind: &str) -> u64 {
        self.0.iter().filter(|(name, _)| *name == kind).map(|(_, count)| count).sum()
    }
}

impl serde::Serialize for KindCounts {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().copied())
    }
}
