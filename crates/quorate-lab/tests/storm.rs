//! A short storm with fixed seeds: random schedules inside the assumptions break nothing, and runs outside
//! them break what they are known to break.

use quorate_algorithms::catalogue::PROFILES;
use quorate_core::quorum::AnyCoterie;
use quorate_core::{Assumption, Layer, Profile};
use quorate_lab::run;
use quorate_sim::monitor::Status;
use quorate_sim::report::{PropertyReport, Report, Verdict};
use quorate_sim::{Conditions, Scenario, parse};

fn report(toml: &str) -> Report {
    let scenario: Scenario =
        parse(toml, "storm.toml").unwrap_or_else(|error| panic!("{error}\n{toml}"));
    run(&scenario, Conditions::default(), None)
        .unwrap_or_else(|error| panic!("{error}\n{toml}"))
        .report
}

/// A scenario inside the algorithm's assumptions, as varied as a seed makes it.
fn calm(algorithm: &str, seed: u64) -> String {
    let n = 2 + seed % 7;
    let delay = ["constant:1ms", "uniform:1us..5ms", "exponential:1ms"][seed as usize / 7 % 3];
    let profile = PROFILES.iter().find(|profile| profile.name == algorithm);
    let needs_order = profile.is_some_and(|profile| profile.assumes.contains(&Assumption::Fifo));
    let fifo = needs_order || seed.is_multiple_of(2);
    format!(
        "algorithm = \"{algorithm}\"\nprocesses = {n}\nseed = {seed}\nrequesters = \"all\"\nrepeat = {}\n\
         spread = \"{}ms\"\nthink = \"{}us\"\ndelay = \"{delay}\"\nfifo = {fifo}\n",
        1 + seed % 4,
        seed % 5,
        seed % 3 * 700,
    )
}

fn sound() -> impl Iterator<Item = &'static Profile> {
    PROFILES.iter().filter(|profile| profile.specimen.is_none() && profile.layer == Layer::Mutex)
}

#[test]
fn inside_the_assumptions_nothing_breaks_and_costs_are_kept() {
    for profile in sound() {
        for seed in 0..400 {
            let toml = calm(profile.name, seed);
            let report = report(&toml);
            assert_eq!(report.verdict, Verdict::Holds, "{toml}{:?}", report.properties);
            // A token that goes round costs messages whether anybody wants in or not.
            if !profile.restless {
                assert_eq!(report.cost.kept, Some(true), "{toml}{:?}", report.cost);
            }
            assert_eq!(report.entries, report.requests, "{toml}");
        }
    }
}

#[test]
fn voters_agree_over_every_quorum_system() {
    for algorithm in ["maekawa", "agrawal-el-abbadi"] {
        for system in AnyCoterie::NAMES {
            for seed in 0..200 {
                let toml = format!("{}quorums = \"{system}\"\n", calm(algorithm, seed));
                let report = report(&toml);
                assert_eq!(report.verdict, Verdict::Holds, "{toml}{:?}", report.properties);
            }
        }
    }
}

#[test]
fn who_survives_crashes_does_so_whenever_they_come() {
    for profile in sound().filter(|profile| !profile.assumes.contains(&Assumption::NoCrash)) {
        for seed in 0..600 {
            let crashes = ["\"?@0~9ms\"", "\"?@0~9ms\", \"?@0~9ms\""][seed as usize % 2];
            let detection = ["constant:1ms", "uniform:1us..20ms", "constant:1"][seed as usize % 3];
            let calm = calm(profile.name, seed);
            let toml =
                format!("{calm}detection = \"{detection}\"\n[faults]\ncrash = [{crashes}]\n");
            let report = report(&toml);
            // The seed may draw a server that must not crash: outside the assumptions, and so not judged.
            if report.assumptions.iter().all(|assumption| assumption.met) {
                assert_eq!(report.verdict, Verdict::Holds, "{toml}{:?}", report.properties);
            }
        }
    }
}

#[test]
fn every_specimen_breaks_what_it_says() {
    for profile in PROFILES {
        let Some(specimen) = &profile.specimen else { continue };
        let breaks = |seed: &u64| {
            let report = report(&calm(profile.name, *seed));
            let broken = |property: &PropertyReport| property.status == Status::Violated;
            report
                .properties
                .iter()
                .any(|property| property.id == specimen.breaks.id() && broken(property))
        };
        let count = (0..400).filter(breaks).count();
        assert!(count > 3, "{} broke {} in {count} of 400 runs", profile.name, specimen.breaks);
    }
}

fn count(algorithm: &str, faults: &str, broken: &str) -> usize {
    let breaks = |seed: &u64| {
        let report = report(&format!("{}[faults]\n{faults}\n", calm(algorithm, *seed)));
        report
            .properties
            .iter()
            .any(|property| property.id == broken && property.status == Status::Violated)
    };
    (0..100).filter(breaks).count()
}

#[test]
fn outside_the_assumptions_the_known_weaknesses_show() {
    assert!(
        count("ricart-agrawala", "crash = [\"?@0~1ms\"]", "ME2") > 50,
        "a crash blocks the others"
    );
    assert!(count("ricart-agrawala", "loss = 0.1", "ME2") > 50, "so does a loss");
    assert!(count("central", "crash = [\"0@0\"]", "ME2") > 90, "a crashed server blocks everyone");
    assert!(
        count("central", "suspect = [\"0-1@1ms\"]", "ME2") > 10,
        "a suspected client is not listened to"
    );
}

#[test]
fn the_central_server_over_heartbeats_survives_a_crashed_client() {
    for seed in 0..60 {
        let n = 3 + seed % 5;
        let toml = format!(
            "algorithm = \"central\"\nprocesses = {n}\nseed = {seed}\nrequesters = \"all\"\ndetector = \"heartbeat\"\n\
             delay = \"uniform:500us..2ms\"\n[faults]\ncrash = [\"{}@0~9ms\"]\n",
            1 + seed % (n - 1),
        );
        let report = report(&toml);
        assert_eq!(report.verdict, Verdict::Holds, "{toml}{:?}", report.properties);
        assert!(report.layers["detector"].total > 0, "heartbeats are counted apart");
    }
}
