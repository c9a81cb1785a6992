//! Short storm over resource allocation: random claims inside the assumptions violate nothing and cost what is promised, and
//! compatible claims are inside together.

use quorate_algorithms::catalogue::PROFILES;
use quorate_core::{Layer, Profile};
use quorate_lab::campaign::{CampaignRequest, ScenarioGenerator};
use quorate_lab::run;
use quorate_sim::report::{Report, Verdict};
use quorate_sim::scenario::Requesters;
use quorate_sim::{Conditions, Scenario};

fn sound() -> impl Iterator<Item = &'static Profile> {
    let is_sound = |it: &&Profile| it.specimen.is_none() && it.layer == Layer::Allocation;
    PROFILES.iter().filter(is_sound)
}

fn report(scenario: &Scenario) -> Report {
    run(scenario, Conditions::default(), None)
        .unwrap_or_else(|error| panic!("{error}\n{scenario:?}"))
        .report
}

#[test]
fn inside_the_assumptions_nothing_breaks_and_costs_are_kept() {
    for profile in sound() {
        let generator = ScenarioGenerator {
            crashes: 0..=0,
            processes: 1..=8,
            ..ScenarioGenerator::new(*profile)
        };
        for seed in 0..200 {
            let scenario = generator.scenario(seed);
            let report = report(&scenario);
            assert_eq!(report.verdict, Verdict::Holds, "{scenario:?}{:?}", report.properties);
            assert_eq!(report.cost.kept, Some(true), "{scenario:?}{:?}", report.cost);
            assert_eq!(report.entries, report.requests, "{scenario:?}");
        }
    }
}

#[test]
fn campaigns_of_sound_algorithms_find_nothing() {
    for profile in sound() {
        let name = profile.name;
        let report = CampaignRequest::new(name, 200).run(2).expect("a campaign");
        assert_eq!(report.violations, [], "{name}");
        assert_eq!((report.runs, report.hangs, report.undecided), (200, 0, 0), "{name}");
        assert_eq!(report.outside_assumptions, 0, "{name}");
    }
}

#[test]
fn campaigns_find_the_deadlock_of_the_specimen() {
    let report = CampaignRequest::new("dining-naive", 200).run(2).expect("a campaign");
    assert!(!report.violations.is_empty());
}

/// The greatest number of processes inside together, if all request entry at the same time and stay for long.
fn together(algorithm: &str, n: usize, change: impl FnOnce(&mut Scenario)) -> usize {
    let mut scenario = Scenario { requesters: Requesters::All, ..Scenario::new(algorithm, n) };
    scenario.section = "20ms".parse().expect("a time");
    change(&mut scenario);
    let report = report(&scenario);
    assert_eq!(report.verdict, Verdict::Holds, "{:?}", report.properties);
    report.allocation.expect("an allocation").most_inside
}

#[test]
fn all_permits_readers_and_separate_resources_are_used_together() {
    for capacity in 1..=6 {
        for algorithm in ["raymond-k", "quorum-k"] {
            let most = together(algorithm, 6, |it| it.capacity = Some(capacity));
            assert_eq!(most, capacity as usize, "{algorithm}");
        }
    }
    let claims = |all: &'static [&'static str]| {
        |it: &mut Scenario| it.claim_of = all.iter().map(|own| own.parse().unwrap()).collect()
    };
    let readers = claims(&["0=read", "1=read", "2=read", "3=write"]);
    assert_eq!(together("readers-writers", 4, readers), 3);
    let groups = claims(&["0=group:1", "1=group:1", "2=group:1", "3=group:2"]);
    assert_eq!(together("group-mutex", 4, groups), 3);
    let every_other = |it: &mut Scenario| {
        it.requesters = Requesters::One;
        it.request = ["0@0", "2@0", "4@0"].map(|text| text.parse().expect("a request")).into();
    };
    assert_eq!(together("dining-philosophers", 6, every_other), 3);
    let apart = claims(&["0=with:1", "2=with:3", "4=with:5", "1=with:2", "3=with:4", "5=with:0"]);
    assert_eq!(together("drinking-philosophers", 6, apart), 6);
}
