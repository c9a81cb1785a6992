//! `quorum` over settled crashes: every interleaving of small worlds, and runs with a fixed schedule. Each rule of the
//! algorithm is needed here: `cargo xtask mutants --quorum` removes one at a time.

use std::ops::ControlFlow;

use quorate_check::{Bounds, Budget};
use quorate_lab::exhaustive::{CheckConfig, Reductions, explore};
use quorate_lab::run;
use quorate_sim::report::{Report, Verdict};
use quorate_sim::scenario::Requesters;
use quorate_sim::{Conditions, Scenario, parse};

fn world(quorums: &str, n: usize, requesters: usize, crashes: u8) -> CheckConfig {
    let requesters = Requesters::First(requesters);
    let mut scenario = Scenario { requesters, ..Scenario::new("quorum", n) };
    scenario.quorums = Some(quorums.to_owned());
    CheckConfig {
        scenario,
        requests: 1,
        budget: Budget { crashes, ..Budget::default() },
        crashable: None,
        expirable: None,
        lease: 3,
        renewals: Some(0),
        reductions: Reductions::ALL,
        only: None,
        safety_only: None,
        bounds: Bounds { memory: 6 << 30, depth: u32::MAX },
        allow_partial: true,
        threads: 2,
    }
}

/// Explores these worlds in full. Returns the size of each.
fn in_full(worlds: impl IntoIterator<Item = CheckConfig>) -> String {
    let mut lines = String::new();
    for config in worlds {
        let Scenario { processes, quorums, requesters, .. } = &config.scenario;
        let reduced = if config.reductions == Reductions::NONE { ", not reduced" } else { "" };
        let name = format!(
            "{}, n = {processes}, {requesters} ask, {} crashes{reduced}",
            quorums.as_deref().unwrap_or_default(),
            config.budget.crashes
        );
        let report = explore(&config, |_| ControlFlow::Continue(())).expect("explored").report;
        assert_eq!(report.verdict, "holds", "{name}: {report:?}");
        let (states, steps, depth) = (report.states, report.steps, report.depth);
        lines += &format!("{name}: {states} states, {steps} steps, {depth} deep\n");
    }
    lines
}

#[test]
fn small_worlds_hold_in_every_state() {
    let three = ["grid", "vcube", "wall", "majority-live"].map(|quorums| world(quorums, 3, 3, 2));
    let four = [world("grid", 4, 2, 2), world("majority-live", 4, 2, 2), world("wall", 4, 2, 2)];
    insta::assert_snapshot!(in_full(three.into_iter().chain(four)));
}

/// The worlds of the proof's claim: all but one of four processes crash.
#[test]
#[ignore = "minutes, optimised, and some gigabytes: `cargo xtask verify worlds`"]
fn three_of_four_crash_and_two_of_five() {
    let sizes = [(4, 3, 3), (5, 2, 2)];
    let worlds = ["grid", "vcube"]
        .into_iter()
        .flat_map(|quorums| sizes.map(|(n, asking, crashes)| world(quorums, n, asking, crashes)));
    let both = worlds.flat_map(|config| {
        [config.clone(), CheckConfig { reductions: Reductions::NONE, ..config }]
    });
    insta::assert_snapshot!(in_full(both));
}

fn report(toml: &str) -> Report {
    let scenario = parse(toml, "run.toml").unwrap_or_else(|error| panic!("{error}\n{toml}"));
    run(&scenario, Conditions::default(), None).expect("it runs").report
}

/// p0 enters with three of eight votes. p7 believes that two of its voters have crashed, which is not settled, and five
/// other processes would vote for it.
#[test]
fn a_small_quorum_and_a_majority_are_not_mixed() {
    let report = report(
        "algorithm = \"quorum\"\nprocesses = 8\nrequest = [\"0@0\", \"7@6ms\"]\nsection = \"20ms\"\nquorums = \"wall\"\n\
         [faults]\ncrash = [\"1@3ms\", \"4@3ms\"]\n",
    );
    assert_eq!((report.verdict, report.entries), (Verdict::Holds, 2));
}

