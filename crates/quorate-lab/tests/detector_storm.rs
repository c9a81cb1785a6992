//! Detectors in a storm with fixed seeds: whenever crashes and recoveries come, everybody learns of them, nobody is
//! suspected wrongly, and the VCube keeps within its rounds and its tests.

use quorate_lab::run;
use quorate_sim::report::{ChangeReport, DetectionReport, Report, Verdict};
use quorate_sim::{Conditions, Scenario, parse};

fn report(toml: &str) -> (Report, DetectionReport) {
    let scenario: Scenario =
        parse(toml, "storm.toml").unwrap_or_else(|error| panic!("{error}\n{toml}"));
    let report = run(&scenario, Conditions::default(), None)
        .unwrap_or_else(|error| panic!("{error}\n{toml}"))
        .report;
    let detection = report.detection.clone().expect("a detector tells what it noticed");
    (report, detection)
}

fn diagnosis(n: u64, seed: u64, rest: &str) -> String {
    format!("algorithm = \"vcube-diagnosis\"\nprocesses = {n}\nseed = {seed}\n{rest}")
}

/// So many crashes at times of the seed.
fn crashes(count: u64, when: &str) -> Vec<String> {
    (0..count).map(|_| format!("\"?@{when}\"")).collect()
}

/// The rounds until the last observer knew.
fn rounds(change: &ChangeReport) -> u64 {
    change.last.map_or(0, |last| last.rounds)
}

#[test]
fn one_crash_is_known_everywhere_within_log2_n_rounds() {
    for n in 2..=33 {
        for victim in 0..n {
            // Before its first answer, at the moment of it, after it, and in the middle of a later round.
            for time in ["0", "1ms", "1.2ms", "7.9ms"] {
                let toml = diagnosis(n, 0, &format!("[faults]\ncrash = [\"{victim}@{time}\"]\n"));
                let (report, detection) = report(&toml);
                assert_eq!(report.verdict, Verdict::Holds, "{toml}{:?}", report.properties);
                let change = &detection.changes[0];
                assert_eq!(change.noticed as u64, n - 1, "{toml}");
                let promised = detection.promised_rounds.expect("the VCube promises");
                assert!(rounds(change) <= promised, "{toml}{change:?}");
                assert_eq!(report.cost.kept, Some(true), "{toml}{detection:?}");
            }
        }
    }
}

#[test]
fn a_crash_among_the_crashed_is_known_as_soon() {
    for seed in 0..600 {
        let n = 4 + seed % 30;
        let mut all = crashes(1 + seed % (n - 2).min(9), "0");
        all.extend(crashes(1, "60ms~80ms"));
        let toml = diagnosis(n, seed, &format!("[faults]\ncrash = [{}]\n", all.join(", ")));
        let (report, detection) = report(&toml);
        assert_eq!(report.verdict, Verdict::Holds, "{toml}{:?}", report.properties);
        let last = detection.changes.last().expect("there are crashes");
        assert!(rounds(last) <= detection.promised_rounds.unwrap_or(0), "{toml}{last:?}");
        assert_eq!(report.cost.kept, Some(true), "{toml}{detection:?}");
    }
}

#[test]
fn crashes_that_overlap_may_take_longer_but_cost_no_more_tests() {
    let (mut late, mut all) = (0, 0);
    for seed in 0..600 {
        let n = 4 + seed % 30;
        let crashes = crashes(1 + seed % (n - 2).min(9), "0~30ms").join(", ");
        let delay = ["constant:1ms", "uniform:100us..1ms"][seed as usize % 2];
        let rest = format!("delay = \"{delay}\"\n[faults]\ncrash = [{crashes}]\n");
        let toml = diagnosis(n, seed, &rest);
        let (report, detection) = report(&toml);
        assert_eq!(report.verdict, Verdict::Holds, "{toml}{:?}", report.properties);
        assert_eq!(report.cost.kept, Some(true), "{toml}{detection:?}");
        let promised = detection.promised_rounds.unwrap_or(0);
        all += detection.changes.len();
        late += detection.changes.iter().filter(|change| rounds(change) > promised).count();
        let longest = detection.changes.iter().map(rounds).max().unwrap_or(0);
        assert!(longest <= promised + 3, "{toml}{:?}", detection.changes);
    }
    // Who was to pass the news on has crashed as well: the bound is for one change at a time.
    assert!(late > 0 && late * 50 < all, "{late} of {all} crashes took longer");
}

