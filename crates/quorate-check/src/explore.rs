//! Breadth-first exploration, in parallel, with the same result for any number of threads.
//!
//! The states of one depth are expanded a block at a time: threads work out successors and drop those that are known;
//! what is left is added in the order of the block. So states are numbered alike however many threads there are, and
//! the first violation found is a shortest one.

use std::ops::ControlFlow;

use quorate_core::Property;
use rayon::iter::ParallelIterator;
use rayon::slice::ParallelSlice;

use crate::lasso::Edges;
use crate::visited::{FingerprintBatch, START, Visited};
use crate::{Fingerprint, Model};

/// How far to go.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// The bytes that the exploration may take.
    pub memory: u64,
    /// The longest way from the start.
    pub depth: u32,
}

/// How far it has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Distinct states.
    pub states: u64,
    /// Steps between them.
    pub steps: u64,
    /// The depth being expanded.
    pub depth: u32,
    /// States that wait to be expanded.
    pub queue: u64,
    /// About how many bytes are in use.
    pub bytes: u64,
}

/// What came of it.
#[derive(Clone, Debug)]
pub struct Exploration<A> {
    /// How far it went.
    pub progress: Progress,
    /// The most bytes in use at any time.
    pub bytes_most: u64,
    /// How it ended.
    pub end: End<A>,
}

/// How an exploration ends.
#[derive(Clone, Debug)]
pub enum End<A> {
    /// Every state was visited and nothing is wrong.
    Exhausted,
    /// Something is wrong.
    Broken(Counterexample<A>),
    /// States come again, and what was left out to save work might have mattered: explore without reductions.
    Cyclic,
    /// Every state was visited, and what should have come about in some never did.
    Vacuous,
    /// There is no room for more states.
    Memory,
    /// There are states beyond the depth.
    Depth,
    /// It was told to stop.
    Stopped,
}

/// A counterexample.
#[derive(Clone, Debug)]
pub struct Counterexample<A> {
    /// What is broken.
    pub property: Property,
    /// What happens from the start on.
    pub steps: Vec<A>,
    /// What then happens over and over again; nothing, if nothing happens any more or the harm is done.
    pub cycle: Vec<A>,
    /// Who waits for ever, if that is what is wrong.
    pub waiting: u8,
}

/// So many states are expanded before what was found is added.
const BLOCK: usize = 1 << 13;

/// So many states are expanded by one thread at a time.
const BATCH: usize = 1 << 7;

/// What a thread brings back from a batch of states.
struct Expanded<S> {
    /// New states as far as that is known.
    fresh: Vec<Fresh<S>>,
    /// Their fingerprints.
    prints: FingerprintBatch,
    /// The states of the batch, and where the steps of each end.
    parents: Vec<(u32, u32)>,
    /// Where each step goes, as far as that is known, and its class.
    edges: Vec<(u32, u16)>,
    steps: u64,
    /// Whether a step leads to a state that was reached no later than its own.
    has_back_edge: bool,
    /// What is wrong with a state itself, if nothing that must happen can.
    stuck: Option<(u32, Property)>,
}

/// A state that may be new, and what is worth knowing of it.
struct Fresh<S> {
    /// From where, and by which successor.
    origin: (u32, u16),
    /// Its place among the steps of the batch.
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

/// A step to a state that is not known yet.
const UNKNOWN: u32 = u32::MAX;

/// Explores a model. `on_progress` is told now and then how far it has come, and may stop it.
pub fn explore<M: Model + ?Sized>(
    model: &M,
    bounds: Bounds,
    mut on_progress: impl FnMut(&Progress) -> ControlFlow<()>,
) -> Exploration<M::Action> {
    let mut search = Search::new(model);
    let end = search.run(bounds, &mut on_progress);
    let bytes_most = search.bytes_most;
    Exploration { progress: search.progress, bytes_most, end }
}

struct Search<'m, M: Model + ?Sized> {
    model: &'m M,
    visited: Visited,
    frontier: Vec<(u32, M::State)>,
    next: Vec<(u32, M::State)>,
    edges: Edges,
    waiting: Vec<u8>,
    /// The first state of the next depth.
    next_depth_start: u32,
    /// Whether a step leads to a state that is not deeper: without one, no state comes again.
    has_back_edge: bool,
    goals_reached: u64,
    progress: Progress,
    bytes_most: u64,
}

