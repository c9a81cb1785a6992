//! A state of the world: numbers of interned nodes and messages, and a few bits.

use std::hash::Hasher;

use smallvec::SmallVec;

use super::{Budget, PROCESSES_MOST};
use crate::{Fingerprint, FingerprintHasher};

/// A state of the world.
#[derive(Debug)]
pub struct State {
    /// Number of each process's node, then the messages in flight.
    words: SmallVec<[u32; 20]>,
    n: u8,
    /// Bit set of the processes that are up.
    up: u8,
    /// Bit set of the processes not yet informed that the round is over.
    pub(super) round_end_pending: u8,
    pub(super) budget: Budget,
    /// Current round, or the next one while the end of a round is being announced.
    pub(super) round: u16,
    /// Pairs (observer, victim): the observer is yet to be notified of the victim's crash.
    pub(super) pending_notices: Pairs,
    /// Pairs (observer, victim): the observer wrongly suspects the victim, or has not learnt of its recovery.
    pub(super) suspected: Pairs,
    /// Pairs (observer, victim): the observer was notified of the victim's crash and not of its recovery.
    /// Empty if processes cannot recover.
    pub(super) notified: Pairs,
}

impl Clone for State {
    fn clone(&self) -> Self {
        // `SmallVec::clone` copies word by word.
        Self { words: SmallVec::from_slice(&self.words), ..*self }
    }
}

/// A message in flight in one word: its link, whether it was sent before this instant, and its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Envelope(u32);

/// Number of bits of a message number.
const MESSAGE_BITS: u32 = 25;

/// Position of the lowest bit of the link.
const LINK: u32 = MESSAGE_BITS + 1;

/// Set in a message that must arrive before time advances.
const LATE: u32 = 1 << MESSAGE_BITS;

impl Envelope {
    pub(super) fn new(from: u8, to: u8, message: u32) -> Self {
        assert!(message < 1 << MESSAGE_BITS, "there are fewer different messages than 2^25");
        Self(u32::from(from) << 29 | u32::from(to) << LINK | message)
    }

    pub(super) fn from(self) -> u8 {
        (self.0 >> 29) as u8
    }

    pub(super) fn to(self) -> u8 {
        (self.0 >> LINK) as u8 & 7
    }

    pub(super) fn message(self) -> u32 {
        self.0 & ((1 << MESSAGE_BITS) - 1)
    }

    /// Sender and recipient in one number.
    pub(super) fn link(self) -> u32 {
        self.0 >> LINK
    }

    /// Whether it must arrive before time advances.
    pub(super) fn is_late(self) -> bool {
        self.0 & LATE != 0
    }

    /// The same message, which must arrive before time advances.
    pub(super) fn late(self) -> Self {
        Self(self.0 | LATE)
    }
}

/// Set of pairs of processes, one bit per pair.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Pairs(u64);

impl Pairs {
    fn bit(a: u8, b: u8) -> u64 {
        1 << (usize::from(a) * PROCESSES_MOST + usize::from(b))
    }
    pub(super) fn contains(self, a: u8, b: u8) -> bool {
        self.0 & Self::bit(a, b) != 0
    }
    pub(super) fn insert(&mut self, a: u8, b: u8) {
        self.0 |= Self::bit(a, b);
    }
    pub(super) fn remove(&mut self, a: u8, b: u8) {
        self.0 &= !Self::bit(a, b);
    }
    /// Removes all pairs whose first process is `a`.
    pub(super) fn forget(&mut self, a: u8) {
        self.0 &= !(0xff << (usize::from(a) * PROCESSES_MOST));
    }
    /// Whether there is a pair whose first process is `a`.
    pub(super) fn any_of(self, a: u8) -> bool {
        self.0 & (0xff << (usize::from(a) * PROCESSES_MOST)) != 0
    }
    pub(super) fn is_empty(self) -> bool {
        self.0 == 0
    }
    /// The pairs as 64 bits, and [`Self::of_bits`] the reverse.
    pub(super) fn bits(self) -> u64 {
        self.0
    }
    pub(super) fn of_bits(bits: u64) -> Self {
        Self(bits)
    }
    fn renamed(self, names: &[u8; PROCESSES_MOST]) -> Self {
        let mut renamed = Self::default();
        for bit in (0..u64::BITS as usize).filter(|bit| self.0 & (1 << bit) != 0) {
            renamed.insert(names[bit / PROCESSES_MOST], names[bit % PROCESSES_MOST]);
        }
        renamed
    }
}

