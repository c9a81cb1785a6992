//! Every interleaving of small worlds. The numbers of states are pinned: a changed number is a changed protocol.

use std::ops::ControlFlow;

use quorate_check::{Bounds, Budget};
use quorate_lab::exhaustive::{Checked, Question, explore};
use quorate_sim::monitor::Status;
use quorate_sim::scenario::Requesters;
use quorate_sim::{Conditions, Scenario};

fn question(algorithm: &str, n: usize) -> Question {
    Question {
        scenario: Scenario { requesters: Requesters::All, ..Scenario::new(algorithm, n) },
        requests: 1,
        budget: Budget::default(),
        reduce: true,
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

#[test]
fn what_is_sound_holds_in_every_state() {
    let twice = |name| Question { requests: 2, ..question(name, 3) };
    let worlds = [
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
    ];
    let mut lines = String::new();
    for (name, question) in worlds {
        let report = explored(&question).report;
        assert_eq!(report.verdict, "holds", "{name}: {report:?}");
        lines += &format!(
            "{name}: {} states, {} steps, {} deep\n",
            report.states, report.steps, report.depth
        );
    }
    insta::assert_snapshot!(lines);
}

#[test]
fn what_is_broken_has_a_shortest_counterexample_that_replays() {
    let worlds = [
        ("maekawa-original", question("maekawa-original", 3), "ME2"),
        ("ricart-agrawala-priority", question("ricart-agrawala-priority", 3), "ME1"),
        ("ricart-agrawala with a crash", crashing(question("ricart-agrawala", 2), 1), "ME2"),
        ("quorum-published over tree", over("quorum-published", 3, "tree"), "ME2"),
    ];
    let mut lines = String::new();
    for (name, question, property) in worlds {
        let question = Question { requests: 2, ..question };
        let checked = explored(&question);
        let broken = checked.report.properties.iter().find(|p| p.status == Status::Violated);
        assert_eq!(broken.map(|broken| broken.id), Some(property), "{name}");
        let scenario = checked.scenario.expect("it can be replayed");
        let report = quorate_lab::run(&scenario, Conditions::default(), None).unwrap().report;
        let seen = report.properties.iter().find(|found| found.id == property);
        assert_eq!(seen.map(|seen| seen.status), Some(Status::Violated), "{name}");
        lines += &format!("{name}: {property} after {} steps\n", checked.story.len());
    }
    insta::assert_snapshot!(lines);
}

#[test]
fn reductions_change_the_number_of_states_and_not_the_verdict() {
    let mut fewer = 0;
    for name in ["central", "ricart-agrawala", "singhal", "maekawa-original", "maekawa", "raymond"]
    {
        let reduced = explored(&question(name, 3)).report;
        let full = explored(&Question { reduce: false, ..question(name, 3) }).report;
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
