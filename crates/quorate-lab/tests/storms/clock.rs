//! Clocks in a storm of random faults with fixed seeds. However wrong they are and however long messages take, a process
//! that sets its clock is as near to the true time, or to the others, as it claims.

use quorate_lab::run;
use quorate_sim::monitor::Status;
use quorate_sim::report::{ClockReport, Report, Verdict};
use quorate_sim::{Conditions, Scenario, parse};

fn report(toml: &str) -> (Report, ClockReport) {
    let scenario: Scenario =
        parse(toml, "storm.toml").unwrap_or_else(|error| panic!("{error}\n{toml}"));
    let report = run(&scenario, Conditions::default(), None)
        .unwrap_or_else(|error| panic!("{error}\n{toml}"))
        .report;
    let clock = report.clock.clone().expect("it tells what became of clocks");
    (report, clock)
}

fn status(report: &Report, id: &str) -> Status {
    let property = report.properties.iter().find(|property| property.id == id);
    property.expect("the property is watched").status
}

/// A scenario with wrong clocks, and delays of every kind.
fn world(algorithm: &str, n: u64, seed: u64, rest: &str) -> String {
    let delay = ["constant:1ms", "uniform:100us..3ms", "exponential:1ms"][seed as usize % 3];
    let offset = ["0", "1us", "10ms", "500ms"][seed as usize / 3 % 4];
    let drift = ["0ppm", "1ppm", "100ppm", "5000ppm"][seed as usize / 12 % 4];
    format!(
        "algorithm = \"{algorithm}\"\nprocesses = {n}\nseed = {seed}\ndelay = \"{delay}\"\nfifo = {}\n\
         clock-offset = \"{offset}\"\nclock-drift = \"{drift}\"\nrepeat = {}\nthink = \"{}ms\"\n{rest}",
        seed.is_multiple_of(2),
        1 + seed % 3,
        10 + seed % 7 * 400,
    )
}

#[test]
fn clients_are_as_near_to_the_truth_as_they_say() {
    let mut again = 0;
    for seed in 0..400 {
        let (n, probes) = (2 + seed % 9, 1 + seed % 5);
        let servers = 1 + seed % (n - 1).min(3);
        let list: Vec<String> = (0..servers).map(|server| server.to_string()).collect();
        let rest = format!(
            "servers = \"{}\"\nreplies = {}\nprobes = {probes}\nrequesters = \"all\"\n",
            list.join(","),
            1 + seed % servers,
        );
        let toml = world("cristian", n, seed, &rest);
        let (report, clock) = report(&toml);
        assert_eq!(report.verdict, Verdict::Holds, "{toml}{:?}", report.properties);
        let asked = (n - servers) * (1 + seed % 3);
        assert_eq!(clock.settings + clock.failures, asked, "{toml}{clock:?}");
        // There are no faults, so the formula is exact. A client that timed out has sent as many requests.
        assert_eq!(report.messages.total, 2 * probes * servers * asked, "{toml}");
        again += clock.clocks.iter().filter(|clock| clock.drifted.is_some()).count();
    }
    assert!(again > 500, "only {again} clocks were set again");
}

#[test]
fn crashes_and_losses_may_leave_a_clock_as_it_is_but_not_wrong() {
    let (mut failed, mut set) = (0, 0);
    for seed in 0..400 {
        let n = 4 + seed % 8;
        let crashes = vec!["\"?@0~20ms\""; (seed % 4) as usize].join(", ");
        let rest = format!(
            "servers = \"0,1,2\"\nreplies = {}\nprobes = {}\nrequesters = \"all\"\n\
             [faults]\nloss = 0.1\nduplication = 0.1\nreordering = 0.1\ncrash = [{crashes}]\n",
            1 + seed % 3,
            1 + seed % 4,
        );
        let toml = world("cristian", n, seed, &rest);
        let (report, clock) = report(&toml);
        assert_eq!(report.verdict, Verdict::Holds, "{toml}{:?}", report.properties);
        assert_eq!(report.waiting, [0; 0], "{toml}");
        failed += clock.failures;
        set += clock.settings;
    }
    assert!(failed > 100 && set > 2_000, "{failed} failed, {set} were set");
}

#[test]
fn an_impostor_misleads_who_takes_the_first_answer_and_is_outvoted_by_two() {
    let liar = "link-delay = [\"2-4=constant:100us\", \"4-2=constant:100us\"]\nrequest = [\"4@0\"]\n\
                servers = \"0,1,2\"\nprobes = 3\n";
    for seed in 0..100 {
        let faults = "[faults]\ntraitor = [\"2:liar\"]\n";
        let first = world("cristian", 5, seed, &format!("{liar}replies = 1\n{faults}"));
        let (report_first, _) = report(&first);
        assert_eq!(status(&report_first, "error-bound"), Status::Violated, "{first}");
        let all = world("cristian", 5, seed, &format!("{liar}replies = 3\n{faults}"));
        let (report_all, clock) = report(&all);
        assert_eq!(report_all.verdict, Verdict::Holds, "{all}{:?}", report_all.properties);
        // If an answer arrives after the timeout, the client reports a failure instead of guessing.
        assert_eq!(clock.settings + clock.failures, 1 + seed % 3, "{all}");
    }
}

