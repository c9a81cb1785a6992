//! What a run costs: messages by kind, layer, sender and receiver, and what did not arrive.

use std::collections::BTreeMap;

use quorate_core::{Kind, Layer, ProcessId};

use crate::network::Loss;
use crate::observer::Departure;

/// The books of a run.
#[derive(Clone, Debug)]
pub struct Accounting {
    kinds: &'static [Kind],
    layers: Vec<Layer>,
    n: usize,
    by_kind: Vec<KindTotals>,
    /// What each process has sent and received, layer after layer.
    ends: Vec<EndpointCounts>,
    lost: BTreeMap<Loss, u64>,
    duplicated: u64,
}

/// The messages of one kind.
#[derive(Clone, Copy, Debug, Default)]
struct KindTotals {
    /// Where among the ends those of its layer begin.
    ends: usize,
    sent: u64,
    self_sent: u64,
    /// Bytes, and those to oneself, where messages know their size.
    bytes: Option<u64>,
    self_bytes: u64,
}

/// The messages at one end. Those to oneself are counted apart, too, off the usual path.
#[derive(Clone, Copy, Debug, Default)]
struct EndpointCounts {
    sent: u64,
    self_sent: u64,
    received: u64,
    self_received: u64,
}

impl Accounting {
    /// Empty books for n processes of this layer that speak messages of these kinds.
    pub fn new(n: usize, own: Layer, kinds: &'static [Kind]) -> Self {
        // An algorithm that has nothing to say is a layer all the same.
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

    /// A kind of message, by its place.
    pub(crate) fn kind(&self, kind: usize) -> Kind {
        self.kinds[kind]
    }

    /// A message leaves.
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
        // Where nobody counts, the compiler knows, and nothing is done.
        if let Some(bytes) = bytes {
            *totals.bytes.get_or_insert(0) += bytes;
            totals.self_bytes += if from == to { bytes } else { 0 };
        }
        if from == to {
            totals.self_sent += 1;
            end.self_sent += 1;
        }
    }

    /// A message has arrived.
    #[inline]
    pub fn received(&mut self, from: ProcessId, to: ProcessId, kind: usize) {
        let end = &mut self.ends[self.by_kind[kind].ends + to.index()];
        end.received += 1;
        if from == to {
            end.self_received += 1;
        }
    }

    /// A message does not arrive after all.
    pub fn lost(&mut self, why: Loss) {
        *self.lost.entry(why).or_insert(0) += 1;
    }

    /// What did not arrive, by reason.
    pub fn losses(&self) -> &BTreeMap<Loss, u64> {
        &self.lost
    }

    /// How many messages arrived twice.
    pub fn duplicated(&self) -> u64 {
        self.duplicated
    }

    /// The layers that can speak, the algorithm's own first.
    pub fn layers(&self) -> &[Layer] {
        &self.layers
    }

    /// The account of a layer, with messages to oneself or without.
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
            // A detector may be any of several, and only its own kinds are of interest.
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

    /// Notes a departure that is not the usual one; tells whether the algorithm sent the message.
    #[cold]
    fn unusual_departure(&mut self, departure: Departure) -> bool {
        match departure {
            Departure::Duplicated => {
                self.duplicated += 1;
                false
            }
            Departure::Lost(why) => {
                self.lost(why);
                // What a process failed to send was never a message on a link, but the algorithm did send it.
                true
            }
            Departure::Sent => true,
        }
    }
}

/// The account of one layer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LayerAccount {
    /// All messages.
    pub total: u64,
    /// Those to oneself.
    pub to_self: u64,
    /// How many bytes they have, where they know.
    pub bytes: Option<u64>,
    /// Messages of each kind.
    pub by_kind: KindCounts,
    /// Sends of each process.
    pub by_sender: Vec<u64>,
    /// Receipts of each process.
    pub by_receiver: Vec<u64>,
}

/// Counts by kind, in the order in which the algorithm declares its kinds; an object in JSON.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KindCounts(pub Vec<(&'static str, u64)>);

impl KindCounts {
    /// How many there are of a kind.
    pub fn of(&self, kind: &str) -> u64 {
        self.0.iter().filter(|(name, _)| *name == kind).map(|(_, count)| count).sum()
    }
}

impl serde::Serialize for KindCounts {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().copied())
    }
}
