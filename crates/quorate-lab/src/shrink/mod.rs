//! Shrinks a scenario that violates a property: fewer processes, requests and faults, simpler delays, and rounder times,
//! until nothing more can be removed.
//!
//! A smaller scenario replaces the current one if it is valid, runs, violates the same property in the same way,
//! and breaks no assumption that the first one kept. Candidates are tried in a fixed order, so that the result is
//! a function of the scenario.

mod constant_delays;
mod faults;
mod processes;
mod requests;
mod simplify;
mod times;

use quorate_sim::{Conditions, Expect, Scenario};

use crate::attempt::{Attempt, CONFORMANCE, attempt, attempt_in_model};
use crate::cause::Cause;
use crate::{CannotRun, check};

/// Maximum number of runs.
const RUNS_MOST: u64 = 20_000;

/// Number of other seeds to try if the run is random, because a smaller scenario draws other random values.
const SEEDS_TRIED: u64 = 8;

/// Passes that make a scenario smaller, the most effective first.
const PASSES: [fn(&Scenario) -> Vec<Scenario>; 7] = [
    processes::fewer,
    requests::fewer,
    faults::fewer,
    constant_delays::constant_delays,
    simplify::simplify,
    times::rounder,
    seeds,
];

/// A scenario that was shrunk.
#[derive(Clone, Debug, PartialEq)]
pub struct Shrunk {
    /// The smallest scenario, with the result of its run as its expectations.
    pub scenario: Scenario,
    /// Violated property, and how it is violated.
    pub cause: Cause,
    /// Description of the violation.
    pub detail: String,
    /// Number of runs that shrinking took.
    pub runs: u64,
    /// Whether nothing more can be removed; otherwise the limit of runs was reached.
    pub is_minimal: bool,
}

/// Shrinks a scenario that violates this property; `None` if it does not violate it.
pub fn shrink(
    scenario: &Scenario,
    property: &str,
    conditions: Conditions,
) -> Result<Option<Shrunk>, CannotRun> {
    let attempt = if property == CONFORMANCE { attempt_in_model } else { attempt };
    shrink_with(scenario, property, RUNS_MOST, &|scenario, events| {
        attempt(scenario, Conditions { events: events.min(conditions.events), ..conditions })
    })
}

/// Runs a scenario for at most this many events.
type Runner<'a> = &'a dyn Fn(&Scenario, u64) -> Result<Attempt, CannotRun>;

fn shrink_with(
    scenario: &Scenario,
    property: &str,
    runs_most: u64,
    run: Runner<'_>,
) -> Result<Option<Shrunk>, CannotRun> {
    let first = run(scenario, u64::MAX)?;
    let Some(cause) = cause_of(&first, property) else { return Ok(None) };
    // A smaller scenario may take longer, but not by much.
    let events = match &first {
        Attempt::Ran(report) => report.events.saturating_mul(4).saturating_add(10_000),
        Attempt::Panicked(_) | Attempt::Diverged(_) => 1_000_000,
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
    /// Assumptions that the first scenario breaks.
    broken_assumptions: Vec<&'static str>,
    events: u64,
    runs: u64,
    runs_most: u64,
    run: Runner<'a>,
    is_minimal: bool,
}

impl ShrinkSearch<'_> {
    /// Tries every pass once. Returns whether the scenario became smaller and more runs are allowed.
    fn round(&mut self, smallest: &mut Scenario) -> bool {
        let mut smaller = false;
        for pass in PASSES {
            let mut place = 0;
            let mut candidates = pass(smallest);
            while place < candidates.len() && self.is_minimal {
                match self.first_that_breaks(smallest, &candidates[place]) {
                    // The next candidate takes the position of the removed one.
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

    /// The candidate, with its own seed or another one, if it is smaller and violates the property in the same way.
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

/// Order of scenarios by size, the most important criterion first. A shorter text has rounder times and fewer exceptions
/// from the defaults. Of two texts of the same length, the one with the smaller numbers comes first in alphabetical order.
/// There are finitely many scenarios below any scenario, so shrinking terminates.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct ScenarioSize {
    processes: usize,
    requests: u64,
    faults: usize,
    /// Number of choices left to the seed.
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

/// Number of requests in a scenario.
pub(crate) fn requests_of(scenario: &Scenario) -> u64 {
    let first = requests::explicit(scenario).len() as u64;
    first.saturating_mul(scenario.repeat.into())
}

/// Number of faults in a scenario.
pub(crate) fn faults_of(scenario: &Scenario) -> usize {
    faults::count(&scenario.faults)
}

/// Keys of a scenario that differ from the defaults, as JSON.
fn non_default_keys(scenario: &Scenario) -> serde_json::Result<String> {
    let usual = Scenario::new(&scenario.algorithm, scenario.processes);
    let (mut keys, usual) = (serde_json::to_value(scenario)?, serde_json::to_value(usual)?);
    if let Some(keys) = keys.as_object_mut() {
        keys.retain(|key, value| usual.get(key) != Some(value));
    }
    serde_json::to_string(&keys)
}

/// Small seeds, for a run that is not random or that fails with them too.
fn seeds(scenario: &Scenario) -> Vec<Scenario> {
    (0..scenario.seed.min(SEEDS_TRIED)).map(|seed| Scenario { seed, ..scenario.clone() }).collect()
}

/// Both halves of a list, then every way to remove one item.
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
