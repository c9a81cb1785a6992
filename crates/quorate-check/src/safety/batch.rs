//! Expansion of one batch of states, by one thread.
//!
//! A batch is expanded before its successors are added to the table (`Candidates`), and filtered afterwards (`Added`).

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};

use quorate_core::Property;

use super::frontier::Segment;
use super::table::{Known, Table};
use super::trail::TrailBatch;
use crate::visited::FingerprintBatch;
use crate::{Fingerprint, PackedModel};

/// Result of expanding a batch: the successors that were not visited before.
pub(super) struct Candidates {
    /// Fingerprints of the candidates.
    pub(super) prints: FingerprintBatch,
    /// Whether each candidate turned out to be known, from this batch or an earlier one of the same block.
    pub(super) known: Vec<AtomicBool>,
    /// The candidates, packed, and where each of them ends.
    bytes: Vec<u8>,
    ends: Vec<u32>,
    /// For each candidate, the index among the successors of its parent.
    ordinals: Vec<u32>,
    /// For each expanded state, the end of its range of candidates.
    parents: Vec<u32>,
    /// Candidates that violate a property.
    broken: Vec<(u32, Property)>,
    goals_reached: u64,
    pub(super) steps: u64,
    /// Whether a step leads to a state that is no deeper than the states of the batch.
    pub(super) has_back_edge: bool,
    /// First state of the batch that is quiescent and violates a property there, and the processes that wait in it.
    pub(super) stuck: Option<Stuck>,
}

/// A state in which nothing happens any more although something must.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stuck {
    /// Index within its batch.
    pub(super) index: u32,
    pub(super) property: Property,
    pub(super) waiting: u8,
}

/// The new states of a batch, after all candidates of the block were added to the table.
pub(super) struct Added {
    /// The new states, packed, and the length of each.
    pub(super) bytes: Vec<u8>,
    pub(super) lengths: Vec<u32>,
    pub(super) trail: TrailBatch,
    /// First new state that violates a property, by its index among the new states.
    pub(super) broken: Option<(u32, Property)>,
    pub(super) goals_reached: u64,
}

impl Candidates {
    /// Expands the states of a segment.
    pub(super) fn of<M: PackedModel + ?Sized>(model: &M, table: &Table, segment: &Segment) -> Self {
        let count = segment.states as usize;
        let mut expanded = Expanded::new(model, count);
        let mut rest = &*segment.bytes;
        let mut starts = Vec::with_capacity(count);
        let mut stuck = None;
        for index in 0..segment.states {
            starts.push(rest);
            let state = model.unpack(&mut rest);
            let leads_on = expanded.expand(&state);
            if !leads_on && stuck.is_none() {
                let waiting = model.starvation_property().map_or(0, |_| model.waiting(&state));
                let broken = model.broken_when_quiescent(&state);
                stuck = broken.map(|property| Stuck { index, property, waiting });
            }
        }
        let mut known = Vec::with_capacity(expanded.prints.len());
        table.look_up(&expanded.prints, &mut known);
        let mut collected = Collector::new(model, expanded.prints.len());
        let mut successors = expanded.successors.into_iter().zip(expanded.prints).zip(known.iter());
        let mut first = 0;
        for ((end, omits), start) in expanded.parents.into_iter().zip(starts) {
            let own = successors.by_ref().take(end - first);
            let ends_here = || known[first..end].iter().all(|known| *known == Known::Before);
            if omits && ends_here() && postpones_forever(model, start) {
                own.for_each(drop);
                collected.collect_all(table, start, end - first);
            } else {
                for (ordinal, ((successor, print), known)) in (0..).zip(own) {
                    collected.collect(ordinal, &successor.state, print, *known);
                }
            }
            collected.candidates.parents.push(collected.candidates.ends.len() as u32);
            first = end;
        }
        Self { stuck, ..collected.finish() }
    }

    /// States with which a search begins.
    pub(super) fn initial<M: PackedModel + ?Sized>(model: &M) -> Self {
        let states = model.initial_states();
        let mut collected = Collector::new(model, states.len());
        for (ordinal, state) in (0..).zip(&states) {
            collected.collect(ordinal, state, model.fingerprint(state), Known::No);
        }
        collected.candidates.parents.push(states.len() as u32);
        Self { steps: 0, ..collected.finish() }
    }

    /// Keeps the new states.
    pub(super) fn added(&self) -> Added {
        let mut added = Added {
            bytes: Vec::with_capacity(self.bytes.len()),
            lengths: Vec::with_capacity(self.ends.len()),
            trail: TrailBatch::default(),
            broken: None,
            goals_reached: self.goals_reached,
        };
        let mut broken = self.broken.iter().peekable();
        let (mut ordinals, mut candidate, mut start) = (Vec::new(), 0, 0);
        for end in &self.parents {
            ordinals.clear();
            for index in candidate..*end as usize {
                let (from, to) = (start, self.ends[index] as usize);
                start = to;
                let property = broken.next_if(|(at, _)| *at as usize == index);
                if self.known[index].load(Ordering::Relaxed) {
                    continue;
                }
                if let Some((_, property)) = property {
                    added.broken = added.broken.or(Some((added.lengths.len() as u32, *property)));
                }
                added.bytes.extend_from_slice(&self.bytes[from..to]);
                added.lengths.push((to - from) as u32);
                ordinals.push(self.ordinals[index]);
            }
            candidate = *end as usize;
            added.trail.push(&ordinals);
        }
        added
    }

