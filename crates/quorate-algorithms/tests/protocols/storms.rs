//! Random scenarios with fixed seeds.

use quorate_algorithms::Setup;
use quorate_core::Profile;
use quorate_lab::campaign::ScenarioGenerator;
use quorate_run::promised_cost;
use quorate_sim::Scenario;

/// Number of scenarios of each kind and size.
const SEEDS: u64 = 12;

/// Random scenarios of an algorithm, each with a name.
pub(crate) fn scenarios(profile: Profile) -> impl Iterator<Item = (String, Scenario)> {
    let kinds = [("small", 2..=4, false), ("large", 5..=8, false), ("broken", 3..=6, true)];
    kinds.into_iter().flat_map(move |(kind, processes, break_assumptions)| {
        let generator =
            ScenarioGenerator { processes, break_assumptions, ..ScenarioGenerator::new(profile) };
        (0..SEEDS)
            .map(move |seed| (format!("{} {kind} {seed}", profile.name), generator.scenario(seed)))
    })
}

/// The setup of a scenario, over one of the quorum systems of the algorithm if it votes.
pub(crate) fn setup(scenario: &Scenario, quorums: &[&str], number: usize) -> Setup {
    let quorums = (!quorums.is_empty()).then(|| quorums[number % quorums.len()].to_owned());
    let scenario = Scenario { quorums, ..scenario.clone() };
    let (_, setup) = promised_cost(&scenario).unwrap_or_else(|error| panic!("{error}"));
    setup
}
