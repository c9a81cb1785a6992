//! Parallel breadth-first exploration. The result does not depend on the number of threads.
//!
//! The states of one depth are expanded one block at a time. Threads compute the successors and drop the ones already
//! visited. The rest is added in the order of the block, each table by one thread, and then threads drop the states that came
//! twice. So the numbering of states does not depend on the number of threads, and the first violation found is a shortest one.

use std::ops::ControlFlow;

use quorate_core::Property;
use rayon::iter::{IntoParallelIterator, ParallelIterator};
use rayon::slice::ParallelSlice;

use crate::estimate::Forecast;
use crate::lasso::Edges;
use crate::visited::{FingerprintBatch, START, Visited};
use crate::{Expected, Fingerprint, Model};

/// Limits of an exploration.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Maximum memory of the exploration in bytes.
    pub memory: u64,
    /// Maximum distance from the initial state in steps.
    pub depth: u32,
}

/// Progress of an exploration so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Number of distinct states found.
    pub states: u64,
    /// Number of steps between these states.
    pub steps: u64,
    /// Depth that is being expanded.
    pub depth: u32,
    /// Number of states that wait to be expanded.
    pub queue: u64,
    /// Approximate memory in use, in bytes.
    pub bytes: u64,
    /// Expected size of the world, once enough of it is known and if paths are known to end.
    pub expected: Option<Expected>,
}

/// Result of an exploration.
#[derive(Clone, Debug)]
pub struct Exploration<A> {
    /// Progress at the end of the exploration.
    pub progress: Progress,
    /// Peak memory use in bytes.
    pub bytes_most: u64,
    /// Reason why the exploration ended.
    pub end: End<A>,
}

/// Reason why an exploration ended.
#[derive(Clone, Debug)]
pub enum End<A> {
    /// Every state was visited and no property is violated.
    Exhausted,
    /// A property is violated.
    Broken(Counterexample<A>),
    /// States recur, and a reduction may have hidden a violation. Explore again without reductions.
    Cyclic,
    /// Every state was visited, but a goal was never reached.
    Vacuous,
    /// The memory limit was reached, or no more states can be numbered.
    Memory,
    /// There are states beyond the depth limit.
    Depth,
    /// The caller stopped the exploration.
    Stopped,
}

impl<A> End<A> {
    /// Whether the exploration ended before every state was visited, and without a violation.
    pub fn is_early(&self) -> bool {
        matches!(self, Self::Memory | Self::Depth | Self::Stopped)
    }
}

/// A violated property and the steps that lead to the violation.
#[derive(Clone, Debug)]
pub struct Counterexample<A> {
    /// Property that is violated.
    pub property: Property,
    /// Steps from the initial state.
    pub steps: Vec<A>,
    /// Steps that then repeat forever. Empty if the violation is a single state.
    pub cycle: Vec<A>,
    /// Bit set of the processes that wait forever, if that is the violation.
    pub waiting: u8,
}

/// Number of states expanded before their successors are added.
const BLOCK: usize = 1 << 13;

/// Number of states that one thread expands at a time.
const BATCH: usize = 1 << 7;

/// Result of expanding one batch of states.
struct Expanded<S> {
    /// Successors that were not yet visited when the batch was expanded.
    fresh: Vec<Fresh<S>>,
    /// Fingerprints of the fresh states.
    prints: FingerprintBatch,
    /// The states of the batch, each with the end of its range of steps.
    parents: Vec<(u32, u32)>,
    /// Target of each step, or [`UNKNOWN`], and the fairness class of the step.
    edges: Vec<(u32, u16)>,
    steps: u64,
    /// Whether a step leads to a state that is no deeper than the states of the batch.
    has_back_edge: bool,
    /// First state of the batch that is quiescent and violates a property there.
    stuck: Option<(u32, Property)>,
}

/// A state that may be new, and the facts about it that are needed when it is added.
struct Fresh<S> {
    /// Parent state, and the index of this state among its successors.
    origin: (u32, u16),
    /// Index among the steps of the batch.
    step: u32,
    waiting: u8,
    goals_reached: u64,
    broken: Option<Property>,
    state: S,
}

impl<S> Fresh<S> {
    fn new<M: Model<State = S> + ?Sized>(
        model: &M,
        origin: (u32, u16),
        step: u32,
        state: S,
    ) -> Self {
        let (waiting, goals_reached) = (model.waiting(&state), model.goals_reached(&state));
        Self { origin, step, waiting, goals_reached, broken: model.broken(&state), state }
    }
}

