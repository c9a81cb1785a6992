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
}

/// Messages sent and received by one process. Messages to itself are included, and also counted separately.
#[derive(Clone, Copy, Debug, Default)]
struct EndpointCounts {
    sent: u64,
    self_sent: u64,
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

    /// Layers whose messages are counted. The algorithm's own layer comes first.
    pub fn layers(&self) -> &[Layer] {
        &self.layers
    }

    /// Counts of a layer, with or without the messages that processes send to themselves.
    pub fn layer(&self, layer: Layer, with_self: bool) -> LayerAccount {
        let place = self.layers.iter().position(|known| *known == layer).unwrap_or(0);
        let range = place * self.n..(place + 1) * self.n;
        let each = |count: fn(&EndpointCounts) -> (u64, u64)| -> Vec<u64> {
            let counts = self.ends[range.clone()].iter().map(count);
            counts.map(|(all, own)| if with_self { all } else { all - own }).collect()
        };
        let mut by_kind = KindCounts::default();
        let (mut total, mut to_self) = (0, 0);
        let mut bytes = None;
        let kinds = self.kinds.iter().zip(&self.by_kind);
        for (kind, totals) in kinds.filter(|(kind, _)| kind.layer == layer) {
            let counted = totals.sent - if with_self { 0 } else { totals.self_sent };
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
                *bytes.get_or_insert(0) += all - own;
            }
        }
        let by_sender = each(|end| (end.sent, end.self_sent));
        let by_receiver = each(|end| (end.received, end.self_received));
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
