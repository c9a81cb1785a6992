//! Random scenarios with fixed seeds.

use std::fmt::Write as _;

use quorate_algorithms::Setup;
use quorate_core::Profile;
use quorate_lab::campaign::ScenarioGenerator;
use quorate_run::promised_cost;
use quorate_sim::Scenario;

/// Number of scenarios of each kind.
const SEEDS: usize = 12;

/// A random scenario of an algorithm.
pub(crate) struct Storm {
    /// Size of the world, or `broken` if it may break assumptions.
    pub(crate) kind: &'static str,
    pub(crate) seed: usize,
    pub(crate) scenario: Scenario,
}

impl Storm {
    /// The scenario over one of these quorum systems, which the seed chooses.
    pub(crate) fn over(&self, quorums: &[&str]) -> Scenario {
        let quorums = (!quorums.is_empty()).then(|| quorums[self.seed % quorums.len()].to_owned());
        Scenario { quorums, ..self.scenario.clone() }
    }
}

/// Random scenarios of an algorithm, by kind.
pub(crate) fn storms(profile: Profile) -> impl Iterator<Item = Storm> {
    let kinds = [("small", 2..=4, false), ("large", 5..=8, false), ("broken", 3..=6, true)];
    kinds.into_iter().flat_map(move |(kind, processes, break_assumptions)| {
        let generator =
            ScenarioGenerator { processes, break_assumptions, ..ScenarioGenerator::new(profile) };
        (0..SEEDS).map(move |seed| Storm { kind, seed, scenario: generator.scenario(seed as u64) })
    })
}

/// A row for each kind of scenarios of an algorithm, with the seeds and what a function says about their runs.
pub(crate) fn rows(profile: Profile, mut run: impl FnMut(&Storm) -> String) -> Vec<String> {
    let mut rows: Vec<String> = Vec::new();
    for storm in storms(profile) {
        if storm.seed == 0 {
            rows.push(format!("{} {}:", profile.name, storm.kind));
        }
        let row = rows.last_mut().expect("the first seed begins a row");
        let _ = write!(row, " {}:{}", storm.seed, run(&storm));
    }
    rows
}

/// The setup of a scenario, over one of the quorum systems of the algorithm if it votes.
pub(crate) fn setup(storm: &Storm, quorums: &[&str]) -> Setup {
    let scenario = storm.over(quorums);
    let (_, setup) = promised_cost(&scenario).unwrap_or_else(|error| panic!("{error}"));
    setup
}