impl State {
    /// State in which all processes are up and nothing has happened.
    pub(super) fn new(nodes: impl Iterator<Item = u32>, budget: Budget) -> Self {
        let words: SmallVec<[u32; 20]> = nodes.collect();
        let n = words.len();
        let (pending_notices, suspected, notified) = Default::default();
        let up = ((1_u16 << n) - 1) as u8;
        Self {
            words,
            n: n as u8,
            up,
            round_end_pending: 0,
            budget,
            round: 1,
            pending_notices,
            suspected,
            notified,
        }
    }

    pub(super) fn is_up(&self, process: u8) -> bool {
        self.up & (1 << process) != 0
    }

    /// Bit set of the processes that are up.
    pub(super) fn up_bits(&self) -> u8 {
        self.up
    }

    pub(super) fn set_up_bits(&mut self, up: u8) {
        self.up = up;
    }

    /// Processes that are up, in order.
    pub(super) fn up(&self) -> impl Iterator<Item = u8> + use<> {
        let up = self.up;
        (0..self.n).filter(move |process| up & (1 << process) != 0)
    }

    /// Number of a process's node.
    pub(super) fn node(&self, process: u8) -> u32 {
        self.words[usize::from(process)]
    }

    /// Node numbers of all processes, in order.
    pub(super) fn nodes(&self) -> &[u32] {
        &self.words[..usize::from(self.n)]
    }

    pub(super) fn set_node(&mut self, process: u8, node: u32) {
        self.words[usize::from(process)] = node;
    }

