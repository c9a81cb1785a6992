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
use crate::visited::{START, Sorted, Visited};
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
    Broken(Found<A>),
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
pub struct Found<A> {
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
    prints: Sorted,
    /// The states of the batch, and where the steps of each end.
    parents: Vec<(u32, u32)>,
    /// Where each step goes, as far as that is known, and its class.
    edges: Vec<(u32, u16)>,
    steps: u64,
    /// Whether a step leads to a state that was reached no later than its own.
    back: bool,
    /// What is wrong with a state itself, if nothing that must happen can.
    stuck: Option<(u32, Property)>,
}

/// A state that may be new, and what is worth knowing of it.
struct Fresh<S> {
    /// From where, and by which successor.
    way: (u32, u16),
    /// Its place among the steps of the batch.
    step: u32,
    waiting: u8,
    seen: u64,
    broken: Option<Property>,
    state: S,
}

impl<S> Fresh<S> {
    fn new<M: Model<State = S> + ?Sized>(model: &M, way: (u32, u16), step: u32, state: S) -> Self {
        let (waiting, seen) = (model.waiting(&state), model.seen(&state));
        Self { way, step, waiting, seen, broken: model.broken(&state), state }
    }
}

/// A step to a state that is not known yet.
const UNKNOWN: u32 = u32::MAX;

