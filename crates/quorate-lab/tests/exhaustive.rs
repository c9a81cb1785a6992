//! Every interleaving of small worlds. The numbers of states are pinned: a changed number is a changed protocol.

use std::ops::ControlFlow;

use quorate_check::{Bounds, Budget};
use quorate_lab::exhaustive::{Checked, Question, Reductions, explore};
use quorate_sim::monitor::Status;
use quorate_sim::scenario::Requesters;
use quorate_sim::{Conditions, Scenario};

fn question(algorithm: &str, n: usize) -> Question {
    Question {
        scenario: Scenario { requesters: Requesters::All, ..Scenario::new(algorithm, n) },
        requests: 1,
        budget: Budget::default(),
        crashing: None,
        lease: 3,
        renewals: Some(0),
        reduce: Reductions::ALL,
        only: None,
        content_with_a_part: false,
        bounds: Bounds { memory: 1 << 30, depth: u32::MAX },
        threads: 2,
    }
}

fn over(algorithm: &str, n: usize, quorums: &str) -> Question {
    let mut question = question(algorithm, n);
    question.scenario.quorums = Some(quorums.to_owned());
    question
}

fn crashing(mut question: Question, crashes: u8) -> Question {
    question.budget.crashes = crashes;
    question
}

fn explored(question: &Question) -> Checked {
    explore(question, |_| ControlFlow::Continue(())).expect("it can be explored")
}

