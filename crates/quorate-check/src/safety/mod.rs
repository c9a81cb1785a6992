//! Exploration in little memory: every state is visited, but only safety is checked.
//!
//! - **Visited states** are eight bytes of their fingerprints each (`table.rs`). Two states with equal fingerprints are taken
//!   for one, so a state may be missed. The probability is computed from the number of states (`omission.rs`).
//! - **States that wait to be expanded** are kept as bytes (`frontier.rs`), all others not at all.
//! - **Edges** are not kept. A step to a state that is no deeper is noticed. Without such a step every run ends, and a process
//!   that waits forever does so in a final state, which is checked. With such a step nothing is known about processes that
//!   wait forever.
//! - **The way to a state** takes about a byte (`trail.rs`).
//!
//! The order is that of [`explore`](crate::explore()): breadth first, so that a counterexample is a shortest one, and one block
//! at a time. Threads expand the batches of a block and pack the successors that were not visited (`batch.rs`). Then each
//! thread adds the fingerprints of its share of the tables, in the order of the block. Then threads drop the states that came
//! twice. So neither the number of states nor the counterexample depends on the number of threads.
//!
//! A partial-order reduction may postpone an action forever if states recur. A state with a reduced successor that is expanded
//! later need not care, because the order of expansion is finite. If all of its reduced successors are expanded already, the
//! states along its first successors are visited until one of them leaves nothing out. If they recur before, the state is
//! expanded in full (after Evangelista and Pajault, "Solving the Ignoring Problem for Partial Order Reduction", STTT 12(2),
//! 2010, and Bosnacki and Holzmann, "Improving Spin's Partial-Order Reduction for Breadth-First Search", SPIN 2005).

mod batch;
mod frontier;
mod omission;
mod table;
mod trail;

use std::ops::ControlFlow;
use std::sync::atomic::Ordering;

use quorate_core::Property;
use rayon::iter::{IntoParallelRefIterator, ParallelIterator};

use crate::{Bounds, Counterexample, End, Exploration, PackedModel, Progress};

use batch::{Added, Candidates};
use frontier::{Frontier, Segment};
use table::Table;
use trail::Trail;

/// Result of an exploration that checks safety.
#[derive(Clone, Debug)]
pub struct SafetyExploration<A> {
    /// The result. [`End::Exhausted`] means that no state violates a property, and [`End::Cyclic`] does not occur.
    pub exploration: Exploration<A>,
    /// Upper bound on the probability that a state was missed because its fingerprint is that of another state.
    pub omission_probability: f64,
    /// Whether no step leads to a state that is no deeper. Then every run ends, and if all states were visited, no process
    /// waits forever.
    pub is_acyclic: bool,
}

/// Number of batches that are expanded before their successors are added.
const BLOCK: usize = 1 << 7;

/// Explores a model like [`explore`](crate::explore()), in a tenth of the memory, and looks for no cycle in which a process
/// waits. `on_progress` is called after each block and may stop the exploration.
pub fn explore_safety<M: PackedModel + ?Sized>(
    model: &M,
    bounds: Bounds,
    mut on_progress: impl FnMut(&Progress) -> ControlFlow<()>,
) -> SafetyExploration<M::Action> {
    let mut search = Search::new(model);
    let end = search.run(bounds, &mut on_progress);
    SafetyExploration {
        omission_probability: omission::probability(search.progress.states, table::BITS),
        is_acyclic: !search.has_back_edge,
        exploration: Exploration { progress: search.progress, bytes_most: search.bytes_most, end },
    }
}

struct Search<'m, M: PackedModel + ?Sized> {
    model: &'m M,
    table: Table,
    frontier: Frontier,
    next: Frontier,
    trail: Trail,
    /// Number of states of the current depth that have been expanded.
    expanded: u64,
    has_back_edge: bool,
    goals_reached: u64,
    progress: Progress,
    bytes_most: u64,
}

impl<'m, M: PackedModel + ?Sized> Search<'m, M> {
    fn new(model: &'m M) -> Self {
        Self {
            model,
            table: Table::new(),
            frontier: Frontier::default(),
            next: Frontier::default(),
            trail: Trail::default(),
            expanded: 0,
            has_back_edge: false,
            goals_reached: 0,
            progress: Progress::default(),
            bytes_most: 0,
        }
    }