/// p1 asks {1, 2, 3, 4} and has the votes of 1, 2 and 4. p4 crashes, and all acknowledge it. The vote of p3 arrives at p1 before
/// p1 knows that the crash is settled. p5 knows it, and is inside with {5, 6, 7}.
#[test]
fn a_vote_of_a_crashed_process_does_not_count() {
    let report = report(
        "algorithm = \"quorum\"\nprocesses = 8\nrequest = [\"1@0\", \"5@11ms\"]\nsection = \"20ms\"\nquorums = \"wall\"\n\
         link-delay = [\"0-1=list:1ms,30ms\", \"3-1=constant:15ms\"]\n[faults]\ncrash = [\"4@3ms\"]\n",
    );
    assert_eq!((report.verdict, report.entries), (Verdict::Holds, 2));
}

/// Without crashes p1 takes {1, 3}. After the crash of p4, which is in neither, it would take {1, 2}, and p2 only {2}. p1 has
/// acknowledged the crash but does not know that it is settled, and p2 knows it: both would be inside.
#[test]
fn quorums_that_are_not_monotone_are_refused() {
    let toml = "algorithm = \"quorum\"\nprocesses = 5\nrequest = [\"1@10ms\", \"2@12ms\"]\nsection = \"20ms\"\n\
         link-delay = [\"0-1=list:1ms,30ms\"]\n\
         quorum-of = [\"1=1,3\", \"1/4=1,2\", \"2=2,3\", \"2/4=2\"]\n[faults]\ncrash = [\"4@0\"]\n";
    let scenario = parse(toml, "run.toml").expect("it is a scenario");
    let outcome = run(&scenario, Conditions::default(), None);
    let verdict = outcome.map(|outcome| outcome.report.verdict);
    let refused = verdict.expect_err("two processes would be inside").to_string();
    assert!(refused.contains("not monotone"), "{refused}");
    let rebuilt = "algorithm = \"quorum\"\nprocesses = 9\nquorums = \"grid-rebuilt\"\n";
    let scenario = parse(rebuilt, "run.toml").expect("it is a scenario");
    let refused = run(&scenario, Conditions::default(), None).map(|_| ()).expect_err("refused");
    assert!(refused.to_string().contains("not monotone"), "{refused}");
}

/// A voter that left the quorum returns to it, and its old REPLY arrives.
#[test]
fn a_late_reply_to_a_cancelled_request_is_ignored() {
    // The run of `scenarios/quorum/a-late-reply-to-a-cancelled-request-is-ignored.toml`.
    let report = report(
        "algorithm = \"quorum\"\nprocesses = 6\nrequest = [\"1@0\", \"2@2ms\"]\nsection = \"20ms\"\n\
         link-delay = [\"3-1=list:20ms,1ms\", \"5-1=constant:50ms\"]\n\
         quorum-of = [\"1=1,3,5\", \"1/4=1,5\", \"1/4,5=1,3\", \"2=2,3,5\", \"2/4=2,3,5\", \"2/4,5=2,3\"]\n\
         [faults]\ncrash = [\"4@3ms\", \"5@12ms\"]\n",
    );
    assert_eq!((report.verdict, report.entries), (Verdict::Holds, 2));
}

/// The price of an entry and of a crash, for any size.
#[test]
fn an_entry_costs_three_messages_per_voter_and_a_crash_three_per_process() {
    for (quorums, n, members) in [
        ("grid", 8_u32, 5_u64),
        ("vcube", 8, 5),
        ("wall", 8, 3),
        ("grid", 128, 22),
        ("vcube", 128, 65),
        ("wall", 128, 15),
    ] {
        let toml = format!("algorithm = \"quorum\"\nprocesses = {n}\nquorums = \"{quorums}\"\n");
        let healthy = report(&toml);
        assert_eq!(healthy.messages.total, 3 * members, "{toml}");
        assert_eq!(healthy.layers["view"].total, 0, "{toml}");
        let last = n - 1;
        for (crashes, rounds) in [
            (format!("\"{last}@0\""), 1),
            // Crashes that become known at the same time take one round, and a few messages of rounds that are given up.
            (format!("\"{last}@0\", \"{}@0\", \"{}@0\"", n - 2, n - 3), 1),
            (format!("\"{last}@0\", \"{}@50ms\"", n - 2), 2),
        ] {
            let toml = format!("{toml}request = [\"0@100ms\"]\n[faults]\ncrash = [{crashes}]\n");
            let report = report(&toml);
            let (failures, log) = (report.faults.len() as u64, u64::from(n.ilog2()));
            let most = 3 * (u64::from(n) - 1) * rounds + failures * log;
            assert!(report.layers["view"].total <= most, "{toml}: {}", report.layers["view"].total);
            assert_eq!(report.verdict, Verdict::Holds, "{toml}");
        }
    }
}
