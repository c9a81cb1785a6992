//! Every interleaving of small worlds. The numbers of states are pinned: a changed number means a changed protocol.

mod reductions;

use std::ops::ControlFlow;

use quorate_check::Bounds;
use quorate_core::{ProcessId, Property, Time};
use quorate_lab::exhaustive::{
    CheckConfig, CheckOutcome, CheckReport, Reductions, SafetyConfig, explore,
};
use quorate_sim::fault::{ProcessAt, Traitor};
use quorate_sim::monitor::Status;
use quorate_sim::notation::{ProcessSelector, When};
use quorate_sim::scenario::Requesters;
use quorate_sim::traitor::Strategy;
use quorate_sim::{Conditions, Scenario};

/// Seeds whose coins show all eight outcomes of the first toss of three processes, as a test of `ben-or` confirms.
const COINS: [u64; 8] = [0, 1, 4, 5, 6, 8, 13, 23];

fn config(algorithm: &str, n: usize) -> CheckConfig {
    let scenario = Scenario { requesters: Requesters::All, ..Scenario::new(algorithm, n) };
    let bounds = Bounds { memory: 1 << 30, depth: u32::MAX };
    CheckConfig { threads: 2, ..CheckConfig::new(scenario, bounds) }
}

fn over(algorithm: &str, n: usize, quorums: &str) -> CheckConfig {
    let mut config = config(algorithm, n);
    config.scenario.quorums = Some(quorums.to_owned());
    config
}

fn crashing(mut config: CheckConfig, crashes: u8) -> CheckConfig {
    config.budget.crashes = crashes;
    config
}

fn explored(config: &CheckConfig) -> CheckOutcome {
    explore(config, |_| ControlFlow::Continue(())).expect("it can be explored")
}

/// Checks that a search for safety finds the same as a full search. Returns its report.
fn safety_agrees(name: &str, config: &CheckConfig, full: &CheckReport) -> CheckReport {
    let safety =
        explored(&CheckConfig { safety_only: Some(SafetyConfig::default()), ..config.clone() })
            .report;
    let facts = safety.safety_only.expect("it checks only safety");
    let size = |report: &CheckReport| (report.states, report.steps, report.depth);
    if size(&safety) != size(full) {
        // A full search begins again without reductions if states recur.
        assert!(
            !facts.every_run_ends && config.reductions != Reductions::NONE,
            "{name}: {safety:?}"
        );
        let config = CheckConfig { reductions: Reductions::NONE, ..config.clone() };
        assert_eq!(size(&safety_agrees(name, &config, full)), size(full), "{name}");
    }
    assert_eq!(safety.verdict, full.verdict, "{name}");
    assert_eq!(safety.counterexample_steps, full.counterexample_steps, "{name}");
    for (own, other) in safety.properties.iter().zip(&full.properties) {
        let is_left_out = own.detail.contains("only safety was checked");
        assert!(own == other || (is_left_out && !facts.every_run_ends), "{name}: {own:?}");
    }
    safety
}