/// The states of a batch that turned out to be new.
struct Kept<S> {
    states: Vec<(u32, S)>,
    /// Processes that wait in each state that may have been new.
    waiting: Vec<u8>,
    parents: Vec<(u32, u32)>,
    edges: Vec<(u32, u16)>,
    goals_reached: u64,
    /// First new state that violates a property, by its index.
    broken: Option<(usize, Property)>,
    steps: u64,
    has_back_edge: bool,
    stuck: Option<(u32, Property)>,
}

impl<S> Kept<S> {
    /// Keeps the states that have the numbers which they would get, from `base` on, as new ones.
    fn of(expanded: Expanded<S>, base: u32, numbers: &[u32]) -> Self {
        let Expanded { fresh, parents, mut edges, steps, has_back_edge, stuck, .. } = expanded;
        let is_new = |(own, number): &(u32, &u32)| own == *number;
        let count = (base..).zip(numbers).filter(is_new).count();
        let (mut states, mut goals_reached, mut broken) = (Vec::with_capacity(count), 0, None);
        let waiting = fresh.iter().map(|fresh| fresh.waiting).collect();
        for (fresh, (own, number)) in fresh.into_iter().zip((base..).zip(numbers)) {
            if let Some((to, _)) = edges.get_mut(fresh.step as usize) {
                *to = *number;
            }
            if own != *number {
                continue;
            }
            goals_reached |= fresh.goals_reached;
            broken = broken.or(fresh.broken.map(|property| (states.len(), property)));
            states.push((own, fresh.state));
        }
        Self { states, waiting, parents, edges, goals_reached, broken, steps, has_back_edge, stuck }
    }
}

/// Target of a step to a state that has no number yet.
const UNKNOWN: u32 = u32::MAX;

/// Explores a model. `on_progress` is called after each block and may stop the exploration.
pub fn explore<M: Model + ?Sized>(
    model: &M,
    bounds: Bounds,
    mut on_progress: impl FnMut(&Progress) -> ControlFlow<()>,
) -> Exploration<M::Action> {
    let mut search = Search::new(model);
    let end = search.run(bounds, &mut on_progress);
    if end.is_early() {
        search.progress.expected = search.forecast.expected(model);
    }
    let bytes_most = search.bytes_most;
    Exploration { progress: search.progress, bytes_most, end }
}

struct Search<'m, M: Model + ?Sized> {
    model: &'m M,
    visited: Visited,
    /// States of the next depth, as the batches found them.
    next: Vec<Vec<(u32, M::State)>>,
    /// Number of these states.
    next_states: usize,
    edges: Edges,
    waiting: Vec<u8>,
    /// Number of the first state of the next depth.
    next_depth_start: u32,
    /// Whether a step leads to a state that is not deeper. Without such a step there is no cycle.
    has_back_edge: bool,
    goals_reached: u64,
    progress: Progress,
    forecast: Forecast,
    bytes_most: u64,
}

