//! Replicated logs in a storm of random faults with fixed seeds: crashes, recoveries, partitions and losses that bring leaders
//! down, and processes that lie where the algorithm tolerates it.

use std::collections::BTreeMap;

use quorate_core::{ProcessId, Time};
use quorate_lab::campaign::CampaignRequest;
use quorate_sim::fault::ProcessAt;
use quorate_sim::notation::{ProcessSelector, When};
use quorate_sim::{Conditions, Scenario};

/// Checks that no property is violated in these runs, and that faults happen.
fn holds(algorithm: &str, runs: u64) {
    let request = CampaignRequest { processes: [2, 7], ..CampaignRequest::new(algorithm, runs) };
    let report = request.run(2).expect("it runs");
    assert_eq!(report.violations, [], "{algorithm}");
    assert_eq!((report.hangs, report.outside_assumptions), (0, 0), "{algorithm}");
    assert!(report.crashes + report.traitors > runs / 4, "{algorithm}: {} crashes", report.crashes);
}

#[test]
fn raft_survives_storms() {
    holds("raft", 200);
}

#[test]
fn multi_paxos_survives_storms() {
    holds("multi-paxos", 200);
}

#[test]
fn pbft_survives_liars() {
    holds("pbft", 200);
}

#[test]
fn figure_8_is_found_by_chance() {
    // About two of a thousand runs lose a committed entry. This is one of them.
    let name = "raft-commits-old-terms";
    let request = CampaignRequest { seed: 495, ..CampaignRequest::new(name, 10) };
    let report = request.run(2).expect("it runs");
    let broken: Vec<&str> = report.violations.iter().map(|it| it.property.as_str()).collect();
    assert!(broken.contains(&"leader-completeness"), "{broken:?}");
    assert_eq!(report.outside_assumptions, 0);
}

/// Messages of each kind in a run in which these processes get a command at these times, in microseconds. Also the first leader and
/// the time of its election.
fn messages(
    algorithm: &str,
    n: usize,
    commands: &[(u32, u64)],
) -> (BTreeMap<String, i64>, (u32, u64)) {
    let request = commands.iter().map(|(process, micros)| ProcessAt {
        process: ProcessSelector::Process(ProcessId::new(*process)),
        at: When::At(Time(micros * 1_000)),
    });
    let scenario = Scenario { request: request.collect(), ..Scenario::new(algorithm, n) };
    let report = quorate_lab::run(&scenario, Conditions::default(), None).expect("it runs").report;
    let report = serde_json::to_value(&report).expect("a report is JSON");
    let number = |value: &serde_json::Value| value.as_u64().expect("a number");
    let kinds = report["messages"]["by_kind"].as_object().expect("numbers by kind");
    let kinds = kinds.iter().map(|(kind, count)| (kind.clone(), number(count) as i64)).collect();
    let first = &report["replication"]["leaders"][0];
    let elected = first.is_object().then(|| (number(&first["leader"]), number(&first["time"])));
    let (leader, time) = elected.unwrap_or_default();
    (kinds, (leader as u32, time / 1_000))
}

/// The messages that one more command costs: a run with it, less a run without it that ends with the same later command.
/// Heartbeats and elections are in both. The command comes `after` microseconds after the tenth millisecond of a leader.
fn cost_of_a_command(
    algorithm: &str,
    n: usize,
    at_leader: bool,
    after: u64,
) -> BTreeMap<String, i64> {
    let last = |leader| (leader, 60_000);
    let (_, (leader, elected)) = messages(algorithm, n, &[last(0)]);
    let process = if at_leader { leader } else { (leader + 1) % n as u32 };
    let command = (process, elected + 12_000 + after);
    let (mut with, _) = messages(algorithm, n, &[command, last(leader)]);
    let (without, _) = messages(algorithm, n, &[last(leader)]);
    for (kind, count) in without {
        *with.entry(kind).or_default() -= count;
    }
    with.retain(|_, count| *count != 0);
    with
}

fn kinds<const N: usize>(counts: [(&str, i64); N]) -> BTreeMap<String, i64> {
    counts.map(|(kind, count)| (kind.to_owned(), count)).into()
}

#[test]
fn a_command_costs_what_the_formulas_say() {
    for n in [3, 5, 7] {
        let others = n as i64 - 1;
        // The leader of Raft sends an entry once. A heartbeat while it is under way takes no notice.
        let raft = |at_leader, after| cost_of_a_command("raft", n, at_leader, after);
        let append = [("APPEND-ENTRIES", others), ("APPEND-REPLY", others)];
        for after in [0, 500, 1_000, 1_500, 2_000, 2_500] {
            assert_eq!(raft(true, after), kinds(append), "{n} {after}");
        }
        // Between two heartbeats, a command is forwarded once. One that meets a heartbeat is forwarded again.
        let [entries, replies] = append;
        assert_eq!(raft(false, 1_500), kinds([entries, replies, ("FORWARD", 1)]), "{n}");
        assert_eq!(raft(false, 2_000), kinds([entries, replies, ("FORWARD", 2)]), "{n}");
        // The leader of Multi-Paxos repeats what is not decided with each heartbeat.
        let paxos = |at_leader, after| cost_of_a_command("multi-paxos", n, at_leader, after);
        let decided = [("ACCEPT", others), ("ACCEPTED", others), ("DECIDED", others)];
        assert_eq!(paxos(true, 500), kinds(decided), "{n}");
        let repeated = [("ACCEPT", 2 * others), ("ACCEPTED", 2 * others), ("DECIDED", others)];
        assert_eq!(paxos(true, 1_500), kinds(repeated), "{n}");
        // A heartbeat arrives in each three milliseconds, which a command of another process takes.
        let [accept, accepted, news] = decided;
        assert_eq!(paxos(false, 2_000), kinds([accept, accepted, news, ("FORWARD", 2)]), "{n}");
    }
    for n in [4, 5, 7] {
        let others = n as i64 - 1;
        let (one, _) = messages("pbft", n, &[(1, 0)]);
        let (two, _) = messages("pbft", n, &[(1, 0), (0, 20_000)]);
        let phases = kinds([
            ("REQUEST", others),
            ("PRE-PREPARE", others),
            ("PREPARE", others * others),
            ("COMMIT", n as i64 * others),
            ("REPLY", n as i64 * others),
            ("VIEW-CHANGE", 0),
            ("NEW-VIEW", 0),
        ]);
        assert_eq!(one, phases, "{n}");
        assert_eq!(two.values().sum::<i64>(), 2 * others * (3 * n as i64 + 1), "{n}");
    }
}