    fn run(
        &mut self,
        bounds: Bounds,
        on_progress: &mut impl FnMut(&Progress) -> ControlFlow<()>,
    ) -> End<M::Action> {
        if let Some(broken) = self.begin() {
            return broken;
        }
        while self.next.states() > 0 {
            if self.progress.depth == bounds.depth {
                return End::Depth;
            }
            self.frontier = std::mem::take(&mut self.next);
            self.table.next_depth();
            self.trail.next_depth();
            self.expanded = 0;
            loop {
                let block = self.frontier.take(BLOCK);
                if block.is_empty() {
                    break;
                }
                if let Some(end) = self.expand(&block) {
                    return end;
                }
                if self.progress.bytes > bounds.memory {
                    return End::Memory;
                }
                if on_progress(&self.progress).is_break() {
                    return End::Stopped;
                }
            }
            self.progress.depth += u32::from(self.next.states() > 0);
        }
        match self.goals_reached & self.model.goals() == self.model.goals() {
            true => End::Exhausted,
            false => End::Vacuous,
        }
    }

    /// Adds the initial states.
    fn begin(&mut self) -> Option<End<M::Action>> {
        let candidates = Candidates::initial(self.model);
        self.table.add(&[&candidates.prints], |_, place| {
            candidates.known[place].store(true, Ordering::Relaxed);
        });
        let added = candidates.added();
        let broken = self.keep(&added);
        broken.map(|(index, property)| self.found(property, 0, index, 0))
    }

    /// Expands a block of states, and adds their successors.
    fn expand(&mut self, block: &[Segment]) -> Option<End<M::Action>> {
        let (model, table) = (self.model, &self.table);
        let expand = |segment| Candidates::of(model, table, segment);
        let candidates: Vec<Candidates> = block.par_iter().map(expand).collect();
        let prints: Vec<_> = candidates.iter().map(|batch| &batch.prints).collect();
        self.table.add(&prints, |batch, place| {
            candidates[batch].known[place].store(true, Ordering::Relaxed);
        });
        let added: Vec<Added> = candidates.par_iter().map(Candidates::added).collect();
        self.account(block, &candidates, &added);
        let depth = self.progress.depth;
        for (segment, (candidates, added)) in block.iter().zip(candidates.iter().zip(added)) {
            self.progress.steps += candidates.steps;
            self.has_back_edge |= candidates.has_back_edge;
            if let Some(stuck) = candidates.stuck {
                let index = self.expanded + u64::from(stuck.index);
                return Some(self.found(stuck.property, depth, index, stuck.waiting));
            }
            let broken = self.keep(&added);
            self.trail.push(added.trail);
            if let Some((index, property)) = broken {
                return Some(self.found(property, depth + 1, index, 0));
            }
            self.expanded += u64::from(segment.states);
        }
        self.progress.queue = self.next.states();
        None
    }

    /// Queues the new states of a batch up to the first one that violates a property. Returns that one's index in its depth.
    fn keep(&mut self, added: &Added) -> Option<(u64, Property)> {
        self.goals_reached |= added.goals_reached;
        let first = self.next.states();
        let most = added.broken.map_or(added.lengths.len(), |(index, _)| index as usize + 1);
        let mut start = 0;
        for length in &added.lengths[..most] {
            let end = start + *length as usize;
            self.next.push(&added.bytes[start..end]);
            start = end;
        }
        self.progress.states += most as u64;
        added.broken.map(|(index, property)| (first + u64::from(index), property))
    }

    /// Measures the memory while the states of a block are in it more than once.
    fn account(&mut self, block: &[Segment], candidates: &[Candidates], added: &[Added]) {
        let packed = block.iter().map(|segment| segment.bytes.len() as u64).sum::<u64>();
        let candidates = candidates.iter().map(Candidates::memory).sum::<u64>();
        let fresh = added.iter().map(|batch| batch.bytes.len() as u64).sum::<u64>();
        let queues = self.frontier.bytes() + self.next.bytes();
        let search = self.table.bytes() + self.trail.bytes() + queues;
        self.progress.bytes = search + packed + candidates + fresh;
        self.bytes_most = self.bytes_most.max(self.progress.bytes);
    }

    /// Builds the counterexample: the path to a state, given by its depth and its index there.
    fn found(&self, property: Property, depth: u32, index: u64, waiting: u8) -> End<M::Action> {
        let (start, path) = self.trail.path_to(depth, index);
        let mut state = self.model.initial_states().swap_remove(start as usize);
        let mut steps = Vec::with_capacity(path.len());
        for ordinal in path {
            let mut successors = Vec::new();
            self.model.successors(&state, &mut successors);
            let reduced = successors.len();
            if ordinal as usize >= reduced {
                // The state was expanded in full.
                self.model.all_successors(&state, &mut successors);
            }
            let taken = successors.swap_remove(ordinal as usize);
            steps.push(taken.action);
            state = taken.state;
        }
        End::Broken(Counterexample { property, steps, cycle: Vec::new(), waiting })
    }
}