/// All of these hold; how large each of them is.
fn sound(worlds: impl IntoIterator<Item = (&'static str, Question)>) -> String {
    let mut lines = String::new();
    for (name, question) in worlds {
        let report = explored(&question).report;
        assert_eq!(report.verdict, "holds", "{name}: {report:?}");
        assert_eq!(report.outside, [""; 0], "{name} is beyond its assumptions");
        lines += &format!(
            "{name}: {} states, {} steps, {} deep\n",
            report.states, report.steps, report.depth
        );
    }
    lines
}

/// Each of these breaks that property, and again in the simulator; after how many steps.
fn broken(worlds: impl IntoIterator<Item = (&'static str, Question, &'static str)>) -> String {
    let mut lines = String::new();
    for (name, question, property) in worlds {
        let checked = explored(&question);
        let broken = checked.report.properties.iter().find(|p| p.status == Status::Violated);
        assert_eq!(broken.map(|broken| broken.id), Some(property), "{name}: {:?}", checked.report);
        let scenario = checked.scenario.expect("it can be replayed");
        let report = quorate_lab::run(&scenario, Conditions::default(), None).unwrap().report;
        let seen = report.properties.iter().find(|found| found.id == property);
        assert_eq!(seen.map(|seen| seen.status), Some(Status::Violated), "{name}");
        lines += &format!("{name}: {property} after {} steps\n", checked.story.len());
    }
    lines
}

#[test]
fn what_is_sound_holds_in_every_state() {
    let twice = |name| Question { requests: 2, ..question(name, 3) };
    insta::assert_snapshot!(sound([
        ("central", question("central", 3)),
        ("central twice", twice("central")),
        ("central with crashes", crashing(twice("central"), 2)),
        ("token-ring twice", twice("token-ring")),
        ("ricart-agrawala", question("ricart-agrawala", 3)),
        ("singhal", question("singhal", 3)),
        ("suzuki-kasami twice", twice("suzuki-kasami")),
        ("raymond twice", twice("raymond")),
        ("maekawa over majority", over("maekawa", 3, "majority")),
        ("agrawal-el-abbadi", question("agrawal-el-abbadi", 3)),
        ("quorum over vcube", over("quorum", 3, "vcube")),
        ("quorum over majority with a crash", crashing(over("quorum", 3, "majority"), 1)),
    ]));
}

#[test]
fn what_is_broken_has_a_shortest_counterexample_that_replays() {
    let worlds = [
        ("maekawa-original", question("maekawa-original", 3), "ME2"),
        ("ricart-agrawala-priority", question("ricart-agrawala-priority", 3), "ME1"),
        ("ricart-agrawala with a crash", crashing(question("ricart-agrawala", 2), 1), "ME2"),
        ("quorum-published over tree", over("quorum-published", 3, "tree"), "ME2"),
    ];
    let twice = worlds
        .map(|(name, question, property)| (name, Question { requests: 2, ..question }, property));
    insta::assert_snapshot!(broken(twice));
}

#[test]
fn what_chance_hardly_finds_is_found() {
    let mut world = crashing(over("quorum-without-attempts", 4, "majority"), 2);
    world.scenario.requesters = Requesters::First(2);
    let short = bearing(crashing(question("sync-consensus-short", 3), 1), 1);
    insta::assert_snapshot!(broken([
        ("quorum-without-attempts", world, "ME1"),
        ("sync-consensus-short", short, "agreement"),
    ]));
}

#[test]
fn a_world_that_is_far_too_large_is_refused_with_a_way_out() {
    let mut huge = Question { requests: 3, ..question("lamport", 7) };
    let refused = explore(&huge, |_| ControlFlow::Continue(())).expect_err("it is too large");
    let told = refused.to_string();
    assert!(told.contains("very roughly 10^") && told.contains("--depth"), "{told}");
    (huge.content_with_a_part, huge.bounds.depth) = (true, 3);
    assert_eq!(explored(&huge).report.verdict, "bounded");
}

/// The first so many ask.
fn some(algorithm: &str, n: usize, count: usize) -> Question {
    let mut question = question(algorithm, n);
    question.scenario.requesters = Requesters::First(count);
    question
}

/// It is judged by these as well.
fn watching(mut question: Question, properties: &[&str]) -> Question {
    question.scenario.watch = properties.iter().map(|id| (*id).to_owned()).collect();
    question
}

fn without_order(mut question: Question) -> Question {
    question.scenario.fifo = false;
    question
}

fn losing(mut question: Question) -> Question {
    question.budget.losses = 1;
    question
}

fn suspecting(mut question: Question) -> Question {
    question.budget.suspicions = 1;
    question
}

fn twice(question: Question) -> Question {
    Question { requests: 2, ..question }
}

fn bearing(mut question: Question, faults: usize) -> Question {
    question.scenario.bears = Some(faults);
    question
}

fn proposing(mut question: Question, values: &[u64]) -> Question {
    question.scenario.values = values.to_vec();
    question
}

#[test]
fn sound_elections_hold_in_every_state() {
    insta::assert_snapshot!(sound([
        ("announce-all", question("announce-all", 3)),
        ("announce-all with a crash", crashing(question("announce-all", 3), 1)),
        ("chang-roberts", question("chang-roberts", 3)),
        ("chang-roberts twice", twice(question("chang-roberts", 3))),
        ("list-ring", question("list-ring", 3)),
        ("list-ring with a crash", crashing(question("list-ring", 3), 1)),
        ("list-ring twice with a crash", crashing(twice(some("list-ring", 3, 2)), 1)),
        ("hirschberg-sinclair", question("hirschberg-sinclair", 3)),
        ("detector-leader with crashes", crashing(question("detector-leader", 3), 2)),
    ]));
}

#[test]
fn sound_agreements_hold_in_every_state() {
    insta::assert_snapshot!(sound([
        ("two-phase-commit", question("two-phase-commit", 3)),
        ("two-phase-commit with a crash", crashing(question("two-phase-commit", 3), 1)),
        ("two-phase-commit against", proposing(question("two-phase-commit", 3), &[1, 0, 1])),
        ("sync-consensus with a crash", bearing(crashing(question("sync-consensus", 3), 1), 1)),
        ("chandra-toueg", question("chandra-toueg", 3)),
        ("chandra-toueg without order", without_order(question("chandra-toueg", 3))),
        (
            "chandra-toueg with a crash and a wrong suspicion",
            suspecting(bearing(crashing(question("chandra-toueg", 3), 1), 1)),
        ),
        ("consensus-from-total with a crash", crashing(question("consensus-from-total", 3), 1)),
    ]));
}

#[test]
fn sound_multicasts_hold_in_every_state() {
    insta::assert_snapshot!(sound([
        ("basic with a crash", crashing(some("basic", 3, 2), 1)),
        ("reliable with a crash", crashing(some("reliable", 3, 2), 1)),
        ("fifo without order", without_order(twice(some("fifo", 3, 1)))),
        ("causal without order", without_order(some("causal", 3, 2))),
        ("causal with a crash", crashing(some("causal", 3, 2), 1)),
        ("total-sequencer with a crash", crashing(question("total-sequencer", 3), 1)),
        ("total-isis", question("total-isis", 3)),
        ("total-isis with a crash", crashing(some("total-isis", 3, 2), 1)),
        ("total-lamport with a crash", crashing(some("total-lamport", 3, 2), 1)),
        ("total-from-consensus with a crash", crashing(some("total-from-consensus", 3, 1), 1)),
        ("total-from-consensus", some("total-from-consensus", 3, 2)),
        ("vcube-multicast with a crash", crashing(question("vcube-multicast", 3), 1)),
    ]));
}

#[test]
fn beyond_their_assumptions_the_other_families_break_and_replay() {
    insta::assert_snapshot!(broken([
        ("chang-roberts with a crash", crashing(some("chang-roberts", 3, 1), 1), "E2"),
        ("detector-leader misled", suspecting(question("detector-leader", 3)), "E1"),
        ("announce-all with a loss", losing(some("announce-all", 3, 1)), "E2"),
        ("two-phase-commit with a loss", losing(question("two-phase-commit", 3)), "termination"),
        (
            "chandra-toueg with two crashes",
            bearing(crashing(question("chandra-toueg", 3), 2), 1),
            "termination",
        ),
        ("reliable with a loss", losing(some("reliable", 2, 1)), "validity"),
        (
            "basic is not reliable",
            watching(crashing(some("basic", 3, 1), 1), &["agreement"]),
            "agreement",
        ),
        (
            "basic is not fifo",
            watching(without_order(twice(some("basic", 2, 1))), &["fifo-order"]),
            "fifo-order",
        ),
        (
            "fifo is not causal",
            watching(without_order(some("fifo", 3, 2)), &["causal-order"]),
            "causal-order"
        ),
        ("causal is not total", watching(some("causal", 3, 2), &["total-order"]), "total-order"),
    ]));
}

#[test]
fn what_needs_time_is_refused() {
    for (name, why) in
        [("heartbeat", "in a world without time"), ("cristian", "in a world without time")]
    {
        let refused = explore(&question(name, 3), |_| ControlFlow::Continue(()));
        let told = refused.expect_err(name).to_string();
        assert!(told.contains(why), "{name}: {told}");
    }
    let again = explore(&twice(question("chandra-toueg", 3)), |_| ControlFlow::Continue(()));
    assert!(again.expect_err("twice").to_string().contains("once"));
}

#[test]
fn timers_run_out_in_every_order_that_the_bound_allows() {
    let lost = |mut question: Question| {
        question.budget.losses = 1;
        question
    };
    insta::assert_snapshot!(sound([
        ("bully", question("bully", 3)),
        ("bully, 2 ask, 2 crash", crashing(some("bully", 3, 2), 2)),
        ("bully-all", question("bully-all", 3)),
        ("bully-all, 1 asks, 1 crashes", crashing(some("bully-all", 3, 1), 1)),
    ]));
    // Who loses the only answer takes itself for the greatest. Told step by step: instants are no moments to replay.
    let checked = explored(&lost(some("bully", 2, 1)));
    assert_eq!(checked.report.verdict, "violated");
    assert_eq!(checked.report.counterexample_steps, Some(checked.story.len()));
    assert!(checked.scenario.is_none() && checked.story.iter().any(|step| step.contains("timer")));
}

#[test]
fn reductions_change_the_number_of_states_and_not_the_verdict() {
    let mut fewer = 0;
    let names = [
        "central",
        "ricart-agrawala",
        "singhal",
        "maekawa-original",
        "maekawa",
        "raymond",
        "announce-all",
        "list-ring",
        "chandra-toueg",
        "total-sequencer",
        "total-isis",
    ];
    for name in names {
        let reduced = explored(&question(name, 3)).report;
        let full = explored(&Question { reduce: Reductions::NONE, ..question(name, 3) }).report;
        assert_eq!(reduced.verdict, full.verdict, "{name}");
        assert!(reduced.states <= full.states, "{name}: {} of {}", reduced.states, full.states);
        let status = |report: &quorate_lab::exhaustive::CheckReport| {
            report.properties.iter().map(|found| found.status).collect::<Vec<_>>()
        };
        assert_eq!(status(&reduced), status(&full), "{name}");
        fewer += u32::from(reduced.states < full.states);
    }
    assert!(fewer > 0, "a reduction that reduces nothing");
}

#[test]
fn threads_change_nothing() {
    let question = over("quorum", 3, "majority");
    let one = explored(&Question { threads: 1, ..question.clone() });
    let three = explored(&Question { threads: 3, ..question });
    assert_eq!(one.report, three.report);
}

#[test]
fn a_bound_is_told_as_a_bound() {
    let mut question = question("ricart-agrawala", 3);
    question.bounds.depth = 5;
    let report = explored(&question).report;
    assert_eq!((report.verdict, report.bounded_by, report.depth), ("bounded", Some("depth"), 5));
    assert!(report.properties.iter().all(|found| found.status == Status::NotChecked));
    question.bounds = Bounds { memory: 200_000, depth: u32::MAX };
    let report = explored(&question).report;
    assert_eq!((report.verdict, report.bounded_by), ("bounded", Some("memory")));
}

#[test]
fn a_world_in_which_nobody_enters_shows_nothing() {
    let report = explored(&Question { requests: 0, ..question("central", 2) }).report;
    assert_eq!(report.verdict, "violated");
    assert!(report.properties[0].detail.contains("nobody ever enters"), "{report:?}");
}