impl<'m, M: Model + ?Sized> Search<'m, M> {
    fn new(model: &'m M) -> Self {
        Self {
            model,
            visited: Visited::new(),
            next: Vec::new(),
            next_states: 0,
            edges: Edges::default(),
            waiting: Vec::new(),
            next_depth_start: 0,
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
        on_progress: &mut impl FnMut(&Progress) -> ControlFlow<()>,
    ) -> End<M::Action> {
        let states = self.model.initial_states();
        let prints: Vec<Fingerprint> =
            states.iter().map(|state| self.model.fingerprint(state)).collect();
        let mut initial_states = Expanded::none();
        initial_states.prints = FingerprintBatch::new(prints.into_iter());
        let fresh = |state| Fresh::new(self.model, (START, 0), 0, state);
        initial_states.fresh = states.into_iter().map(fresh).collect();
        if let Some(broken) = self.add(vec![initial_states]) {
            return broken;
        }
        while self.next_states > 0 {
            let count = std::mem::take(&mut self.next_states);
            let frontier = std::mem::take(&mut self.next);
            self.progress.expected = self.forecast.add(self.model, count as u64);
            if self.progress.depth == bounds.depth {
                return End::Depth;
            }
            self.next_depth_start = self.visited.next_number();
            let mut states = frontier.iter().flatten();
            loop {
                let block: Vec<&(u32, M::State)> = states.by_ref().take(BLOCK).collect();
                if block.is_empty() {
                    break;
                }
                if let Some(end) = self.expand(&block) {
                    return end;
                }
                self.account(count);
                if self.progress.bytes > bounds.memory || self.visited.is_full() {
                    return End::Memory;
                }
                if on_progress(&self.progress).is_break() {
                    return End::Stopped;
                }
            }
            self.progress.depth += u32::from(self.next_states > 0);
        }
        // Most models are acyclic. There a process can wait forever only in a final state.
        if self.has_back_edge && self.edges.has_cycle() {
            if self.model.is_reduced() {
                return End::Cyclic;
            }
            if let Some(found) = self.find_starvation() {
                return found;
            }
        }
        match self.goals_reached & self.model.goals() == self.model.goals() {
            true => End::Exhausted,
            false => End::Vacuous,
        }
    }

    fn expand(&mut self, block: &[&(u32, M::State)]) -> Option<End<M::Action>> {
        let (model, visited, next_depth_start) = (self.model, &self.visited, self.next_depth_start);
        let expand =
            |batch: &[&(u32, M::State)]| Expanded::of(model, visited, next_depth_start, batch);
        let expanded: Vec<Expanded<M::State>> = block.par_chunks(BATCH).map(expand).collect();
        self.add(expanded)
    }

    /// Adds the states of some batches that were not yet visited. Returns the violation if there is one.
    fn add(&mut self, expanded: Vec<Expanded<M::State>>) -> Option<End<M::Action>> {
        let base = self.visited.next_number();
        let mut count = 0;
        let parts: Vec<(u32, &FingerprintBatch)> = expanded
            .iter()
            .map(|part| {
                let offset = count;
                count += part.fresh.len() as u32;
                (offset, &part.prints)
            })
            .collect();
        let origins = expanded.iter().flat_map(|part| part.fresh.iter().map(|fresh| fresh.origin));
        let mut numbers: Vec<u32> = (base..base + count).collect();
        for (place, number) in self.visited.add(&parts, origins) {
            numbers[place as usize] = number;
        }
        let mut offset = 0;
        let placed: Vec<_> = expanded
            .into_iter()
            .map(|part| {
                let start = offset;
                offset += part.fresh.len();
                (base + start as u32, &numbers[start..offset], part)
            })
            .collect();
        let keep = |(base, numbers, part)| Kept::of(part, base, numbers);
        let kept: Vec<Kept<M::State>> = placed.into_par_iter().map(keep).collect();
        let tracks_waiting = self.model.starvation_property().is_some();
        let keeps_edges = keeps_edges(self.model);
        for part in kept {
            self.progress.steps += part.steps;
            self.has_back_edge |= part.has_back_edge;
            if let Some((state, property)) = part.stuck {
                let waiting = self.waiting.get(state as usize).copied().unwrap_or(0);
                return Some(self.found(property, state, Vec::new(), waiting));
            }
            if tracks_waiting {
                self.waiting.extend_from_slice(&part.waiting);
            }
            if let Some((index, property)) = part.broken {
                self.progress.states += index as u64 + 1;
                return Some(self.found(property, part.states[index].0, Vec::new(), 0));
            }
            self.progress.states += part.states.len() as u64;
            self.goals_reached |= part.goals_reached;
            self.next_states += part.states.len();
            if !part.states.is_empty() {
                self.next.push(part.states);
            }
            if keeps_edges {
                self.edges.add(&part.parents, &part.edges);
            }
        }
        None
    }

    fn account(&mut self, frontier: usize) {
        let last = self.next.last().and_then(|states| states.last());
        let state = last.map_or(0, |(_, state)| self.model.bytes(state) + 4) as u64;
        self.progress.queue = self.next_states as u64;
        let kept = self.edges.bytes() + self.waiting.capacity() as u64;
        let states = (self.next_states + frontier) as u64 * state;
        self.progress.bytes = self.visited.bytes() + kept + states;
        self.bytes_most = self.bytes_most.max(self.progress.bytes);
    }

    /// Searches for a fair cycle in which a process waits forever.
    fn find_starvation(&self) -> Option<End<M::Action>> {
        let property = self.model.starvation_property()?;
        let any_waiting = self.waiting.iter().fold(0, |all, waiting| all | waiting);
        let bits = (0..u8::BITS).map(|bit| 1_u8 << bit).filter(|bit| any_waiting & bit != 0);
        let lasso = bits.into_iter().find_map(|bit| {
            self.edges
                .fair_cycle(|state| self.waiting[state as usize] & bit != 0)
                .map(|at| (bit, at))
        });
        let (bit, (state, cycle)) = lasso?;
        Some(self.found(property, state, cycle, bit))
    }

    /// Builds the counterexample: the path to a state, and from there along the states of `cycle`.
    fn found(
        &self,
        property: Property,
        number: u32,
        cycle: Vec<u32>,
        waiting: u8,
    ) -> End<M::Action> {
        let (start, path) = self.visited.path_to(number);
        let mut state = self.model.initial_states().swap_remove(start as usize);
        let mut successors = Vec::new();
        let mut steps = Vec::new();
        for ordinal in path {
            successors.clear();
            self.model.successors(&state, &mut successors);
            let taken = successors.swap_remove(ordinal as usize);
            steps.push(taken.action);
            state = taken.state;
        }
        let mut cycle_actions = Vec::new();
        for next in cycle {
            successors.clear();
            self.model.successors(&state, &mut successors);
            let leads_there = |successor: &crate::Successor<M::State, M::Action>| {
                self.visited.number(self.model.fingerprint(&successor.state)) == Some(next)
            };
            let place = successors.iter().position(leads_there).expect("a cycle is made of steps");
            let taken = successors.swap_remove(place);
            cycle_actions.push(taken.action);
            state = taken.state;
        }
        End::Broken(Counterexample { property, steps, cycle: cycle_actions, waiting })
    }
}

/// Whether edges are needed: for cycles in which a process waits forever, and because a reduction may skip a step forever if
/// there is a cycle.
fn keeps_edges(model: &(impl Model + ?Sized)) -> bool {
    model.starvation_property().is_some() || model.is_reduced()
}

impl<S> Expanded<S> {
    fn none() -> Self {
        Self {
            fresh: Vec::new(),
            prints: FingerprintBatch::new([].into_iter()),
            parents: Vec::new(),
            edges: Vec::new(),
            steps: 0,
            has_back_edge: false,
            stuck: None,
        }
    }

