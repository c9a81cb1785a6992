//! Scenarios to compare: the order of the identifiers, and the processes that start an election.

use quorate_core::{ProcessId, Span, Time};
use quorate_sim::Scenario;
use quorate_sim::fault::ProcessAt;
use quorate_sim::notation::{ProcessSelector, SpanText, When};
use quorate_sim::random::{Random, Stream};
use quorate_sim::scenario::Requesters;

use super::Cell;

/// An algorithm, and the cases in which it is measured.
#[derive(Debug)]
pub(super) struct Contender {
    pub(super) algorithm: &'static str,
    pub(super) rank_delay: bool,
    pub(super) cases: &'static [(Starters, Order)],
    /// Maximum number of processes for which it is measured, if one process starts and if all do.
    reach: [usize; 2],
}

/// Processes that start an election.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Starters {
    One,
    All,
}

/// Order of the identifiers around the ring, or choice of the single starter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// The order makes no difference.
    Any,
    /// Best case of the algorithm.
    Best,
    /// Worst case of the algorithm that is known.
    Worst,
    /// Drawn from the seed.
    Random,
}

use Order::{Any, Best, Random as Drawn, Worst};
use Starters::{All, One};

const SIX: &[(Starters, Order)] =
    &[(One, Best), (One, Worst), (One, Drawn), (All, Best), (All, Worst), (All, Drawn)];
/// Orders that look bad, for example with every second, fourth and eighth greater than its neighbours, are
/// no worse than random ones.
const TOURNAMENT: &[(Starters, Order)] = &[(One, Best), (One, Drawn), (All, Best), (All, Drawn)];
const BULLIES: &[(Starters, Order)] = &[(One, Best), (One, Worst), (One, Drawn), (All, Any)];
const PLAIN: &[(Starters, Order)] = &[(One, Any), (All, Any)];

/// Size limit of algorithms that send to every process, which would take millions of messages beyond it.
const EVERYBODY: usize = 1_024;
/// Size limit of algorithms with lists: each of n processes has to store each of n lists.
const LISTS: usize = 512;
const FAR: usize = 16_384;

pub(super) const CONTENDERS: &[Contender] = &[
    ring("chang-roberts", SIX, FAR),
    ring("list-ring", PLAIN, LISTS),
    ring("hirschberg-sinclair", TOURNAMENT, FAR),
    among_all("announce-all", false, PLAIN),
    among_all("bully", false, BULLIES),
    among_all("bully", true, BULLIES),
    among_all("bully-all", false, BULLIES),
];

const fn ring(
    algorithm: &'static str,
    cases: &'static [(Starters, Order)],
    all: usize,
) -> Contender {
    Contender { algorithm, rank_delay: false, cases, reach: [FAR, all] }
}

const fn among_all(
    algorithm: &'static str,
    rank_delay: bool,
    cases: &'static [(Starters, Order)],
) -> Contender {
    Contender { algorithm, rank_delay, cases, reach: [EVERYBODY, EVERYBODY] }
}

impl Contender {
    /// Maximum number of processes for which it is measured.
    pub(super) fn reaches(&self, starters: Starters) -> usize {
        self.reach[usize::from(starters == All)]
    }

    /// Name of the algorithm, with its variant.
    pub(super) fn label(&self) -> String {
        let delayed = if self.rank_delay { ", delay by rank" } else { "" };
        format!("{}{delayed}", self.algorithm)
    }
}

impl Starters {
    pub(super) fn name(self) -> &'static str {
        match self {
            One => "one",
            All => "all",
        }
    }
}

impl Order {
    pub(super) fn name(self) -> &'static str {
        match self {
            Any => "any",
            Best => "best",
            Worst => "worst",
            Drawn => "random",
        }
    }
}

/// Time that a process of the bully algorithm waits for each process above it, in message delays.
pub(super) const RANK_DELAYS: u64 = 4;

pub(super) fn scenario(cell: &Cell) -> Scenario {
    let Cell { contender, starters, order, n, seed } = *cell;
    let mut scenario = Scenario { seed, ..Scenario::new(contender.algorithm, n) };
    let mut random = Random::new(seed, Stream::Experiment);
    if contender.rank_delay {
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
    match (cell.contender.algorithm, cell.starters, cell.order) {
        (_, _, Drawn) => shuffled(n, random),
        // Each identifier passes only smaller ones on its way to the greatest.
        ("chang-roberts", All, Worst) => (0..n).rev().collect(),
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
