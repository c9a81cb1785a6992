//! `leased-quorum`, with fixed voters and with voters that change: exhaustive exploration of small worlds, the cost of an entry,
//! and short storms with fixed seeds.

use std::ops::ControlFlow;

use quorate_check::{Bounds, Budget};
use quorate_core::ProcessId;
use quorate_lab::campaign::CampaignRequest;
use quorate_lab::exhaustive::{CheckConfig, explore};
use quorate_lab::run;
use quorate_sim::report::{Report, Verdict};
use quorate_sim::scenario::Requesters;
use quorate_sim::{Conditions, Scenario, parse};

fn report(toml: &str) -> Report {
    let toml = format!("algorithm = \"leased-quorum\"\n{toml}");
    let scenario = parse(&toml, "leased.toml").unwrap_or_else(|error| panic!("{error}\n{toml}"));
    run(&scenario, Conditions::default(), None).expect("it runs").report
}

/// An entry needs the votes of two of three voters: K = 2.
#[test]
fn an_entry_costs_what_the_header_says() {
    let first = report("processes = 5");
    assert_eq!(first.messages.total, 3 * 2, "the request that opens a session costs no more");
    assert_eq!(first.delays.client.max, 2_000_000);
    let twice = report("processes = 5\nrepeat = 2\nthink = \"5ms\"");
    assert_eq!(twice.messages.total - first.messages.total, 3 * 2);
    let pair = report("processes = 5\nrequest = [\"0@0\", \"1@2500us\"]");
    assert_eq!(pair.delays.synchronisation.max, 2_000_000);
}

#[test]
fn who_is_expelled_asks_again_and_stays_for_a_whole_section() {
    let expelled = report(
        "processes = 5\nsection-of = [\"0=300ms,10ms\"]\n[faults]\npartition = [\"0|1,2,3,4@5ms..100ms\"]",
    );
    assert_eq!((expelled.verdict, expelled.requests, expelled.entries), (Verdict::Holds, 2, 2));
    // The plan to leave at 302ms was cancelled with the first stay.
    assert!(expelled.virtual_time < 200_000_000, "{}", expelled.virtual_time);
}

#[test]
fn without_a_quorum_nobody_enters_and_the_assumption_is_named() {
    let gone = report("processes = 5\n[faults]\ncrash = [\"3@0\", \"4@0\"]");
    assert_eq!(gone.verdict, Verdict::Violated, "{:?}", gone.properties);
    let broken: Vec<&str> = gone.assumptions.iter().filter(|it| !it.met).map(|it| it.id).collect();
    assert_eq!((gone.entries, broken), (0, vec!["quorum-up"]));
}

/// Losses, duplicates, reordering, cuts, restarts of all processes and clocks that drift by up to a hundredth.
#[test]
fn a_storm_finds_nothing() {
    let report = CampaignRequest::new("leased-quorum", 600).run(2).expect("it runs");
    assert_eq!(report.violations, []);
    assert_eq!((report.hangs, report.undecided, report.outside_assumptions), (0, 0, 0));
    assert!(report.crashes > 1_000, "{}", report.crashes);
}

/// The same with changes of all voters or of some, several of them proposed at the same time, and with stays that are longer than
/// a change.
#[test]
fn a_storm_of_changes_finds_nothing() {
    let request = CampaignRequest { processes: [2, 9], ..CampaignRequest::new(CHANGING, 200) };
    let report = request.run(2).expect("it runs");
    assert_eq!(report.violations, []);
    assert_eq!((report.hangs, report.undecided, report.outside_assumptions), (0, 0, 0));
    let fencing = report.properties.iter().find(|property| property.id == "fencing");
    assert_eq!(fencing.map(|fencing| fencing.holds), Some(200));
    assert!(report.crashes > 50, "{}", report.crashes);
}

const CHANGING: &str = "leased-quorum-changing";

fn config(n: usize, requesters: usize, budget: Budget) -> CheckConfig {
    config_of("leased-quorum", n, requesters, budget)
}

fn config_of(name: &str, n: usize, requesters: usize, budget: Budget) -> CheckConfig {
    let requesters = Requesters::First(requesters);
    let scenario = Scenario { requesters, ..Scenario::new(name, n) };
    let bounds = Bounds { memory: 4 << 30, depth: u32::MAX };
    CheckConfig { budget, allow_partial: true, threads: 2, ..CheckConfig::new(scenario, bounds) }
}

const RESTART: Budget = Budget { crashes: 1, recoveries: 1, losses: 0, suspicions: 0, timeouts: 0 };

/// Three voters, of which the first ones make requests and the last one restarts.
fn restart_of_the_last(requesters: usize) -> CheckConfig {
    let crashable = [ProcessId::new(2)].into_iter().collect();
    CheckConfig { crashable: Some(crashable), ..config(3, requesters, RESTART) }
}

/// Every order of events, with messages that take up to one instant and leases of three instants.
#[test]
fn small_worlds_hold_in_every_state() {
    let lines = in_full([
        ("two voters, one asks", config(2, 1, Budget::default())),
        ("two voters, one asks, a restart", config(2, 1, RESTART)),
        ("three voters, two of them ask", config(3, 2, Budget::default())),
        ("three voters, one asks, another restarts", restart_of_the_last(1)),
        ("three voters, one of two clients asks", config(5, 1, Budget::default())),
    ]);
    insta::assert_snapshot!(lines);
}

/// The only voter requests the lock, and is replaced by another meanwhile.
#[test]
fn a_small_world_with_a_change_holds_in_every_state() {
    let lines = in_full([("the voter asks", config_of(CHANGING, 2, 1, Budget::default()))]);
    insta::assert_snapshot!(lines);
}

/// Two processes replace each other as the only voter while both request the lock.
#[test]
#[ignore = "a minute, optimised, and some gigabytes: `cargo xtask verify worlds`"]
fn two_clients_and_two_changes_hold_in_every_state() {
    let lost = Budget { losses: 1, ..Budget::default() };
    let lines = in_full([
        ("the voter asks, a lost message", config_of(CHANGING, 2, 1, lost)),
        ("both ask", config_of(CHANGING, 2, 2, Budget::default())),
    ]);
    insta::assert_snapshot!(lines);
}

/// The largest world that is explored exhaustively.
#[test]
#[ignore = "half a minute, optimised, and some gigabytes: `cargo xtask verify worlds`"]
fn two_clients_and_a_restart_hold_in_every_state() {
    let name = "three voters, two of them ask, the third restarts";
    let lines = in_full([(name, restart_of_the_last(2))]);
    insta::assert_snapshot!(lines);
}

fn in_full(worlds: impl IntoIterator<Item = (&'static str, CheckConfig)>) -> String {
    let mut lines = String::new();
    for (name, config) in worlds {
        let report = explore(&config, |_| ControlFlow::Continue(())).expect("explored").report;
        assert_eq!(report.verdict, "holds", "{name}: {report:?}");
        let (states, steps, depth) = (report.states, report.steps, report.depth);
        lines += &format!("{name}: {states} states, {steps} steps, {depth} deep\n");
    }
    lines
}
