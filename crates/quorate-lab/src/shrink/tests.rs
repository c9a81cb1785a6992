//! Results of shrinking scenarios with known violations.

use quorate_algorithms::catalogue::PROFILES;
use quorate_sim::Conditions;

use super::*;
use crate::campaign::ScenarioGenerator;

fn generator(name: &str) -> ScenarioGenerator {
    ScenarioGenerator::new(
        *PROFILES.iter().find(|profile| profile.name == name).expect("a known name"),
    )
}

/// First scenario of a campaign that violates the property.
fn first(name: &str, property: &str) -> Scenario {
    let generator = ScenarioGenerator { watch: vec![property.to_owned()], ..generator(name) };
    let breaks = |scenario: &Scenario| {
        let attempt = attempt(scenario, Conditions::default()).expect("it runs");
        attempt.broken().iter().any(|(id, _)| *id == property)
    };
    (0..1_000).map(|seed| generator.scenario(seed)).find(breaks).expect("it breaks sometimes")
}

fn shrunk(scenario: &Scenario, property: &str) -> Shrunk {
    let done = shrink(scenario, property, Conditions::default()).expect("it runs");
    done.expect("it breaks the property")
}

#[test]
fn what_is_left_breaks_the_same_and_nothing_can_go() {
    for (name, property) in
        [("maekawa-original", "ME2"), ("ricart-agrawala-priority", "ME1"), ("raymond", "ME3")]
    {
        let scenario = first(name, property);
        let small = shrunk(&scenario, property);
        assert!(small.is_minimal, "{name}: {} runs", small.runs);
        assert!(small.scenario.processes <= 5, "{name}: {:?}", small.scenario);
        let again = attempt(&small.scenario, Conditions::default()).expect("it runs");
        assert_eq!(cause_of(&again, property), Some(small.cause.clone()), "{name}");
        assert_eq!(again.broken_assumptions(), Vec::<&str>::new(), "{name}");
        // Shrinking a shrunk scenario changes nothing.
        assert_eq!(shrunk(&small.scenario, property).scenario, small.scenario, "{name}");
    }
}

#[test]
fn what_breaks_nothing_is_not_shrunk() {
    let scenario = generator("central").scenario(0);
    assert_eq!(shrink(&scenario, "ME1", Conditions::default()).expect("it runs"), None);
}

/// An algorithm that panics if there are at least three requests and one crash.
fn fragile(scenario: &Scenario, _: u64) -> Result<Attempt, CannotRun> {
    let (asks, crashes) = (requests::explicit(scenario).len(), scenario.faults.crash.len());
    if asks >= 3 && crashes >= 1 {
        return Ok(Attempt::Panicked(format!("panicked at {asks}")));
    }
    attempt(scenario, Conditions::default())
}

#[test]
fn a_panic_is_shrunk_to_what_it_takes() {
    let generator = ScenarioGenerator { processes: 8..=8, crashes: 2..=4, ..generator("central") };
    let scenario = (0..100)
        .map(|seed| generator.scenario(seed))
        .find(|scenario| !scenario.faults.crash.is_empty())
        .expect("some crash at once");
    let small = shrink_with(&scenario, crate::PANIC, RUNS_MOST, &fragile).expect("it runs");
    let small = small.expect("it panics");
    let text = toml::to_string(&small.scenario).expect("it can be written");
    insta::assert_snapshot!(text);
}

#[test]
fn the_number_of_runs_is_bounded_and_said() {
    let scenario = first("ricart-agrawala-priority", "ME1");
    let run = |scenario: &Scenario, _| attempt(scenario, Conditions::default());
    let small = shrink_with(&scenario, "ME1", 10, &run).expect("it runs").expect("it breaks");
    assert!(!small.is_minimal && small.runs == 10, "{} runs", small.runs);
}
