//! Makes a scenario that breaks something as small as it gets: fewer processes, requests and faults, plainer laws,
//! rounder times, until nothing can go.
//!
//! A smaller scenario takes the place of the last one if it makes sense, is run, breaks the same property in the same
//! way, and leaves no assumption that the first one kept. Everything is tried in a fixed order, so that the result is
//! a function of the scenario.

mod constant_delays;
mod faults;
mod processes;
mod requests;
mod simplify;
mod times;

use quorate_sim::{Conditions, Expect, Scenario};

use crate::attempt::{Attempt, attempt};
use crate::cause::Cause;
use crate::{CannotRun, check};

/// So many runs are made at most.
const RUNS_MOST: u64 = 20_000;

/// So many other seeds are tried where chance has a part: what is smaller draws other lots.
const SEEDS_TRIED: u64 = 8;

/// Ways to make a scenario smaller, those that save most first.
const PASSES: [fn(&Scenario) -> Vec<Scenario>; 7] = [
    processes::fewer,
    requests::fewer,
    faults::fewer,
    constant_delays::constant_delays,
    simplify::simplify,
    times::rounder,
    seeds,
];

/// A scenario that has been made smaller.
#[derive(Clone, Debug, PartialEq)]
pub struct Shrunk {
    /// What is left, with what comes of it as its expectations.
    pub scenario: Scenario,
    /// What it breaks, and how.
    pub cause: Cause,
    /// What is said of it.
    pub detail: String,
    /// How many runs it took.
    pub runs: u64,
    /// Whether nothing more can go; otherwise there were too many runs.
    pub is_minimal: bool,
}

/// Makes a scenario smaller that breaks this property; none if it does not.
pub fn shrink(
    scenario: &Scenario,
    property: &str,
    conditions: Conditions,
) -> Result<Option<Shrunk>, CannotRun> {
    shrink_with(scenario, property, RUNS_MOST, &|scenario, events| {
        attempt(scenario, Conditions { events: events.min(conditions.events), ..conditions })
    })
}

/// Runs a scenario for at most so many events.
type Runner<'a> = &'a dyn Fn(&Scenario, u64) -> Result<Attempt, CannotRun>;

fn shrink_with(
    scenario: &Scenario,
    property: &str,
    runs_most: u64,
    run: Runner<'_>,
) -> Result<Option<Shrunk>, CannotRun> {
    let first = run(scenario, u64::MAX)?;
    let Some(cause) = cause_of(&first, property) else { return Ok(None) };
    // What is smaller may take longer, but not by much.
    let events = match &first {
        Attempt::Ran(report) => report.events.saturating_mul(4).saturating_add(10_000),
        Attempt::Panicked(_) => 1_000_000,
    };
    let mut search = ShrinkSearch {
        cause,
        broken_assumptions: first.broken_assumptions(),
        events,
        runs: 1,
        runs_most,
        run,
        is_minimal: true,
    };
    let mut smallest = Scenario { expect: None, ..scenario.clone() };
    while search.round(&mut smallest) {}
    let last = run(&smallest, u64::MAX)?;
    let (_, detail) = last
        .broken()
        .into_iter()
        .find(|(id, _)| *id == property)
        .map(|(id, detail)| (id, detail.to_owned()))
        .unwrap_or_default();
    if let Attempt::Ran(report) = &last {
        smallest.expect = Some(Expect::from_report(report));
    }
    let ShrinkSearch { cause, runs, is_minimal, .. } = search;
    Ok(Some(Shrunk { scenario: smallest, cause, detail, runs, is_minimal }))
}

fn cause_of(attempt: &Attempt, property: &str) -> Option<Cause> {
    let mut broken = attempt.broken().into_iter();
    broken.find(|(id, _)| *id == property).map(|(id, detail)| Cause::of(id, detail))
}

struct ShrinkSearch<'a> {
    cause: Cause,
    /// The assumptions that the first scenario leaves.
    broken_assumptions: Vec<&'static str>,
    events: u64,
    runs: u64,
    runs_most: u64,
    run: Runner<'a>,
    is_minimal: bool,
}