/// Checks that all of these worlds hold. Returns the size of each.
fn sound(worlds: impl IntoIterator<Item = (&'static str, CheckConfig)>) -> String {
    let mut lines = String::new();
    for (name, config) in worlds {
        let report = explored(&config).report;
        assert_eq!(report.verdict, "holds", "{name}: {report:?}");
        assert_eq!(report.outside, [""; 0], "{name} is beyond its assumptions");
        safety_agrees(name, &config, &report);
        lines += &format!(
            "{name}: {} states, {} steps, {} deep\n",
            report.states, report.steps, report.depth
        );
    }
    lines
}

/// Checks that each of these worlds violates its property, also in the simulator. Returns the number of steps of each.
fn broken(worlds: impl IntoIterator<Item = (&'static str, CheckConfig, &'static str)>) -> String {
    let mut lines = String::new();
    for (name, config, property) in worlds {
        let checked = explored(&config);
        let broken = checked.report.properties.iter().find(|p| p.status == Status::Violated);
        assert_eq!(broken.map(|broken| broken.id), Some(property), "{name}: {:?}", checked.report);
        safety_agrees(name, &config, &checked.report);
        let scenario = checked.scenario.expect("it can be replayed");
        let report = quorate_lab::run(&scenario, Conditions::default(), None).unwrap().report;
        let seen = report.properties.iter().find(|found| found.id == property);
        assert_eq!(seen.map(|seen| seen.status), Some(Status::Violated), "{name}");
        lines += &format!("{name}: {property} after {} steps\n", checked.steps.len());
    }
    lines
}

#[test]
fn what_is_sound_holds_in_every_state() {
    let twice = |name| CheckConfig { requests: 2, ..config(name, 3) };
    insta::assert_snapshot!(sound([
        ("central", config("central", 3)),
        ("central twice", twice("central")),
        ("central with crashes", crashing(twice("central"), 2)),
        ("central-elected with crashes", crashing(twice("central-elected"), 2)),
        ("token-ring twice", twice("token-ring")),
        ("token-ring twice with crashes", crashing(twice("token-ring"), 2)),
        ("token-ring of four with a crash", crashing(config("token-ring", 4), 1)),
        ("ricart-agrawala", config("ricart-agrawala", 3)),
        ("singhal", config("singhal", 3)),
        ("suzuki-kasami twice", twice("suzuki-kasami")),
        ("raymond twice", twice("raymond")),
        ("maekawa over majority", over("maekawa", 3, "majority")),
        ("agrawal-el-abbadi", config("agrawal-el-abbadi", 3)),
        ("quorum over vcube", over("quorum", 3, "vcube")),
        ("quorum over majority with a crash", crashing(over("quorum", 3, "majority"), 1)),
        ("quorum-majority over vcube", over("quorum-majority", 3, "vcube")),
        ("quorum-vcube-multicast", some("quorum-vcube-multicast", 3, 2)),
        ("quorum-vcube-multicast with a crash", crashing(config("quorum-vcube-multicast", 2), 1)),
    ]));
}

/// A world of a replicated log in which one client submits a command and timers expire this often, at any time.
fn expiring(algorithm: &str, n: usize, timeouts: u8) -> CheckConfig {
    let mut config = some(algorithm, n, 1);
    config.budget.timeouts = timeouts;
    config
}

#[test]
fn replicated_logs_agree_in_every_state() {
    let mut restarted = crashing(expiring("raft", 3, 1), 1);
    restarted.budget.recoveries = 1;
    let mut silent = expiring("pbft", 4, 0);
    let process = ProcessSelector::Process(ProcessId::new(3));
    silent.scenario.faults.traitor = vec![Traitor { process, strategy: Strategy::Silent }];
    // Two timers begin a view change, which the third replica joins.
    let mut replaced = expiring("pbft", 4, 2);
    let process = ProcessSelector::Process(ProcessId::new(0));
    replaced.scenario.faults.traitor = vec![Traitor { process, strategy: Strategy::Silent }];
    (replaced.scenario.requesters, replaced.scenario.request) =
        (Requesters::default(), vec![asks_at_once(1)]);
    insta::assert_snapshot!(sound([
        ("pbft of four with a silent replica", silent),
        ("pbft of four with a silent primary", replaced),
        ("raft of two", expiring("raft", 2, 3)),
        ("raft of three", expiring("raft", 3, 1)),
        ("raft of three with a restart", restarted),
        ("multi-paxos of two", expiring("multi-paxos", 2, 3)),
        ("multi-paxos of three", expiring("multi-paxos", 3, 1)),
    ]));
}

/// Two processes in turn win four elections, as in figure 8 of the Raft paper. The entries at stake are the no-ops of the leaders.
#[test]
fn a_leader_that_counts_replicas_of_an_old_term_loses_a_committed_entry() {
    let mut figure_8 = expiring("raft-commits-old-terms", 3, 4);
    (figure_8.requests, figure_8.only) = (0, Some(Property::LeaderCompleteness));
    figure_8.expirable = Some(ProcessId::all(2).collect());
    let checked = explored(&figure_8);
    let broken = checked.report.properties.iter().find(|p| p.status == Status::Violated);
    assert_eq!(broken.map(|broken| broken.id), Some("leader-completeness"));
    assert_eq!(checked.steps.len(), 21, "{:?}", checked.steps);
}

/// A world in which processes make these claims, starting with process 0.
fn claiming<const N: usize>(algorithm: &str, claims: [&str; N]) -> CheckConfig {
    let mut config = config(algorithm, N);
    let own = |(process, claims)| format!("{process}={claims}").parse().expect("claims");
    config.scenario.claim_of = claims.into_iter().enumerate().map(own).collect();
    config
}

fn with_permits(algorithm: &str, n: usize, permits: u32) -> CheckConfig {
    let mut config = config(algorithm, n);
    config.scenario.capacity = Some(permits);
    config
}

#[test]
fn claims_are_served_in_every_state() {
    let twice = |config| CheckConfig { requests: 2, ..config };
    let unordered = |mut config: CheckConfig| {
        config.scenario.fifo = false;
        config
    };
    insta::assert_snapshot!(sound([
        ("raymond-k, two of three", with_permits("raymond-k", 3, 2)),
        ("raymond-k, two of two twice", twice(with_permits("raymond-k", 2, 2))),
        ("raymond-k, one of two twice", twice(with_permits("raymond-k", 2, 1))),
        ("quorum-k, two of three", with_permits("quorum-k", 3, 2)),
        ("quorum-k, one of three", with_permits("quorum-k", 3, 1)),
        ("quorum-k with a crash", crashing(with_permits("quorum-k", 2, 1), 1)),
        ("readers-writers", claiming("readers-writers", ["read", "write", "read"])),
        ("readers-writers twice", twice(claiming("readers-writers", ["read,write", "write,read"]))),
        ("group-mutex", claiming("group-mutex", ["group:1", "group:2", "group:1"])),
        ("dining-philosophers twice", twice(config("dining-philosophers", 3))),
        ("dining-philosophers, no order", unordered(config("dining-philosophers", 3))),
        (
            "drinking-philosophers",
            claiming("drinking-philosophers", ["with:1+2", "with:0", "with:0"])
        ),
        ("bakery", config("bakery", 2)),
        ("bakery twice", twice(config("bakery", 2))),
    ]));
}

#[test]
fn what_is_broken_has_a_shortest_counterexample_that_replays() {
    let worlds = [
        ("maekawa-original", config("maekawa-original", 3), "ME2"),
        ("ricart-agrawala-priority", config("ricart-agrawala-priority", 3), "ME1"),
        ("ricart-agrawala with a crash", crashing(config("ricart-agrawala", 2), 1), "ME2"),
        ("quorum-published over tree", over("quorum-published", 3, "tree"), "ME2"),
        ("dining-naive", config("dining-naive", 3), "no-starvation"),
    ];
    let twice = worlds
        .map(|(name, config, property)| (name, CheckConfig { requests: 2, ..config }, property));
    insta::assert_snapshot!(broken(twice));
}

fn asks_at_once(process: u32) -> ProcessAt {
    let process = ProcessSelector::Process(ProcessId::new(process));
    ProcessAt { process, at: When::At(Time::ZERO) }
}

#[test]
fn what_chance_hardly_finds_is_found() {
    let mut world = crashing(over("quorum-without-attempts", 4, "majority"), 2);
    world.scenario.requesters = Requesters::First(2);
    let short = tolerating(crashing(config("sync-consensus-short", 3), 1), 1);
    let mut dropping = crashing(over("quorum-published-dropping", 5, "tree"), 1);
    dropping.scenario.request = [2, 4].map(asks_at_once).into();
    insta::assert_snapshot!(broken([
        ("quorum-without-attempts", world, "ME1"),
        ("sync-consensus-short", short, "agreement"),
        ("quorum-published-dropping over tree", dropping, "ME2"),
    ]));
}

#[test]
fn a_world_that_is_far_too_large_is_refused_with_a_way_out() {
    let mut huge = CheckConfig { requests: 3, ..config("lamport", 7) };
    let refused = explore(&huge, |_| ControlFlow::Continue(())).expect_err("it is too large");
    let told = refused.to_string();
    assert!(told.contains("very roughly 10^") && told.contains("--depth"), "{told}");
    (huge.allow_partial, huge.bounds.depth) = (true, 3);
    assert_eq!(explored(&huge).report.verdict, "bounded");
}

/// A world in which the first `count` processes make requests.
fn some(algorithm: &str, n: usize, count: usize) -> CheckConfig {
    let mut config = config(algorithm, n);
    config.scenario.requesters = Requesters::First(count);
    config
}

/// The same world, in which these properties are checked as well.
fn watching(mut config: CheckConfig, properties: &[&str]) -> CheckConfig {
    config.scenario.watch = properties.iter().map(|id| (*id).to_owned()).collect();
    config
}

fn without_order(mut config: CheckConfig) -> CheckConfig {
    config.scenario.fifo = false;
    config
}

fn losing(mut config: CheckConfig) -> CheckConfig {
    config.budget.losses = 1;
    config
}

fn recovering(mut config: CheckConfig, crashes: u8) -> CheckConfig {
    (config.budget.crashes, config.budget.recoveries) = (crashes, crashes);
    config
}

/// The same world, in which these processes may crash and recover with their memory.
fn victims_recovering(config: CheckConfig, crashes: u8, victims: &[u32]) -> CheckConfig {
    let mut config = crashing(config, crashes);
    config.budget.recoveries = crashes;
    config.crashable = Some(victims.iter().copied().map(ProcessId::new).collect());
    config
}

fn suspecting(mut config: CheckConfig) -> CheckConfig {
    config.budget.suspicions = 1;
    config
}

fn twice(config: CheckConfig) -> CheckConfig {
    CheckConfig { requests: 2, ..config }
}

fn tolerating(mut config: CheckConfig, faults: usize) -> CheckConfig {
    config.scenario.tolerates = Some(faults);
    config
}

fn proposing(mut config: CheckConfig, values: &[u64]) -> CheckConfig {
    config.scenario.values = values.to_vec();
    config
}

#[test]
fn sound_elections_hold_in_every_state() {
    insta::assert_snapshot!(sound([
        ("announce-all", config("announce-all", 3)),
        ("announce-all with a crash", crashing(config("announce-all", 3), 1)),
        ("chang-roberts", config("chang-roberts", 3)),
        ("chang-roberts twice", twice(config("chang-roberts", 3))),
        ("list-ring", config("list-ring", 3)),
        ("list-ring with a crash", crashing(config("list-ring", 3), 1)),
        ("list-ring twice with a crash", crashing(twice(some("list-ring", 3, 2)), 1)),
        ("list-ring-direct with a crash", crashing(config("list-ring-direct", 3), 1)),
        ("list-ring-direct twice with a crash", crashing(twice(some("list-ring-direct", 3, 2)), 1),),
        ("hirschberg-sinclair", config("hirschberg-sinclair", 3)),
        ("detector-leader with crashes", crashing(config("detector-leader", 3), 2)),
    ]));
}

#[test]
fn sound_agreements_hold_in_every_state() {
    insta::assert_snapshot!(sound([
        ("two-phase-commit", config("two-phase-commit", 3)),
        ("two-phase-commit with a crash", crashing(config("two-phase-commit", 3), 1)),
        ("two-phase-commit with recoveries", recovering(config("two-phase-commit", 3), 2)),
        ("two-phase-commit against", proposing(config("two-phase-commit", 3), &[1, 0, 1])),
        ("sync-consensus with a crash", tolerating(crashing(config("sync-consensus", 3), 1), 1)),
        ("chandra-toueg", config("chandra-toueg", 3)),
        ("chandra-toueg without order", without_order(config("chandra-toueg", 3))),
        (
            "chandra-toueg with a crash and a wrong suspicion",
            suspecting(tolerating(crashing(config("chandra-toueg", 3), 1), 1)),
        ),
        ("consensus-from-total with a crash", crashing(config("consensus-from-total", 3), 1)),
    ]));
}

#[test]
fn paxos_and_commitments_hold_in_every_state() {
    let crashes = |crashes| crashing(config("three-phase-commit", 3), crashes);
    insta::assert_snapshot!(sound([
        ("paxos", config("paxos", 3)),
        ("paxos with a crash", crashing(config("paxos", 3), 1)),
        ("paxos without order, with a crash", without_order(crashing(config("paxos", 3), 1))),
        ("paxos with a crash and a wrong suspicion", suspecting(crashing(config("paxos", 3), 1)),),
        (
            "paxos with a crash and a recovery of p1",
            victims_recovering(config("paxos", 3), 1, &[1])
        ),
        ("three-phase-commit", crashes(0)),
        ("three-phase-commit with two crashes", crashes(2)),
        ("three-phase-commit without order, with two crashes", without_order(crashes(2))),
        ("three-phase-commit of four", crashing(config("three-phase-commit", 4), 2)),
        ("three-phase-commit against, with two crashes", proposing(crashes(2), &[1, 0, 1])),
        (
            "two-phase-commit with two crashes and recoveries",
            victims_recovering(config("two-phase-commit", 3), 2, &[0, 1, 2]),
        ),
    ]));
}

#[test]
fn ben_or_agrees_in_two_rounds_whatever_the_coins_show() {
    let mut lines = String::new();
    for seed in COINS {
        let mut config = proposing(crashing(config("ben-or", 3), 1), &[0, 1, 1]);
        config.scenario.seed = seed;
        let report = explored(&config).report;
        assert_eq!((report.verdict, report.outside.len()), ("holds", 0), "{report:?}");
        let status = |id| report.properties.iter().find(|it| it.id == id).map(|it| it.status);
        assert_eq!(status("agreement"), Some(Status::Holds));
        assert_eq!(status("termination"), Some(Status::NotChecked));
        lines += &format!("coins of seed {seed}: {} states\n", report.states);
    }
    insta::assert_snapshot!(lines);
}

#[test]
fn paxos_and_commitments_need_their_assumptions() {
    let ignores_promises = crashing(config("paxos-any-value", 3), 1);
    let two_crashes = crashing(config("paxos", 3), 2);
    // After one wrong suspicion, three processes still agree.
    let mut misled = config("three-phase-commit", 3);
    (misled.budget.suspicions, misled.only) = (2, Some(Property::Agreement));
    insta::assert_snapshot!(broken([
        ("paxos-any-value with a crash", ignores_promises, "agreement"),
        ("paxos with two crashes", two_crashes, "termination"),
        ("paxos with a loss", losing(config("paxos", 3)), "termination"),
        ("three-phase-commit misled", misled, "agreement"),
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
        ("total-sequencer with a crash", crashing(config("total-sequencer", 3), 1)),
        ("total-isis", config("total-isis", 3)),
        ("total-isis with a crash", crashing(some("total-isis", 3, 2), 1)),
        ("total-lamport with a crash", crashing(some("total-lamport", 3, 2), 1)),
        ("total-from-consensus with a crash", crashing(some("total-from-consensus", 3, 1), 1)),
        ("total-from-consensus", some("total-from-consensus", 3, 2)),
        ("vcube-multicast with a crash", crashing(config("vcube-multicast", 3), 1)),
    ]));
}

#[test]
fn sound_snapshots_hold_in_every_state() {
    insta::assert_snapshot!(sound([
        ("chandy-lamport of two, twice", twice(config("chandy-lamport", 2))),
        ("chandy-lamport", some("chandy-lamport", 3, 1)),
        ("lai-yang of two", config("lai-yang", 2)),
        ("lai-yang of two without order", without_order(some("lai-yang", 2, 1))),
        ("lai-yang without order", without_order(some("lai-yang", 3, 1))),
    ]));
}

#[test]
fn markers_need_ordered_links() {
    let unordered = || without_order(some("chandy-lamport-unordered", 2, 1));
    let only = |property| CheckConfig { only: Some(property), ..unordered() };
    insta::assert_snapshot!(broken([
        ("chandy-lamport-unordered, its cut", only(Property::ConsistentCut), "consistent-cut"),
        ("chandy-lamport-unordered, its channels", only(Property::ChannelState), "channel-state"),
        ("chandy-lamport with a loss", losing(some("chandy-lamport", 2, 1)), "channel-state"),
    ]));
}

/// The same world, in which users follow this script.
fn scripted(mut config: CheckConfig, script: &[&str]) -> CheckConfig {
    let script = script.iter().map(|own| own.parse().expect("a script"));
    config.scenario.script = script.collect();
    config
}

#[test]
fn sound_detections_hold_in_every_state() {
    let spread = ["0: start; send 1; send 2; rest", "1: send 2; rest; send 0", "2: send 1; rest"];
    let again = ["0: start; send 1; rest; start; send 1; rest", "1: send 0; rest"];
    let grants = ["0: wait 1; wait 2", "1: grant; wait 2,0", "2: wait 0; grant; wait 1"];
    let safe = |config| CheckConfig { only: Some(Property::NoFalseDetection), ..config };
    let sizes = sound([
        ("dijkstra-scholten twice", twice(config("dijkstra-scholten", 3))),
        (
            "dijkstra-scholten without order",
            without_order(scripted(config("dijkstra-scholten", 3), &spread)),
        ),
        ("dijkstra-scholten again", scripted(config("dijkstra-scholten", 2), &again)),
        ("safra twice", twice(config("safra", 3))),
        ("safra spread", scripted(config("safra", 3), &spread)),
        ("safra again", scripted(config("safra", 2), &again)),
        ("safra without order", safe(without_order(scripted(config("safra", 3), &spread)))),
        ("chandy-misra-haas-and", config("chandy-misra-haas-and", 3)),
        (
            "chandy-misra-haas-and with grants",
            scripted(config("chandy-misra-haas-and", 3), &grants),
        ),
        ("chandy-misra-haas-or", config("chandy-misra-haas-or", 3)),
    ]);
    assert_eq!(sizes.lines().count(), 10);
}

#[test]
fn detections_need_their_rules_and_assumptions() {
    let unordered = |name, n| without_order(config(name, n));
    let steps = broken([
        ("safra-uncoloured", config("safra-uncoloured", 3), "no-false-detection"),
        (
            "chandy-misra-haas-and without order",
            unordered("chandy-misra-haas-and", 3),
            "eventual-detection",
        ),
        (
            "chandy-misra-haas-or without order",
            unordered("chandy-misra-haas-or", 2),
            "no-false-detection",
        ),
    ]);
    assert_eq!(steps.lines().count(), 3);
}

/// The same world, in which a process lies.
fn lying(mut config: CheckConfig, traitor: &str) -> CheckConfig {
    config.scenario.faults.traitor.push(traitor.parse().expect("a process and a strategy"));
    config
}

#[test]
fn liars_are_borne_or_found_in_every_state() {
    insta::assert_snapshot!(
        sound([
            ("bracha", some("bracha", 4, 1)),
            ("bracha, the sender lies", lying(some("bracha", 4, 1), "0:liar")),
            ("bracha, the sender equivocates", lying(some("bracha", 4, 1), "0:equivocator")),
            ("bracha, the sender is two-faced", lying(some("bracha", 4, 1), "0:two-faced")),
            ("bracha, another equivocates", lying(some("bracha", 4, 1), "1:equivocator")),
            ("generals", tolerating(lying(config("byzantine-generals", 4), "0:equivocator"), 1)),
        ]),
        @r"
    bracha: 129768 states, 661969 steps, 28 deep
    bracha, the sender lies: 93292 states, 469882 steps, 28 deep
    bracha, the sender equivocates: 20220 states, 93157 steps, 28 deep
    bracha, the sender is two-faced: 30784 states, 147562 steps, 28 deep
    bracha, another equivocates: 97649 states, 489304 steps, 28 deep
    generals: 80 states, 213 steps, 18 deep
    "
    );
    insta::assert_snapshot!(
        broken([
            ("echoes alone", lying(some("bracha-echo-only", 4, 1), "0:equivocator"), "agreement"),
            (
                "obedient generals",
                tolerating(lying(config("byzantine-generals-obedient", 5), "0:equivocator"), 1),
                "agreement",
            ),
            (
                "two liars among four",
                lying(lying(some("bracha", 4, 1), "0:two-faced"), "1:two-faced"),
                "agreement",
            ),
        ]),
        @r"
    echoes alone: agreement after 16 steps
    obedient generals: agreement after 25 steps
    two liars among four: agreement after 18 steps
    "
    );
    let outside = explored(&lying(some("reliable", 3, 1), "0:silent")).report.outside;
    assert_eq!(outside, ["honesty"]);
    for (world, why) in [
        (lying(config("central", 3), "0:liar"), "only agreement, multicast and replication"),
        (lying(some("bracha", 4, 1), "0:random"), "draws no random numbers"),
        (lying(some("bracha", 4, 1), "?:liar"), "draws no random numbers"),
    ] {
        let refused = explore(&world, |_| ControlFlow::Continue(()));
        let told = refused.expect_err(why).to_string();
        assert!(told.contains(why), "{told}");
    }
}

#[test]
fn beyond_their_assumptions_the_other_families_break_and_replay() {
    insta::assert_snapshot!(broken([
        ("chang-roberts with a crash", crashing(some("chang-roberts", 3, 1), 1), "E2"),
        ("detector-leader misled", suspecting(config("detector-leader", 3)), "E1"),
        ("announce-all with a loss", losing(some("announce-all", 3, 1)), "E2"),
        ("two-phase-commit with a loss", losing(config("two-phase-commit", 3)), "termination"),
        (
            "chandra-toueg with two crashes",
            tolerating(crashing(config("chandra-toueg", 3), 2), 1),
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
        let refused = explore(&config(name, 3), |_| ControlFlow::Continue(()));
        let told = refused.expect_err(name).to_string();
        assert!(told.contains(why), "{name}: {told}");
    }
    let again = explore(&twice(config("chandra-toueg", 3)), |_| ControlFlow::Continue(()));
    assert!(again.expect_err("twice").to_string().contains("once"));
}

#[test]
fn timers_run_out_in_every_order_that_the_bound_allows() {
    let lost = |mut config: CheckConfig| {
        config.budget.losses = 1;
        config
    };
    insta::assert_snapshot!(sound([
        ("bully", config("bully", 3)),
        ("bully, 2 ask, 2 crash", crashing(some("bully", 3, 2), 2)),
        ("bully-all", config("bully-all", 3)),
        ("bully-all, 1 asks, 1 crashes", crashing(some("bully-all", 3, 1), 1)),
    ]));
    // A process that loses the only answer considers itself the greatest. The steps are listed in words only, because
    // instants are not times that can be replayed.
    let checked = explored(&lost(some("bully", 2, 1)));
    assert_eq!(checked.report.verdict, "violated");
    assert_eq!(checked.report.counterexample_steps, Some(checked.steps.len()));
    assert!(checked.scenario.is_none() && checked.steps.iter().any(|step| step.contains("timer")));
}

#[test]
fn threads_change_nothing() {
    let config = over("quorum", 3, "majority");
    let one = explored(&CheckConfig { threads: 1, ..config.clone() });
    let three = explored(&CheckConfig { threads: 3, ..config });
    assert_eq!(one.report, three.report);
}

#[test]
fn a_bound_is_told_as_a_bound() {
    let mut config = config("ricart-agrawala", 3);
    config.bounds.depth = 5;
    let report = explored(&config).report;
    assert_eq!((report.verdict, report.bounded_by, report.depth), ("bounded", Some("depth"), 5));
    assert!(report.properties.iter().all(|found| found.status == Status::NotChecked));
    config.bounds = Bounds { memory: 200_000, depth: u32::MAX };
    let report = explored(&config).report;
    assert_eq!((report.verdict, report.bounded_by), ("bounded", Some("memory")));
}

#[test]
fn a_world_in_which_nobody_enters_shows_nothing() {
    let report = explored(&CheckConfig { requests: 0, ..config("central", 2) }).report;
    assert_eq!(report.verdict, "violated");
    assert!(report.properties[0].detail.contains("no process ever enters"), "{report:?}");
}