    /// Messages in flight, by link, in the order of sending.
    pub(super) fn envelopes(&self) -> impl ExactSizeIterator<Item = Envelope> + '_ {
        self.words[usize::from(self.n)..].iter().map(|word| Envelope(*word))
    }

    /// Current round, or the next one while the end of a round is being announced.
    pub(crate) fn round(&self) -> u64 {
        self.round.into()
    }

    /// Sender and recipient of every message in flight.
    pub(crate) fn links(&self) -> impl Iterator<Item = (u8, u8)> + '_ {
        self.envelopes().map(|envelope| (envelope.from(), envelope.to()))
    }

    /// Appends a message to its link. It is dropped if the recipient is down.
    pub(super) fn enqueue(&mut self, envelope: Envelope) {
        if self.is_up(envelope.to()) {
            let n = usize::from(self.n);
            let behind = |word: &u32| Envelope(*word).link() <= envelope.link();
            let index = self.words[n..].partition_point(behind);
            self.words.insert(n + index, envelope.0);
        }
    }

    /// Appends a message that belongs behind all others, whether its recipient is up or not.
    pub(super) fn append(&mut self, envelope: Envelope) {
        self.words.push(envelope.0);
    }

    /// Removes the message at this position of its link.
    pub(super) fn take(&mut self, from: u8, to: u8, index: u8) -> Envelope {
        let n = usize::from(self.n);
        let link = Envelope::new(from, to, 0).link();
        let first = self.words[n..].partition_point(|word| Envelope(*word).link() < link);
        Envelope(self.words.remove(n + first + usize::from(index)))
    }

    /// Time advances: every message in flight must arrive before it advances again.
    pub(super) fn mark_late(&mut self) {
        self.words[usize::from(self.n)..].iter_mut().for_each(|word| *word |= LATE);
    }

    /// Replaces the number of every message in flight.
    pub(super) fn map_messages(&mut self, change: impl Fn(u32) -> u32) {
        self.map_envelopes(|envelope| change(envelope.message()));
    }

    /// Replaces the number of the message in every envelope.
    pub(super) fn map_envelopes(&mut self, change: impl Fn(Envelope) -> u32) {
        for word in &mut self.words[usize::from(self.n)..] {
            let envelope = Envelope(*word);
            let late = *word & LATE;
            *word = Envelope::new(envelope.from(), envelope.to(), change(envelope)).0 | late;
        }
    }

    /// The same state with renamed processes, with the given nodes and without messages.
    pub(super) fn renamed(&self, nodes: &[u32], names: &[u8; PROCESSES_MOST]) -> Self {
        let bits = |of: u8| {
            let set = (0..self.n).filter(|process| of & (1 << process) != 0);
            set.fold(0, |bits, process| bits | 1 << names[usize::from(process)])
        };
        Self {
            words: SmallVec::from_slice(nodes),
            up: bits(self.up),
            round_end_pending: bits(self.round_end_pending),
            pending_notices: self.pending_notices.renamed(names),
            suspected: self.suspected.renamed(names),
            notified: self.notified.renamed(names),
            ..*self
        }
    }

    /// Marks a process as down. Messages in flight to it and its pending notices are dropped.
    pub(super) fn crash(&mut self, victim: u8, node: u32) {
        self.set_node(victim, node);
        self.up &= !(1 << victim);
        self.round_end_pending &= !(1 << victim);
        let n = usize::from(self.n);
        let mut index = 0;
        self.words.retain(|word| {
            index += 1;
            index <= n || Envelope(*word).to() != victim
        });
        self.pending_notices.forget(victim);
        self.suspected.forget(victim);
    }

    /// Marks a process as up again.
    pub(super) fn recover(&mut self, process: u8) {
        self.up |= 1 << process;
    }

    /// Processes that are down, in order.
    pub(super) fn down(&self) -> impl Iterator<Item = u8> + use<> {
        let up = self.up;
        (0..self.n).filter(move |process| up & (1 << process) == 0)
    }

    /// Fingerprint of the state. On unordered links the messages form a multiset.
    pub(super) fn fingerprint(&self, fifo: bool) -> Fingerprint {
        let mut hasher = FingerprintHasher::default();
        let Budget { crashes, recoveries, losses, suspicions, timeouts } = self.budget;
        let returns = u64::from(recoveries) << 24;
        let few =
            returns | u64::from(crashes) << 16 | u64::from(losses) << 8 | u64::from(suspicions);
        hasher
            .write_u64(few << 32 | u64::from(self.round) << 8 | u64::from(self.round_end_pending));
        if timeouts > 0 {
            hasher.write_u64(u64::MAX - u64::from(timeouts));
        }
        if !(self.pending_notices.is_empty() && self.suspected.is_empty()) {
            hasher.write_u64(self.pending_notices.0);
            hasher.write_u64(self.suspected.0);
        }
        if !self.notified.is_empty() {
            hasher.write_u64(u64::MAX);
            hasher.write_u64(self.notified.0);
        }
        if fifo {
            for pair in self.words.chunks(2) {
                let second = pair.get(1).map_or(u32::MAX, |word| *word);
                hasher.write_u64(u64::from(pair[0]) << 32 | u64::from(second));
            }
        } else {
            self.nodes().iter().for_each(|node| hasher.write_u64(u64::from(*node)));
            let heap = self.envelopes().fold(0_u128, |heap, envelope| {
                let mut own = FingerprintHasher::default();
                own.write_u64(u64::from(envelope.0));
                heap.wrapping_add(own.fingerprint())
            });
            hasher.write_u128(heap);
        }
        hasher.fingerprint()
    }

    /// Approximate size in bytes.
    pub(super) fn bytes(&self) -> usize {
        let spilled = if self.words.spilled() { self.words.capacity() * 4 + 16 } else { 0 };
        size_of::<Self>() + spilled
    }
}