impl ShrinkSearch<'_> {
    /// Tries every way once; whether anything went.
    fn round(&mut self, smallest: &mut Scenario) -> bool {
        let mut smaller = false;
        for pass in PASSES {
            let mut place = 0;
            let mut candidates = pass(smallest);
            while place < candidates.len() && self.is_minimal {
                match self.first_that_breaks(smallest, &candidates[place]) {
                    // What comes next takes the place of what is gone.
                    Some(found) => {
                        *smallest = found;
                        smaller = true;
                        candidates = pass(smallest);
                    }
                    None => place += 1,
                }
            }
        }
        smaller && self.is_minimal
    }

    /// The candidate, with its own seed or another, if it is smaller and breaks the same.
    fn first_that_breaks(&mut self, than: &Scenario, candidate: &Scenario) -> Option<Scenario> {
        if candidate.validate().is_err() || check(candidate).is_err() {
            return None;
        }
        let others = if simplify::random_choices(candidate) > 0 { SEEDS_TRIED } else { 0 };
        let size = ScenarioSize::of(than);
        for seed in std::iter::once(candidate.seed).chain(0..others) {
            let candidate = Scenario { seed, ..candidate.clone() };
            if ScenarioSize::of(&candidate) < size && self.breaks(&candidate) {
                return Some(candidate);
            }
        }
        None
    }

    fn breaks(&mut self, candidate: &Scenario) -> bool {
        if self.runs >= self.runs_most {
            self.is_minimal = false;
            return false;
        }
        self.runs += 1;
        let Ok(found) = (self.run)(candidate, self.events) else { return false };
        let stays_inside =
            found.broken_assumptions().iter().all(|id| self.broken_assumptions.contains(id));
        stays_inside && cause_of(&found, &self.cause.property).as_ref() == Some(&self.cause)
    }
}

/// What makes one scenario smaller than another, the weightiest first. A shorter text has rounder times and fewer
/// exceptions from what is usual; of texts of the same length the one with the smaller numbers comes first in the
/// alphabet. There are finitely many below any, so that shrinking ends.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct ScenarioSize {
    processes: usize,
    requests: u64,
    faults: usize,
    /// How much is left to the seed.
    random_choices: usize,
    length: usize,
    text: String,
}

impl ScenarioSize {
    fn of(scenario: &Scenario) -> Self {
        let text = non_default_keys(scenario).unwrap_or_default();
        Self {
            processes: scenario.processes,
            requests: requests_of(scenario),
            faults: faults_of(scenario),
            random_choices: simplify::random_choices(scenario),
            length: text.len(),
            text,
        }
    }
}

/// How many requests there are.
pub(crate) fn requests_of(scenario: &Scenario) -> u64 {
    let first = requests::explicit(scenario).len() as u64;
    first.saturating_mul(scenario.repeat.into())
}

/// How many faults there are.
pub(crate) fn faults_of(scenario: &Scenario) -> usize {
    faults::count(&scenario.faults)
}

/// What a scenario says that is not usual.
fn non_default_keys(scenario: &Scenario) -> serde_json::Result<String> {
    let usual = Scenario::new(&scenario.algorithm, scenario.processes);
    let (mut keys, usual) = (serde_json::to_value(scenario)?, serde_json::to_value(usual)?);
    if let Some(keys) = keys.as_object_mut() {
        keys.retain(|key, value| usual.get(key) != Some(value));
    }
    serde_json::to_string(&keys)
}

/// Small seeds, if chance has no part or is as unkind with them.
fn seeds(scenario: &Scenario) -> Vec<Scenario> {
    (0..scenario.seed.min(SEEDS_TRIED)).map(|seed| Scenario { seed, ..scenario.clone() }).collect()
}

/// Every way to leave out one of a list, half of it first.
fn without_some<T: Clone>(list: &[T]) -> Vec<Vec<T>> {
    let half = list.len() / 2;
    let mut all = Vec::new();
    if half > 1 {
        all.extend([list[..half].to_vec(), list[half..].to_vec()]);
    }
    for place in (0..list.len()).rev() {
        let mut rest = list.to_vec();
        rest.remove(place);
        all.push(rest);
    }
    all
}

#[cfg(test)]
mod tests;