#[test]
fn more_probes_leave_less_doubt() {
    let doubt = |probes: u64| -> u64 {
        let error = |seed: u64| {
            let toml = format!(
                "algorithm = \"cristian\"\nprocesses = 2\nseed = {seed}\ndelay = \"uniform:100us..3ms\"\nprobes = {probes}\n"
            );
            report(&toml).1.clocks[0].error.unwrap_or(u64::MAX)
        };
        (0..100).map(error).sum()
    };
    let doubts: Vec<u64> = [1, 4, 16].map(doubt).to_vec();
    assert!(doubts.windows(2).all(|pair| pair[1] * 3 < pair[0] * 2), "{doubts:?}");
}

#[test]
fn clocks_set_together_agree_as_promised() {
    for seed in 0..400 {
        let n = 1 + seed % 10;
        let rest = format!(
            "server = {}\nrequesters = \"{}\"\noutlier = \"{}ms\"\n",
            seed % n,
            ["one", "all"][seed as usize % 2],
            seed % 11 * 60,
        );
        let toml = world("berkeley", n, seed, &rest);
        let (report, clock) = report(&toml);
        assert_eq!(report.verdict, Verdict::Holds, "{toml}{:?}", report.properties);
        assert_eq!(report.cost.kept, Some(true), "{toml}{:?}", report.cost);
        assert_eq!(clock.clocks.len() as u64, n, "everybody is set\n{toml}");
        assert_eq!((report.waiting, clock.failures), (vec![], 0), "{toml}");
    }
}

#[test]
fn whoever_is_master_when_it_crashes_is_succeeded() {
    let mut succeeded = 0;
    for seed in 0..400 {
        let n = 3 + seed % 8;
        let crashes = vec!["\"?@0~30ms\""; (seed % (n - 1)) as usize].join(", ");
        let detection = ["constant:1ms", "uniform:1us..20ms"][seed as usize % 2];
        let rest = format!(
            "requesters = \"all\"\nspread = \"30ms\"\ndetection = \"{detection}\"\n\
             [faults]\ncrash = [\"0@0~9ms\"{}{crashes}]\ncrash-mid = [\"1@0~20ms:{}\"]\n",
            if crashes.is_empty() { "" } else { ", " },
            seed % 3,
        );
        let toml = world("berkeley", n, seed, &rest);
        let (report, clock) = report(&toml);
        assert_eq!(report.verdict, Verdict::Holds, "{toml}{:?}", report.properties);
        assert_eq!(report.waiting, [0; 0], "{toml}");
        succeeded += usize::from(clock.precision.is_some_and(|together| together.masters != [0]));
    }
    assert!(succeeded > 300, "only {succeeded} runs had another master");
}

#[test]
fn over_detectors_of_its_own_a_master_is_succeeded_as_well() {
    for seed in 0..100 {
        let n = 3 + seed % 5;
        let detector = ["heartbeat", "heartbeat-ring", "vcube"][seed as usize % 3];
        let toml = format!(
            "algorithm = \"berkeley\"\nprocesses = {n}\nseed = {seed}\ndetector = \"{detector}\"\n\
             delay = \"uniform:500us..1ms\"\n[faults]\ncrash = [\"0@0~1.5ms\"]\n"
        );
        let (report, clock) = report(&toml);
        assert_eq!(report.verdict, Verdict::Holds, "{toml}{:?}", report.properties);
        let together = clock.precision.expect("the others are set");
        assert!(together.masters.contains(&1), "{toml}{together:?}");
    }
}

#[test]
fn outside_the_assumptions_the_known_weaknesses_show() {
    let broken = |algorithm: &str, faults: &str, id: &str| {
        let breaks = |seed: &u64| {
            let toml = format!(
                "algorithm = \"{algorithm}\"\nprocesses = 4\nseed = {seed}\nrequesters = \"all\"\nrepeat = 2\n\
                 think = \"1s\"\ndelay = \"uniform:500us..1ms\"\nclock-drift = \"10ppm\"\n{faults}\n"
            );
            let report = report(&toml).0;
            assert_ne!(report.verdict, Verdict::Holds, "{toml}");
            status(&report, id) == Status::Violated
        };
        (0..40).filter(breaks).count()
    };
    let fast = "[faults]\nclock = [\"3@100ms:1.1\"]";
    assert_eq!(broken("cristian", fast, "error-bound"), 40, "a clock that races");
    let wrong = "local-clock = [\"0:+5s\"]";
    assert_eq!(broken("cristian", wrong, "error-bound"), 40, "a server that is wrong");
    let liar = "[faults]\ntraitor = [\"0:equivocator\"]";
    assert_eq!(
        broken("berkeley", liar, "precision"),
        40,
        "a master that tells everyone something else"
    );
}