#[test]
fn a_recovery_is_news_like_a_crash() {
    for seed in 0..400 {
        let n = 4 + seed % 30;
        let memory = ["", ":amnesia"][seed as usize % 2];
        let rest =
            format!("[faults]\ncrash = [\"2@0~10ms\"]\nrecover = [\"2@10ms~80ms{memory}\"]\n");
        let toml = diagnosis(n, seed, &rest);
        let (report, detection) = report(&toml);
        assert_eq!(report.verdict, Verdict::Holds, "{toml}{:?}", report.properties);
        let promised = detection.promised_rounds.unwrap_or(0);
        for change in &detection.changes {
            assert!(change.missing.is_empty() && rounds(change) <= promised, "{toml}{change:?}");
        }
        // Until they have heard of it, those who stood in for the one that is back go on testing beside it.
        let most = report.cost.promised_per_entry[1] + promised;
        assert!(detection.per_round_most <= most, "{toml}{detection:?}");
    }
}

#[test]
fn heartbeats_notice_within_what_they_promise() {
    for seed in 0..200 {
        let n = 2 + seed % 12;
        let crashes = crashes(1 + seed % (n - 1), "0~30ms").join(", ");
        let toml = format!(
            "algorithm = \"heartbeat\"\nprocesses = {n}\nseed = {seed}\ndelay = \"uniform:1us..2ms\"\n\
             [faults]\ncrash = [{crashes}]\n"
        );
        let (report, detection) = report(&toml);
        assert_eq!(report.verdict, Verdict::Holds, "{toml}{:?}", report.properties);
        assert_eq!(report.cost.kept, Some(true), "{toml}{detection:?}");
        for change in &detection.changes {
            assert!(rounds(change) <= detection.promised_rounds.unwrap_or(0), "{toml}{change:?}");
        }
    }
}

#[test]
fn where_time_has_no_bound_detectors_err_and_say_so() {
    for algorithm in ["heartbeat", "vcube-diagnosis"] {
        let erred = |seed: &u64| {
            let toml = format!(
                "algorithm = \"{algorithm}\"\nprocesses = 6\nseed = {seed}\ndelay = \"exponential:1ms\"\n"
            );
            let (report, detection) = report(&toml);
            let accuracy = report.properties.iter().find(|property| property.id == "accuracy");
            let accuracy = accuracy.expect("a detector is watched for accuracy");
            assert_ne!(report.verdict, Verdict::Holds, "{toml}");
            assert_eq!(accuracy.events.is_empty(), detection.false_suspicions == 0, "{toml}");
            detection.false_suspicions > 0
        };
        let count = (0..40).filter(erred).count();
        assert!(count > 10, "{algorithm} erred in {count} of 40 runs");
    }
}

#[test]
fn a_mutex_over_the_vcube_survives_a_crashed_client() {
    for seed in 0..60 {
        let n = 3 + seed % 5;
        let toml = format!(
            "algorithm = \"central\"\nprocesses = {n}\nseed = {seed}\nrequesters = \"all\"\ndetector = \"vcube\"\n\
             delay = \"uniform:500us..2ms\"\n[faults]\ncrash = [\"{}@0~9ms\"]\n",
            1 + seed % (n - 1),
        );
        let scenario: Scenario = parse(&toml, "storm.toml").expect("the scenario is valid");
        let report = run(&scenario, Conditions::default(), None).expect("it runs").report;
        assert_eq!(report.verdict, Verdict::Holds, "{toml}{:?}", report.properties);
        assert!(report.layers["detector"].by_kind.of("TEST") > 0, "tests are counted apart");
    }
}
