//! A short storm with fixed seeds: random schedules inside the assumptions break nothing, and runs outside
//! them break what they are known to break.

use quorate_lab::run;
use quorate_sim::monitor::Status;
use quorate_sim::report::{Report, Verdict};
use quorate_sim::{Conditions, Scenario, parse};

fn report(toml: &str) -> Report {
    let scenario: Scenario =
        parse(toml, "storm.toml").unwrap_or_else(|error| panic!("{error}\n{toml}"));
    run(&scenario, Conditions::default(), None)
        .unwrap_or_else(|error| panic!("{error}\n{toml}"))
        .report
}

/// A scenario inside every algorithm's assumptions, as varied as a seed makes it.
fn calm(algorithm: &str, seed: u64) -> String {
    let n = 2 + seed % 7;
    let delay = ["constant:1ms", "uniform:1us..5ms", "exponential:1ms"][seed as usize / 7 % 3];
    let fifo = seed.is_multiple_of(2);
    format!(
        "algorithm = \"{algorithm}\"\nprocesses = {n}\nseed = {seed}\nrequesters = \"all\"\nrepeat = {}\n\
         spread = \"{}ms\"\nthink = \"{}us\"\ndelay = \"{delay}\"\nfifo = {fifo}\n",
        1 + seed % 4,
        seed % 5,
        seed % 3 * 700,
    )
}

#[test]
fn inside_the_assumptions_nothing_breaks_and_formulas_are_exact() {
    for seed in 0..600 {
        for algorithm in ["central", "ricart-agrawala"] {
            let toml = calm(algorithm, seed);
            let report = report(&toml);
            assert_eq!(report.verdict, Verdict::Holds, "{toml}{:?}", report.properties);
            assert_eq!(report.cost.kept, Some(true), "{toml}");
            assert_eq!(report.entries, report.requests, "{toml}");
        }
    }
}

#[test]
fn the_central_server_survives_crashed_clients_whenever_they_crash() {
    for seed in 0..600 {
        let crashes = ["\"?@0~9ms\"", "\"?@0~9ms\", \"?@0~9ms\""][seed as usize % 2];
        let detection = ["constant:1ms", "uniform:1us..20ms", "constant:1"][seed as usize % 3];
        // The seed may draw the server itself: outside the assumptions, and so not judged.
        let toml = format!(
            "{}detection = \"{detection}\"\n[faults]\ncrash = [{crashes}]\n",
            calm("central", seed)
        );
        let report = report(&toml);
        let server_up = report
            .assumptions
            .iter()
            .all(|assumption| assumption.id != "server-up" || assumption.met);
        if server_up {
            assert_eq!(report.verdict, Verdict::Holds, "{toml}{:?}", report.properties);
        }
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
