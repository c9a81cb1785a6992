//! Agreements in a storm of random faults with fixed seeds. Inside the assumptions all correct processes decide the same
//! valid value, at exactly the stated cost. Outside of them, what must break according to the theory does break.

use quorate_algorithms::catalogue::PROFILES;
use quorate_core::Layer;
use quorate_lab::campaign::CampaignRequest;
use quorate_lab::{CannotRun, run};
use quorate_sim::monitor::Status;
use quorate_sim::report::{Report, Verdict};
use quorate_sim::{Conditions, RunError, Scenario, parse};

fn scenario(toml: &str) -> Scenario {
    parse(toml, "storm.toml").unwrap_or_else(|error| panic!("{error}\n{toml}"))
}

fn report(toml: &str) -> Report {
    run(&scenario(toml), Conditions::default(), None)
        .unwrap_or_else(|error| panic!("{error}\n{toml}"))
        .report
}

fn status(report: &Report, id: &str) -> Status {
    let property = report.properties.iter().find(|property| property.id == id);
    property.expect("the property is watched").status
}

fn world(algorithm: &str, n: usize, tolerates: usize) -> String {
    format!("algorithm = \"{algorithm}\"\nprocesses = {n}\nbears = {tolerates}\n")
}

#[test]
fn inside_the_assumptions_nothing_breaks() {
    let sound = |profile: &&quorate_core::Profile| {
        profile.layer == Layer::Agreement && profile.specimen.is_none()
    };
    for profile in PROFILES.iter().filter(sound) {
        let request =
            CampaignRequest { processes: [2, 10], ..CampaignRequest::new(profile.name, 400) };
        let report = request.run(2).expect("it runs");
        assert_eq!(report.violations, [], "{}", profile.name);
        assert_eq!((report.hangs, report.outside_assumptions), (0, 0), "{}", profile.name);
        let faults = report.crashes + report.traitors;
        assert!(faults > 100, "{}: {faults} faults", profile.name);
    }
}

#[test]
fn messages_are_as_many_as_the_formulas_say() {
    for n in 1..=9u64 {
        for tolerates in 0..n.min(4) {
            // Level by level: each process that can still relay sends to each process that is left.
            let levels = (1..=tolerates + 1)
                .map(|level| (1..=level).map(|gone| n - gone.min(n)).product::<u64>());
            let oral: u64 = levels.sum();
            let signed = (n - 1) + if tolerates > 0 { (n - 1) * n.saturating_sub(2) } else { 0 };
            let expected = [
                ("sync-consensus", (tolerates + 1) * n * (n - 1)),
                ("sync-consensus-short", tolerates * n * (n - 1)),
                ("byzantine-generals", oral),
                ("signed-generals", signed),
                ("interactive-consistency", n * oral),
                ("consensus-from-generals", n * oral),
            ];
            for (algorithm, messages) in expected {
                let toml = world(algorithm, n as usize, tolerates as usize);
                let report = report(&toml);
                assert_eq!(report.messages.total, messages, "{toml}");
                assert_eq!(report.cost.kept, Some(true), "{toml}{:?}", report.cost);
                assert_ne!(status(&report, "termination"), Status::Violated, "{toml}");
                let rounds = tolerates + u64::from(algorithm != "sync-consensus-short");
                assert_eq!(report.delays.client.max, rounds * report.delays.unit, "{toml}");
            }
        }
    }
}

/// Process 0 has the least value. In each round a process crashes that has sent the value only to the process that crashes
/// next. The last one has sent it to only one of the others.
fn chain(algorithm: &str, n: usize, f: usize) -> String {
    let crash = |process: usize| {
        let time = (process as u64 * 1_000_000).saturating_sub(500_000);
        // The processes before it are down when it sends to them.
        format!("\"{process}@{time}:{}\"", process + 1)
    };
    let crashes: Vec<String> = (0..f).map(crash).collect();
    let values: Vec<&str> = (0..n).map(|process| if process == 0 { "1" } else { "9" }).collect();
    format!(
        "{}values = [{}]\n[faults]\ncrash-mid = [{}]\n",
        world(algorithm, n, f),
        values.join(", "),
        crashes.join(", ")
    )
}

#[test]
fn a_chain_of_crashes_needs_all_the_rounds() {
    for f in 1..=6 {
        for n in f + 2..f + 5 {
            let short = report(&chain("sync-consensus-short", n, f));
            assert_eq!(status(&short, "agreement"), Status::Violated, "{n} {f}");
            assert!(short.assumptions.iter().all(|assumption| assumption.met), "{n} {f}");
            let long = report(&chain("sync-consensus", n, f));
            assert_eq!(long.verdict, Verdict::Holds, "{n} {f} {:?}", long.properties);
        }
    }
}

fn traitors(algorithm: &str, n: usize, m: usize, liars: impl Iterator<Item = usize>) -> Report {
    let liars: Vec<String> = liars.map(|liar| format!("\"{liar}:two-faced\"")).collect();
    report(&format!("{}[faults]\ntraitor = [{}]\n", world(algorithm, n, m), liars.join(", ")))
}

#[test]
fn a_third_of_liars_is_too_many_without_signatures() {
    for m in 1..=3 {
        for n in m + 2..=3 * m + 2 {
            let oral = traitors("byzantine-generals", n, m, n - m..n);
            let expected = if n > 3 * m { Verdict::Holds } else { Verdict::Violated };
            assert_eq!(oral.verdict, expected, "n = {n}, m = {m} {:?}", oral.properties);
            let outside: Vec<&str> = oral
                .assumptions
                .iter()
                .filter(|assumption| !assumption.met)
                .map(|assumption| assumption.id)
                .collect();
            assert_eq!(outside.is_empty(), n > 3 * m, "n = {n}, m = {m}");
            let signed = traitors("signed-generals", n, m, n - m..n);
            assert_eq!(signed.verdict, Verdict::Holds, "n = {n}, m = {m} {:?}", signed.properties);
        }
    }
}

#[test]
fn more_traitors_than_were_to_be_borne_are_outside_the_assumptions() {
    let report = traitors("byzantine-generals", 7, 1, 5..7);
    let broken: Vec<&str> =
        report.assumptions.iter().filter(|it| !it.met).map(|assumption| assumption.id).collect();
    assert_eq!(broken, ["few-faults"]);
}

#[test]
fn a_commander_that_lies_is_unmasked_or_outvoted() {
    for seed in 0..200 {
        for (algorithm, n) in [("byzantine-generals", 4), ("signed-generals", 3)] {
            let toml = format!(
                "{}seed = {seed}\n[faults]\ntraitor = [\"0:random\"]\n",
                world(algorithm, n, 1)
            );
            let report = report(&toml);
            assert_eq!(report.verdict, Verdict::Holds, "{toml}{:?}", report.properties);
        }
    }
}

#[test]
fn what_would_take_for_ever_is_refused_with_its_count() {
    let refused = |algorithm: &str, n: usize, tolerates: usize| {
        let scenario = scenario(&world(algorithm, n, tolerates));
        match run(&scenario, Conditions::default(), None) {
            Err(CannotRun::Run(RunError::TooCostly { messages, .. })) => messages,
            other => panic!("{algorithm} with {n} processes: {other:?}"),
        }
    };
    assert_eq!(refused("byzantine-generals", 16, 7), 295_891_275);
    assert_eq!(refused("byzantine-generals", 1_000_000, 40), u64::MAX);
    assert!(refused("consensus-from-generals", 16, 5) > 20_000_000);
    assert!(refused("sync-consensus", 5_000, 1) > 20_000_000);
}
