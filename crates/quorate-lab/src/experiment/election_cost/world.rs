//! Scenarios to compare: the order of the identifiers, and the processes that start an election.

use std::sync::LazyLock;

use quorate_algorithms::Shape;
use quorate_algorithms::literature::{ElectionCosts, Order, Starters};
use quorate_core::{ProcessId, Span, Time};
use quorate_run::{Entry, Facts, catalogue};
use quorate_sim::Scenario;
use quorate_sim::fault::ProcessAt;
use quorate_sim::notation::{ProcessSelector, SpanText, When};
use quorate_sim::random::{Random, Stream};
use quorate_sim::scenario::Requesters;

use super::Cell;

/// An algorithm in one variant, and the cases in which it is measured.
#[derive(Debug)]
pub(super) struct Contender {
    pub(super) algorithm: &'static str,
    pub(super) costs: &'static ElectionCosts,
    /// Maximum number of processes for which it is measured, if one process starts and if all do.
    reach: [usize; 2],
}

/// Size limit of algorithms that send to every process, which would take millions of messages beyond it.
const EVERYBODY: usize = 1_024;
/// Size limit of algorithms with lists: each of n processes has to store each of n lists.
const LISTS: usize = 512;
const FAR: usize = 16_384;

/// Algorithms that are compared: all of which the literature knows the costs, those over rings first.
pub(super) fn contenders() -> &'static [Contender] {
    static ALL: LazyLock<Vec<Contender>> = LazyLock::new(|| {
        let facts = catalogue().entries().iter().map(Entry::facts);
        let (rings, others): (Vec<_>, Vec<_>) = facts.partition(|facts| facts.shape == Shape::Ring);
        rings.into_iter().chain(others).flat_map(Contender::of).collect()
    });
    &ALL
}

impl Contender {
    /// All variants of an algorithm.
    fn of(facts: &'static Facts) -> impl Iterator<Item = Self> {
        facts.election_costs.iter().map(|costs| {
            let reach = match facts.shape {
                Shape::Ring => [FAR, if costs.stores_lists { LISTS } else { FAR }],
                _ => [EVERYBODY, EVERYBODY],
            };
            Self { algorithm: facts.profile.name, costs, reach }
        })
    }

    /// Maximum number of processes for which it is measured.
    pub(super) fn reaches(&self, starters: Starters) -> usize {
        self.reach[usize::from(starters == Starters::All)]
    }

    /// Name of the algorithm, with its variant.
    pub(super) fn label(&self) -> String {
        let delayed = if self.costs.rank_delay { ", delay by rank" } else { "" };
        format!("{}{delayed}", self.algorithm)
    }
}

/// Time that a process of the bully algorithm waits for each process above it, in message delays.
pub(super) const RANK_DELAYS: u64 = 4;

pub(super) fn scenario(cell: &Cell) -> Scenario {
    use Order::{Any, Best, Random as Drawn, Worst};
    use Starters::{All, One};
    let Cell { contender, starters, order, n, seed } = *cell;
    let mut scenario = Scenario { seed, ..Scenario::new(contender.algorithm, n) };
    let mut random = Random::new(seed, Stream::Experiment);
    if contender.costs.rank_delay {
        scenario.rank_delay = SpanText(Span(RANK_DELAYS * scenario.delay_unit().0));
    }
    scenario.ids = ids(cell, &mut random);
    match (starters, order) {
        (All, _) => scenario.requesters = Requesters::All,
        // Identifiers ascend. The last process is the greatest. The first one is the smallest and follows it on the ring.
        (One, Best) => scenario.request.push(at_once(n - 1)),
        (One, Drawn) => scenario.request.push(at_once(random.below(n as u64) as usize)),
        (One, Worst | Any) => scenario.request.push(at_once(0)),
    }
    scenario
}

fn at_once(process: usize) -> ProcessAt {
    ProcessAt {
        process: ProcessSelector::Process(ProcessId::from_index(process)),
        at: When::At(Time::ZERO),
    }
}

/// Identifiers from process 0 on; empty if they ascend.
fn ids(cell: &Cell, random: &mut Random) -> Vec<u64> {
    let n = cell.n as u64;
    match (cell.starters, cell.order) {
        (_, Order::Random) => shuffled(n, random),
        // Around a ring, each identifier passes only smaller ones on its way to the greatest.
        (Starters::All, Order::Worst) => (0..n).rev().collect(),
        _ => Vec::new(),
    }
}

fn shuffled(n: u64, random: &mut Random) -> Vec<u64> {
    let mut ids: Vec<u64> = (0..n).collect();
    for place in (1..ids.len()).rev() {
        ids.swap(place, random.below(place as u64 + 1) as usize);
    }
    ids
}