    /// Memory that the candidates take, in bytes.
    pub(super) fn memory(&self) -> u64 {
        let fingerprint = size_of::<(u32, [u32; 4])>();
        let each = fingerprint + size_of::<AtomicBool>() + 2 * size_of::<u32>();
        (self.ends.len() * each + self.bytes.len()) as u64
    }
}

/// Whether a state that leaves actions out has to be expanded in full, because the states that follow may leave them out as
/// well. Along its first successors no action that was left out can end. So one of these states takes it, unless they recur.
fn postpones_forever<M: PackedModel + ?Sized>(model: &M, mut packed: &[u8]) -> bool {
    let (mut state, mut seen) = (model.unpack(&mut packed), BTreeSet::new());
    let mut successors = Vec::new();
    while model.successors_and_omission(&state, &mut successors) {
        if !seen.insert(model.fingerprint(&state)) {
            return true;
        }
        state = successors.swap_remove(0).state;
        successors.clear();
    }
    false
}

/// The successors of the states of a batch.
struct Expanded<'m, M: PackedModel + ?Sized> {
    model: &'m M,
    successors: Vec<crate::Successor<M::State, M::Action>>,
    prints: Vec<Fingerprint>,
    /// For each state, the end of its range of successors, and whether actions may have been left out.
    parents: Vec<(usize, bool)>,
}

impl<'m, M: PackedModel + ?Sized> Expanded<'m, M> {
    fn new(model: &'m M, states: usize) -> Self {
        let (successors, prints) = (Vec::with_capacity(states * 4), Vec::with_capacity(states * 4));
        Self { model, successors, prints, parents: Vec::with_capacity(states) }
    }

    /// Adds the successors of a state. Returns whether something must happen in it.
    fn expand(&mut self, state: &M::State) -> bool {
        let first = self.successors.len();
        let omits = self.model.successors_and_omission(state, &mut self.successors);
        let own = &self.successors[first..];
        self.prints.extend(own.iter().map(|next| self.model.fingerprint(&next.state)));
        self.parents.push((self.successors.len(), omits));
        own.iter().any(|successor| successor.class.is_some())
    }
}

/// Collects the candidates of a batch.
struct Collector<'m, M: PackedModel + ?Sized> {
    model: &'m M,
    prints: Vec<Fingerprint>,
    candidates: Candidates,
}

impl<'m, M: PackedModel + ?Sized> Collector<'m, M> {
    fn new(model: &'m M, most: usize) -> Self {
        let candidates = Candidates {
            prints: FingerprintBatch::new([].into_iter()),
            known: Vec::new(),
            bytes: Vec::new(),
            ends: Vec::with_capacity(most),
            ordinals: Vec::with_capacity(most),
            parents: Vec::new(),
            broken: Vec::new(),
            goals_reached: 0,
            steps: 0,
            has_back_edge: false,
            stuck: None,
        };
        Self { model, prints: Vec::with_capacity(most), candidates }
    }

    /// Records a step, and its target as a candidate if it was not visited before.
    fn collect(&mut self, ordinal: u32, state: &M::State, print: Fingerprint, known: Known) {
        let candidates = &mut self.candidates;
        candidates.steps += 1;
        candidates.has_back_edge |= known == Known::Before;
        if known != Known::No {
            return;
        }
        self.model.pack(state, &mut candidates.bytes);
        self.prints.push(print);
        candidates.goals_reached |= self.model.goals_reached(state);
        if let Some(property) = self.model.broken(state) {
            candidates.broken.push((candidates.ends.len() as u32, property));
        }
        candidates.ends.push(candidates.bytes.len() as u32);
        candidates.ordinals.push(ordinal);
    }

    /// Records all steps of a state whose reduced successors were not sufficient. `ordinal` is the number of those.
    fn collect_all(&mut self, table: &Table, mut packed: &[u8], ordinal: usize) {
        let state = self.model.unpack(&mut packed);
        let mut successors = Vec::new();
        self.model.all_successors(&state, &mut successors);
        for (ordinal, successor) in (ordinal as u32..).zip(successors) {
            let print = self.model.fingerprint(&successor.state);
            self.collect(ordinal, &successor.state, print, table.known(print));
        }
    }

    fn finish(self) -> Candidates {
        let known = self.prints.iter().map(|_| AtomicBool::new(false)).collect();
        Candidates {
            prints: FingerprintBatch::new(self.prints.iter().copied()),
            known,
            ..self.candidates
        }
    }
}
