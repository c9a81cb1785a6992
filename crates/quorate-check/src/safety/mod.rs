//! Exploration in little memory: every state is visited, but only safety is checked.
//!
//! - **Visited states** are eight bytes of their fingerprints each (`table.rs`). Two states with equal fingerprints are taken
//!   for one, so a state may be missed. The probability is computed from the number of states (`omission.rs`).
//! - **States that wait to be expanded** are kept as bytes (`frontier.rs`), all others not at all.
//! - **Edges** are not kept. A step to a state that is no deeper is noticed. Without such a step every run ends, and a process
//!   that waits forever does so in a final state, which is checked. With such a step a second pass tells whether there is a cycle
//!   (`second_pass.rs`). If there is one, nothing is known about processes that wait forever.
//! - **The way to a state** takes about a byte (`trail.rs`).
//! - **If memory is short**, the states that wait are moved to a file (`spill.rs`). A search that has to stop is written to
//!   another one, and continued by another run of the program (`checkpoint.rs`).
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
mod checkpoint;
mod frontier;
mod omission;
mod second_pass;
mod spill;
mod table;
mod trail;

use std::io;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::Ordering;

use quorate_core::Property;
use rayon::iter::{IntoParallelRefIterator, ParallelIterator};

use crate::{Bounds, Counterexample, End, Exploration, Fingerprint, PackedModel, Progress};

use crate::estimate::Forecast;
use batch::{Added, Candidates};
use checkpoint::{CheckpointReader, CheckpointWriter, invalid};
use frontier::{Frontier, Segment};
use table::Table;
use trail::Trail;

pub use checkpoint::checkpoint_identity;

/// Result of an exploration that checks safety.
#[derive(Clone, Debug)]
pub struct SafetyExploration<A> {
    /// The result. [`End::Exhausted`] means that no state violates a property, and [`End::Cyclic`] does not occur.
    pub exploration: Exploration<A>,
    /// Upper bound on the probability that a state was missed because its fingerprint is that of another state.
    pub omission_probability: f64,
    /// Whether every run ends, as far as states were visited. If all were, no process waits forever.
    pub is_acyclic: bool,
}

/// Files that a search for safety may use.
#[derive(Clone, Copy, Default)]
pub struct SafetyFiles<'a> {
    /// Directory for states that wait to be expanded, if memory is short. `None` ends the search then.
    pub spill: Option<&'a Path>,
    /// The checkpoint to write.
    pub checkpoint: Option<Checkpoint<'a>>,
    /// File with the checkpoint from which to continue, and the identity of its search.
    pub resume: Option<(&'a Path, Fingerprint)>,
}

/// A checkpoint of a search. It is written when the caller stops the search, when the memory limit is reached, and when it is
/// due.
#[derive(Clone, Copy)]
pub struct Checkpoint<'a> {
    /// File to write, which is replaced.
    pub file: &'a Path,
    /// Tells this search from others, whose checkpoints are refused.
    pub identity: Fingerprint,
    /// Whether it is time to write a checkpoint; called after each block.
    pub is_due: &'a (dyn Fn() -> bool + Sync),
}

/// Number of batches that are expanded before their successors are added.
const BLOCK: usize = 1 << 7;

/// Explores a model like [`explore`](crate::explore()), in a tenth of the memory, and looks for no cycle in which a process
/// waits. `on_progress` is called after each block and may stop the exploration.
pub fn explore_safety<M: PackedModel + ?Sized>(
    model: &M,
    bounds: Bounds,
    on_progress: impl FnMut(&Progress) -> ControlFlow<()>,
) -> SafetyExploration<M::Action> {
    let explored = explore_safety_with(model, bounds, SafetyFiles::default(), on_progress);
    explored.expect("without files no access to a file fails")
}

/// The same as [`explore_safety`] with files. Fails if a file cannot be read or written.
pub fn explore_safety_with<M: PackedModel + ?Sized>(
    model: &M,
    bounds: Bounds,
    files: SafetyFiles<'_>,
    mut on_progress: impl FnMut(&Progress) -> ControlFlow<()>,
) -> io::Result<SafetyExploration<M::Action>> {
    let mut search = Search::new(model);
    let end = search.run(bounds, files, &mut on_progress)?;
    if end.is_early() {
        search.progress.expected = search.forecast.expected(model);
    }
    let mut is_acyclic = !search.has_back_edge;
    if !is_acyclic && matches!(end, End::Exhausted) && model.starvation_property().is_some() {
        let progress = search.progress;
        let goes_on = || on_progress(&progress).is_continue();
        is_acyclic = second_pass::every_run_ends(model, &mut search.table, goes_on);
    }
    Ok(SafetyExploration {
        omission_probability: omission::probability(search.progress.states, table::BITS),
        is_acyclic,
        exploration: Exploration { progress: search.progress, bytes_most: search.bytes_most, end },
    })
}

