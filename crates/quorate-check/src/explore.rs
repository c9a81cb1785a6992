//! Breadth-first exploration, in parallel, with the same result for any number of threads.
//!
//! The states of one depth are expanded a block at a time: threads work out successors and drop those that are known;
//! what is left is added in the order of the block. So states are numbered alike however many threads there are, and
//! the first violation found is a shortest one.

use std::ops::ControlFlow;

use quorate_core::Property;
use rayon::iter::{IntoParallelRefIterator, ParallelIterator};

use crate::lasso::Edges;
use crate::visited::{START, Visited};
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
    pub waiting: u64,
}

/// So many states are expanded before what was found is added.
const BLOCK: usize = 1 << 13;

/// What a thread brings back from one state.
struct Expanded<S> {
    parent: u32,
    /// New states as far as that is known: by which successor, and what.
    fresh: Vec<(u16, Fingerprint, S)>,
    steps: u64,
    /// Where each step goes, as far as that is known, and its class.
    edges: Vec<(u32, u16)>,
    /// Whether a step leads to a state that was reached no later than this one.
    back: bool,
    /// The state itself is bad: somebody waits, and nothing that must happen can.
    stuck: bool,
}

/// A step to a state that is not known yet.
const UNKNOWN: u32 = u32::MAX;

/// Explores a model. `look` is told now and then how far it has come, and may stop it.
pub fn explore<M: Model>(
    model: &M,
    bounds: Bounds,
    mut look: impl FnMut(&Progress) -> ControlFlow<()>,
) -> Exploration<M::Action> {
    let mut search = Search::new(model);
    let end = search.run(bounds, &mut look);
    let bytes_most = search.bytes_most;
    Exploration { progress: search.progress, bytes_most, end }
}

struct Search<'m, M: Model> {
    model: &'m M,
    visited: Visited,
    frontier: Vec<(u32, M::State)>,
    next: Vec<(u32, M::State)>,
    edges: Edges,
    waiting: Vec<u64>,
    /// The first state of the next depth.
    deeper: u32,
    /// Whether a step leads to a state that is not deeper: without one, no state comes again.
    back: bool,
    seen: u64,
    progress: Progress,
    bytes_most: u64,
}

impl<'m, M: Model> Search<'m, M> {
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
        for state in self.model.starts() {
            let print = self.model.fingerprint(&state);
            if let (_, Some(broken)) = self.add(print, START, 0, state) {
                return broken;
            }
        }
        while !self.next.is_empty() {
            self.frontier = std::mem::take(&mut self.next);
            if self.progress.depth == bounds.depth {
                return End::Depth;
            }
            self.deeper = self.progress.states as u32;
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
        let one =
            |(number, state): &(u32, M::State)| expand(model, visited, deeper, *number, state);
        let expanded: Vec<Expanded<M::State>> = block.par_iter().map(one).collect();
        for Expanded { parent, fresh, steps, mut edges, back, stuck } in expanded {
            self.progress.steps += steps;
            self.back |= back;
            if let Some(property) = self.model.patience().filter(|_| stuck) {
                let waiting = self.waiting[parent as usize];
                return Some(self.found(property, parent, Vec::new(), waiting));
            }
            for (ordinal, print, state) in fresh {
                let (number, bad) = self.add(print, parent, ordinal, state);
                if bad.is_some() {
                    return bad;
                }
                if let Some((to, _)) = edges.get_mut(usize::from(ordinal)) {
                    *to = number;
                }
            }
            if !edges.is_empty() {
                self.edges.add(parent, &edges);
            }
        }
        None
    }

    /// Adds a state unless it is known; its number, and what is wrong with it if it is a bad one.
    fn add(
        &mut self,
        print: Fingerprint,
        parent: u32,
        ordinal: u16,
        state: M::State,
    ) -> (u32, Option<End<M::Action>>) {
        let number = match self.visited.insert(print, parent, ordinal) {
            Ok(number) => number,
            Err(known) => return (known, None),
        };
        self.progress.states += 1;
        self.seen |= self.model.seen(&state);
        if self.model.patience().is_some() {
            self.waiting.push(self.model.waiting(&state));
        }
        if let Some(property) = self.model.broken(&state) {
            return (number, Some(self.found(property, number, Vec::new(), 0)));
        }
        self.next.push((number, state));
        (number, None)
    }

    fn account(&mut self, frontier: usize) {
        let state = self.next.last().map_or(0, |(_, state)| self.model.bytes(state) + 4) as u64;
        self.progress.queue = self.next.len() as u64;
        let kept = self.edges.bytes() + self.waiting.capacity() as u64 * 8;
        let states = (self.next.len() + frontier) as u64 * state;
        self.progress.bytes = self.visited.bytes_when_grown() + kept + states;
        self.bytes_most = self.bytes_most.max(self.progress.bytes);
    }

    /// Whether somebody can wait for ever while things go on.
    fn starving(&self) -> Option<End<M::Action>> {
        let property = self.model.patience()?;
        let someone = self.waiting.iter().fold(0, |all, waiting| all | waiting);
        let bits = (0..u64::BITS).map(|bit| 1 << bit).filter(|bit| someone & bit != 0);
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
        waiting: u64,
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

fn expand<M: Model>(
    model: &M,
    visited: &Visited,
    deeper: u32,
    number: u32,
    state: &M::State,
) -> Expanded<M::State> {
    let mut successors = Vec::new();
    model.successors(state, &mut successors);
    let steps = successors.len() as u64;
    let must = successors.iter().any(|successor| successor.class.is_some());
    let stuck = !must && model.waiting(state) != 0;
    // Who never waits cannot starve, and the way round is of no interest.
    let keeps_edges = model.patience().is_some();
    let mut edges = Vec::with_capacity(if keeps_edges { successors.len() } else { 0 });
    let mut fresh = Vec::new();
    let mut back = false;
    for (ordinal, successor) in successors.into_iter().enumerate() {
        let print = model.fingerprint(&successor.state);
        let known = visited.number(print);
        back |= known.is_some_and(|known| known < deeper);
        if keeps_edges {
            let class = successor.class.map_or(u16::MAX, |class| class.0);
            edges.push((known.unwrap_or(UNKNOWN), class));
        }
        if known.is_none() {
            fresh.push((ordinal as u16, print, successor.state));
        }
    }
    Expanded { parent: number, fresh, steps, edges, back, stuck }
}
