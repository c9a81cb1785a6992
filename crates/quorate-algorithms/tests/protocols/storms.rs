//! Random scenarios with fixed seeds.

use quorate_core::Profile;
use quorate_lab::campaign::ScenarioGenerator;
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
