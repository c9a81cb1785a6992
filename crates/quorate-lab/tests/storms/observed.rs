//! Snapshots and detections in a storm of random computations with fixed seeds: sound algorithms keep their promises and their costs, and
//! specimens break what they are known to break.

use quorate_algorithms::catalogue::PROFILES;
use quorate_core::{Layer, Profile};
use quorate_lab::campaign::ScenarioGenerator;
use quorate_lab::run;
use quorate_sim::Conditions;
use quorate_sim::monitor::Status;
use quorate_sim::report::{Report, Verdict};

/// Number of random computations for each algorithm.
const RUNS: u64 = 60;

fn reports(profile: &Profile) -> impl Iterator<Item = (u64, Report)> {
    let generator = ScenarioGenerator { processes: 2..=7, ..ScenarioGenerator::new(*profile) };
    (0..RUNS).map(move |seed| {
        let outcome = run(&generator.scenario(seed), Conditions::default(), None);
        (seed, outcome.expect("a scenario that can be run").report)
    })
}

fn observers() -> impl Iterator<Item = &'static Profile> {
    let observes = |profile: &&Profile| matches!(profile.layer, Layer::Snapshot | Layer::Detection);
    PROFILES.iter().filter(observes)
}

#[test]
fn what_is_sound_keeps_its_promises_and_costs() {
    for profile in observers().filter(|profile| profile.specimen.is_none()) {
        let mut eventful = 0;
        for (seed, report) in reports(profile) {
            let name = profile.name;
            assert_eq!(report.verdict, Verdict::Holds, "{name} {seed}: {:?}", report.properties);
            assert_ne!(report.cost.kept, Some(false), "{name} {seed}: {:?}", report.cost);
            assert_eq!(report.ending, "quiescent", "{name} {seed}");
            let announced = report.stable_property.is_some_and(|it| !it.announced.is_empty());
            eventful += u64::from(announced || report.snapshot.is_some_and(|it| it.in_flight > 0));
        }
        assert!(eventful > RUNS / 4, "{}: little happens in {RUNS} runs", profile.name);
    }
}

#[test]
fn what_is_broken_breaks_in_some_run() {
    for profile in observers() {
        let Some(specimen) = profile.specimen else { continue };
        let breaks = |(_, report): (u64, Report)| {
            let mut found = report.properties.into_iter();
            found.any(|it| it.id == specimen.breaks.id() && it.status == Status::Violated)
        };
        assert!(reports(profile).any(breaks), "{}", profile.name);
    }
}