struct Search<'m, M: PackedModel + ?Sized> {
    model: &'m M,
    table: Table,
    frontier: Frontier,
    next: Frontier,
    trail: Trail,
    /// Number of states of the current depth that have been expanded.
    expanded: u64,
    /// Whether the initial states are being expanded, or were.
    has_begun: bool,
    has_back_edge: bool,
    goals_reached: u64,
    progress: Progress,
    forecast: Forecast,
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
            has_begun: false,
            has_back_edge: false,
            goals_reached: 0,
            progress: Progress::default(),
            forecast: Forecast::default(),
            bytes_most: 0,
        }
    }

    fn run(
        &mut self,
        bounds: Bounds,
        files: SafetyFiles<'_>,
        on_progress: &mut impl FnMut(&Progress) -> ControlFlow<()>,
    ) -> io::Result<End<M::Action>> {
        let begun = match files.resume {
            Some((file, identity)) => self.resume(CheckpointReader::open(file, identity)?)?,
            None => self.begin(),
        };
        if let Some(broken) = begun {
            return Ok(broken);
        }
        loop {
            while let block = self.frontier.take(BLOCK)?
                && !block.is_empty()
            {
                if let Some(end) = self.expand(&block) {
                    return Ok(end);
                }
                if let Some(end) = self.after_block(bounds, files, on_progress)? {
                    return Ok(end);
                }
            }
            if self.next.states() == 0 {
                break;
            }
            self.progress.expected = self.forecast.add(self.model, self.next.states());
            if self.has_begun {
                self.progress.depth += 1;
            }
            if self.progress.depth == bounds.depth {
                return Ok(End::Depth);
            }
            self.next_depth();
        }
        Ok(match self.goals_reached & self.model.goals() == self.model.goals() {
            true => End::Exhausted,
            false => End::Vacuous,
        })
    }

    fn next_depth(&mut self) {
        self.frontier = std::mem::take(&mut self.next);
        self.table.next_depth();
        self.trail.next_depth();
        (self.expanded, self.has_begun) = (0, true);
    }

    /// Makes room and writes a checkpoint if necessary. Returns the end of a search that must not go on.
    fn after_block(
        &mut self,
        bounds: Bounds,
        files: SafetyFiles<'_>,
        on_progress: &mut impl FnMut(&Progress) -> ControlFlow<()>,
    ) -> io::Result<Option<End<M::Action>>> {
        if let Some(directory) = files.spill.filter(|_| self.progress.bytes > bounds.memory) {
            self.frontier.spill(directory)?;
            self.next.spill(directory)?;
            self.progress.bytes = self.bytes();
        }
        let end = match self.progress.bytes > bounds.memory {
            true => Some(End::Memory),
            false => on_progress(&self.progress).is_break().then_some(End::Stopped),
        };
        // A search that is void is stopped and never continued.
        if let Some(checkpoint) = files.checkpoint.filter(|_| !self.model.is_unsupported())
            && (end.is_some() || (checkpoint.is_due)())
        {
            self.write(checkpoint)?;
        }
        Ok(end)
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
        self.progress.bytes = self.bytes() + packed + candidates + fresh;
        self.bytes_most = self.bytes_most.max(self.progress.bytes);
    }

    /// Memory between two blocks, in bytes.
    fn bytes(&self) -> u64 {
        let queues = self.frontier.bytes() + self.next.bytes();
        self.table.bytes() + self.trail.bytes() + queues
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

/// Checkpoints. The parts of the search are written and read in the same order.
impl<M: PackedModel + ?Sized> Search<'_, M> {
    fn write(&self, checkpoint: Checkpoint<'_>) -> io::Result<()> {
        CheckpointWriter::replace(checkpoint.file, checkpoint.identity, |out| {
            let mut model = Vec::new();
            self.model.save(&mut model);
            out.bytes(&model)?;
            let Progress { states, steps, depth, queue, .. } = self.progress;
            let flags = u64::from(self.has_back_edge);
            for number in [
                states,
                steps,
                depth.into(),
                queue,
                self.expanded,
                self.goals_reached,
                flags,
                self.bytes_most,
            ] {
                out.number(number)?;
            }
            out.number(self.forecast.widths().len() as u64)?;
            self.forecast.widths().iter().try_for_each(|width| out.number(*width))?;
            self.table.write(out)?;
            self.trail.write(out)?;
            self.frontier.write(out)?;
            self.next.write(out)
        })
    }

    fn resume(&mut self, mut input: CheckpointReader) -> io::Result<Option<End<M::Action>>> {
        let model = input.bytes()?;
        let mut numbers = [0; 8];
        for number in &mut numbers {
            *number = input.number()?;
        }
        let [states, steps, depth, queue, expanded, goals_reached, flags, bytes_most] = numbers;
        let depth = u32::try_from(depth).map_err(|_| invalid("it is damaged"))?;
        self.progress = Progress { states, steps, depth, queue, ..Progress::default() };
        let depths = input.length(size_of::<u64>() as u64)?;
        let widths = (0..depths).map(|_| input.number()).collect::<io::Result<_>>()?;
        self.forecast = Forecast::of_widths(widths);
        (self.expanded, self.goals_reached) = (expanded, goals_reached);
        (self.has_back_edge, self.bytes_most, self.has_begun) = (flags != 0, bytes_most, true);
        self.table = Table::read(&mut input)?;
        self.trail = Trail::read(&mut input)?;
        self.frontier = Frontier::read(&mut input)?;
        self.next = Frontier::read(&mut input)?;
        // Only what is known to be whole is given to the model.
        input.finish()?;
        match self.model.restore(&model) {
            true => Ok(None),
            false => Err(invalid("it belongs to another version of the program")),
        }
    }
}