    fn of<M: Model<State = S> + ?Sized>(
        model: &M,
        visited: &Visited,
        next_depth_start: u32,
        batch: &[&(u32, S)],
    ) -> Self {
        let keeps_edges = keeps_edges(model);
        let mut found = Self::none();
        let mut successors = Vec::with_capacity(batch.len() * 4);
        let mut prints = Vec::with_capacity(batch.len() * 4);
        for (number, state) in batch {
            let first = successors.len();
            model.successors(state, &mut successors);
            let own = &successors[first..];
            if !own.iter().any(|successor| successor.class.is_some()) {
                let broken = model.broken_when_quiescent(state).map(|property| (*number, property));
                found.stuck = found.stuck.or(broken);
            }
            prints.extend(own.iter().map(|successor| model.fingerprint(&successor.state)));
            found.parents.push((*number, successors.len() as u32));
        }
        found.steps = successors.len() as u64;
        let known = visited.numbers(&prints);
        let fresh = prints.iter().zip(&known).filter(|(_, known)| known.is_none());
        found.prints = FingerprintBatch::new(fresh.map(|(print, _)| *print));
        found.fresh.reserve_exact(found.prints.len());
        if keeps_edges {
            found.edges.reserve_exact(successors.len());
        }
        let mut parents = found.parents.iter();
        let (mut parent, mut first, mut end) = (0, 0, 0);
        for (step, successor) in successors.into_iter().enumerate() {
            while step as u32 >= end
                && let Some((next, its_end)) = parents.next()
            {
                (parent, first, end) = (*next, step, *its_end);
            }
            found.has_back_edge |= known[step].is_some_and(|known| known < next_depth_start);
            if known[step].is_none() {
                let origin = (parent, (step - first) as u16);
                found.fresh.push(Fresh::new(model, origin, step as u32, successor.state));
            }
            if keeps_edges {
                let class = successor.class.map_or(u16::MAX, |class| class.0);
                found.edges.push((known[step].unwrap_or(UNKNOWN), class));
            }
        }
        found
    }
}