/// Explores a model. `look` is told now and then how far it has come, and may stop it.
pub fn explore<M: Model + ?Sized>(
    model: &M,
    bounds: Bounds,
    mut look: impl FnMut(&Progress) -> ControlFlow<()>,
) -> Exploration<M::Action> {
    let mut search = Search::new(model);
    let end = search.run(bounds, &mut look);
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
    deeper: u32,
    /// Whether a step leads to a state that is not deeper: without one, no state comes again.
    back: bool,
    seen: u64,
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
            deeper: 0,
            back: false,
            seen: 0,
            progress: Progress::default(),
            bytes_most: 0,
        }
    }

    fn run(
        &mut self,
        bounds: Bounds,
        look: &mut impl FnMut(&Progress) -> ControlFlow<()>,
    ) -> End<M::Action> {
        let states = self.model.starts();
        let prints: Vec<Fingerprint> =
            states.iter().map(|state| self.model.fingerprint(state)).collect();
        let mut starts = Expanded::none();
        starts.prints = Sorted::new(prints.into_iter());
        let fresh = |state| Fresh::new(self.model, (START, 0), 0, state);
        starts.fresh = states.into_iter().map(fresh).collect();
        if let Some(broken) = self.add(vec![starts]) {
            return broken;
        }
        while !self.next.is_empty() {
            self.frontier = std::mem::take(&mut self.next);
            if self.progress.depth == bounds.depth {
                return End::Depth;
            }
            self.deeper = self.visited.next_number();
            let frontier = std::mem::take(&mut self.frontier);
            for block in frontier.chunks(BLOCK) {
                if let Some(end) = self.expand(block) {
                    return end;
                }
                self.account(frontier.len());
                if self.progress.bytes > bounds.memory || self.visited.is_full() {
                    return End::Memory;
                }
                if look(&self.progress).is_break() {
                    return End::Stopped;
                }
            }
            self.progress.depth += u32::from(!self.next.is_empty());
        }
        // Most worlds come to an end whatever happens, and then nobody can wait for ever but at the end.
        if self.back && self.edges.has_cycle() {
            if self.model.is_reduced() {
                return End::Cyclic;
            }
            if let Some(found) = self.starving() {
                return found;
            }
        }
        match self.seen & self.model.hopes() == self.model.hopes() {
            true => End::Exhausted,
            false => End::Vacuous,
        }
    }

    fn expand(&mut self, block: &[(u32, M::State)]) -> Option<End<M::Action>> {
        let (model, visited, deeper) = (self.model, &self.visited, self.deeper);
        let expand = |batch: &[(u32, M::State)]| Expanded::of(model, visited, deeper, batch);
        let expanded: Vec<Expanded<M::State>> = block.par_chunks(BATCH).map(expand).collect();
        self.add(expanded)
    }

    /// Adds the states of some batches that are not known; tells if one is a bad one.
    fn add(&mut self, expanded: Vec<Expanded<M::State>>) -> Option<End<M::Action>> {
        let base = self.visited.next_number();
        let mut count = 0;
        let parts: Vec<(u32, &Sorted)> = expanded
            .iter()
            .map(|part| {
                let offset = count;
                count += part.fresh.len() as u32;
                (offset, &part.prints)
            })
            .collect();
        let ways = expanded.iter().flat_map(|part| part.fresh.iter().map(|fresh| fresh.way));
        let mut numbers: Vec<u32> = (base..base + count).collect();
        for (place, number) in self.visited.add(&parts, ways) {
            numbers[place as usize] = number;
        }
        let mut numbers = (base..).zip(numbers);
        let mindful = self.model.patience().is_some();
        for Expanded { fresh, parents, mut edges, steps, back, stuck, .. } in expanded {
            self.progress.steps += steps;
            self.back |= back;
            if let Some((state, property)) = stuck {
                let waiting = self.waiting.get(state as usize).copied().unwrap_or(0);
                return Some(self.found(property, state, Vec::new(), waiting));
            }
            for (fresh, (own, number)) in fresh.into_iter().zip(&mut numbers) {
                if mindful {
                    self.waiting.push(fresh.waiting);
                }
                if let Some((to, _)) = edges.get_mut(fresh.step as usize) {
                    *to = number;
                }
                if own != number {
                    continue;
                }
                self.progress.states += 1;
                self.seen |= fresh.seen;
                if let Some(property) = fresh.broken {
                    return Some(self.found(property, number, Vec::new(), 0));
                }
                self.next.push((number, fresh.state));
            }
            if mindful {
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
    fn starving(&self) -> Option<End<M::Action>> {
        let property = self.model.patience()?;
        let someone = self.waiting.iter().fold(0, |all, waiting| all | waiting);
        let bits = (0..u8::BITS).map(|bit| 1_u8 << bit).filter(|bit| someone & bit != 0);
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
        let (start, way) = self.visited.way_to(number);
        let mut state = self.model.starts().swap_remove(start as usize);
        let mut successors = Vec::new();
        let mut steps = Vec::new();
        for ordinal in way {
            successors.clear();
            self.model.successors(&state, &mut successors);
            let taken = successors.swap_remove(ordinal as usize);
            steps.push(taken.action);
            state = taken.state;
        }
        let mut round = Vec::new();
        for next in cycle {
            successors.clear();
            self.model.successors(&state, &mut successors);
            let leads_there = |successor: &crate::Successor<M::State, M::Action>| {
                self.visited.number(self.model.fingerprint(&successor.state)) == Some(next)
            };
            let place = successors.iter().position(leads_there).expect("a cycle is made of steps");
            let taken = successors.swap_remove(place);
            round.push(taken.action);
            state = taken.state;
        }
        End::Broken(Found { property, steps, cycle: round, waiting })
    }
}

impl<S> Expanded<S> {
    fn none() -> Self {
        Self {
            fresh: Vec::new(),
            prints: Sorted::new([].into_iter()),
            parents: Vec::new(),
            edges: Vec::new(),
            steps: 0,
            back: false,
            stuck: None,
        }
    }

    fn of<M: Model<State = S> + ?Sized>(
        model: &M,
        visited: &Visited,
        deeper: u32,
        batch: &[(u32, S)],
    ) -> Self {
        // Who never waits cannot starve, and the way round is of no interest.
        let keeps_edges = model.patience().is_some();
        let mut found = Self::none();
        let mut successors = Vec::with_capacity(batch.len() * 4);
        let mut prints = Vec::with_capacity(batch.len() * 4);
        for (number, state) in batch {
            let first = successors.len();
            model.successors(state, &mut successors);
            let own = &successors[first..];
            if !own.iter().any(|successor| successor.class.is_some()) {
                let broken = model.broken_at_rest(state).map(|property| (*number, property));
                found.stuck = found.stuck.or(broken);
            }
            prints.extend(own.iter().map(|successor| model.fingerprint(&successor.state)));
            found.parents.push((*number, successors.len() as u32));
        }
        found.steps = successors.len() as u64;
        let known = visited.numbers(&prints);
        let fresh = prints.iter().zip(&known).filter(|(_, known)| known.is_none());
        found.prints = Sorted::new(fresh.map(|(print, _)| *print));
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
            found.back |= known[step].is_some_and(|known| known < deeper);
            if known[step].is_none() {
                let way = (parent, (step - first) as u16);
                found.fresh.push(Fresh::new(model, way, step as u32, successor.state));
            }
            if keeps_edges {
                let class = successor.class.map_or(u16::MAX, |class| class.0);
                found.edges.push((known[step].unwrap_or(UNKNOWN), class));
            }
        }
        found
    }
}