impl<'m, M: Model + ?Sized> Search<'m, M> {
    fn new(model: &'m M) -> Self {
        Self {
            model,
            visited: Visited::new(),
            frontier: Vec::new(),
            next: Vec::new(),
            edges: Edges::default(),
            waiting: Vec::new(),
            next_depth_start: 0,
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
        while !self.next.is_empty() {
            self.frontier = std::mem::take(&mut self.next);
            if self.progress.depth == bounds.depth {
                return End::Depth;
            }
            self.next_depth_start = self.visited.next_number();
            let frontier = std::mem::take(&mut self.frontier);
            for block in frontier.chunks(BLOCK) {
                if let Some(end) = self.expand(block) {
                    return end;
                }
                self.account(frontier.len());
                if self.progress.bytes > bounds.memory || self.visited.is_full() {
                    return End::Memory;
                }
                if on_progress(&self.progress).is_break() {
                    return End::Stopped;
                }
            }
            self.progress.depth += u32::from(!self.next.is_empty());
        }
        // Most worlds come to an end whatever happens, and then nobody can wait for ever but at the end.
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

    fn expand(&mut self, block: &[(u32, M::State)]) -> Option<End<M::Action>> {
        let (model, visited, next_depth_start) = (self.model, &self.visited, self.next_depth_start);
        let expand =
            |batch: &[(u32, M::State)]| Expanded::of(model, visited, next_depth_start, batch);
        let expanded: Vec<Expanded<M::State>> = block.par_chunks(BATCH).map(expand).collect();
        self.add(expanded)
    }

    /// Adds the states of some batches that are not known; tells if one is a bad one.
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
        let mut numbers = (base..).zip(numbers);
        let tracks_waiting = self.model.starvation_property().is_some();
        for Expanded { fresh, parents, mut edges, steps, has_back_edge, stuck, .. } in expanded {
            self.progress.steps += steps;
            self.has_back_edge |= has_back_edge;
            if let Some((state, property)) = stuck {
                let waiting = self.waiting.get(state as usize).copied().unwrap_or(0);
                return Some(self.found(property, state, Vec::new(), waiting));
            }
            for (fresh, (own, number)) in fresh.into_iter().zip(&mut numbers) {
                if tracks_waiting {
                    self.waiting.push(fresh.waiting);
                }
                if let Some((to, _)) = edges.get_mut(fresh.step as usize) {
                    *to = number;
                }
                if own != number {
                    continue;
                }
                self.progress.states += 1;
                self.goals_reached |= fresh.goals_reached;
                if let Some(property) = fresh.broken {
                    return Some(self.found(property, number, Vec::new(), 0));
                }
                self.next.push((number, fresh.state));
            }
            if tracks_waiting {
                self.edges.add(&parents, &edges);
            }
        }
        None
    }

    fn account(&mut self, frontier: usize) {
        let state = self.next.last().map_or(0, |(_, state)| self.model.bytes(state) + 4) as u64;
        self.progress.queue = self.next.len() as u64;
        let kept = self.edges.bytes() + self.waiting.capacity() as u64;
        let states = (self.next.len() + frontier) as u64 * state;
        self.progress.bytes = self.visited.bytes() + kept + states;
        self.bytes_most = self.bytes_most.max(self.progress.bytes);
    }

    /// Whether somebody can wait for ever while things go on.
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

    /// The way to a state, and on along these states.
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
        batch: &[(u32, S)],
    ) -> Self {
        // Who never waits cannot starve, and the way round is of no interest.
        let keeps_edges = model.starvation_property().is_some();
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
