//! Scenarios over real sockets: judged like simulations, and rejected where sockets cannot provide a feature.

mod support;

use std::collections::BTreeMap;
use std::path::Path;
use std::thread;

use serde_json::Value;
use support::{Run, quorate};
use tempfile::TempDir;

fn json(arguments: &str) -> Value {
    let run = quorate(Path::new("."), &format!("sim {arguments} --over tcp --json"));
    assert!(matches!(run.code, Some(0 | 1)), "{run}");
    serde_json::from_str(&run.stdout).unwrap_or_else(|error| panic!("{error}: {run}"))
}

/// A property may be violated by a specimen, or where the machine was too slow for an assumption of the algorithm.
fn judge(report: &Value, specimen: bool) {
    let broken = report["verdict"] == "violated";
    let assumptions = report["assumptions"].as_array().expect("a list");
    let outside = assumptions.iter().any(|assumption| assumption["met"] == false);
    assert!(!broken || specimen || outside, "{report:#}");
}

#[test]
fn every_algorithm_runs_on_sockets() {
    let list: Value =
        serde_json::from_str(&quorate(Path::new("."), "list --json").stdout).expect("JSON");
    let all: Vec<(String, bool)> = list
        .as_array()
        .expect("a list")
        .iter()
        .map(|one| (one["name"].as_str().expect("a name").to_owned(), one["specimen"] == true))
        .collect();
    assert!(all.len() >= 45);
    thread::scope(|scope| {
        for part in all.chunks(all.len().div_ceil(4)) {
            scope.spawn(move || {
                for (name, specimen) in part {
                    judge(&json(&format!("{name} -n 3 --requesters all")), *specimen);
                }
            });
        }
    });
}

#[test]
fn messages_are_counted_as_in_a_simulation() {
    let report = json("ricart-agrawala -n 5 --requesters all --repeat 2");
    assert_eq!(report["verdict"], "holds");
    assert_eq!(report["entries"], 10);
    assert_eq!(report["messages"]["by_kind"]["REQUEST"], 40);
    assert_eq!(report["messages"]["by_kind"]["REPLY"], 40);
    assert_eq!(report["cost"]["kept"], true);
}

#[test]
fn a_crash_is_a_kill_and_is_noticed() {
    let report = json("central -n 4 --requesters all --crash 2@0.5ms");
    judge(&report, false);
    // The killed process may have been inside before, or not.
    assert!(report["entries"].as_u64() >= Some(3), "{report:#}");
    assert_eq!(report["waiting"].as_array().map(Vec::len), Some(0), "{report:#}");
    let faults = report["faults"].as_array().expect("a list");
    assert!(faults.iter().any(|fault| fault["what"] == "p2 crashes"), "{report:#}");
}

#[test]
fn whoever_is_killed_in_a_multicast_has_sent_so_much_and_no_more() {
    let report = json("sync-consensus -n 4 --faults 1 --crash-mid 0@0:1");
    judge(&report, false);
    assert_eq!(report["messages"]["by_process"][0], 1);
    assert_eq!(report["verdict"], "holds");
}

#[test]
fn who_comes_back_has_lost_its_memory_and_its_user_asks_again() {
    let report = json("suzuki-kasami -n 3 --request 1@0 --crash 2@1ms --recover 2@3ms:amnesia");
    let faults = report["faults"].as_array().expect("a list");
    let back = |fault: &&Value| fault["what"] == "p2 comes back without memory";
    assert_eq!(faults.iter().filter(back).count(), 1, "{report:#}");
    judge(&report, false);
}

#[test]
fn detectors_of_their_own_notice_a_kill() {
    let report = json("heartbeat -n 3 --crash 1@10ms");
    judge(&report, false);
    let changes = report["detection"]["changes"].as_array().expect("a list");
    assert_eq!(changes[0]["noticed"], 2, "{report:#}");
}

#[test]
fn traitors_lie_over_sockets_too() {
    let report = json("byzantine-generals -n 4 --traitor 3:liar");
    assert_eq!(report["verdict"], "holds", "{report:#}");
}

/// Every effect follows its cause, and the picture is drawn from the same records.
#[test]
fn the_merged_trace_is_in_causal_order() {
    let folder = TempDir::new().expect("a temporary directory can be made");
    let flags = "-n 4 --requesters all --crash 3@1ms --over tcp --trace t.jsonl --diagram d.svg";
    let run = quorate(folder.path(), &format!("sim lamport {flags}"));
    assert!(matches!(run.code, Some(0 | 1)), "{run}");
    let text = std::fs::read_to_string(folder.path().join("t.jsonl")).expect("written");
    let mut sent = BTreeMap::new();
    let (mut last, mut delivered) = (0, 0);
    for line in text.lines() {
        let record: Value = serde_json::from_str(line).expect("JSON");
        let event = record["event"].as_u64().expect("a number");
        assert!(event >= last, "{line}");
        last = event;
        let message = record["message"].as_u64();
        match (record["type"].as_str(), message) {
            (Some("send"), Some(message)) => {
                sent.insert(message, record["time"].as_u64().expect("a time"));
            }
            (Some("deliver"), Some(message)) => {
                let departure = sent.remove(&message).unwrap_or_else(|| panic!("{line}"));
                assert!(departure <= record["time"].as_u64().expect("a time"), "{line}");
                delivered += 1;
            }
            _ => {}
        }
    }
    assert!(delivered > 10, "{text}");
    assert!(
        std::fs::read_to_string(folder.path().join("d.svg")).expect("drawn").starts_with("<svg")
    );
}

#[test]
fn what_sockets_cannot_give_is_refused_on_a_line() {
    let refused = |flags: &str| -> Run {
        let run = quorate(Path::new("."), &format!("sim central --over tcp {flags}"));
        assert_eq!(
            (run.code, run.stdout.as_str(), run.stderr.lines().count()),
            (Some(2), "", 1),
            "{run}"
        );
        run
    };
    let cases = [
        (
            "--delay uniform:1ms..3ms",
            "message delays are those of the real machine; leave out --delay",
        ),
        ("--link-delay 0-1=constant:2ms", "leave out --link-delay"),
        ("--timing asynchronous", "leave out --timing"),
        (
            "--fifo no",
            "sockets do not lose, duplicate, reorder or change messages; leave out --fifo",
        ),
        ("--loss 0.1", "leave out --loss"),
        ("--duplication 0.1", "leave out --duplication"),
        ("--partition 0,1|2,3@1ms..2ms", "leave out --partition"),
        ("--slow 1@1ms:2ms", "processes run at the speed of the machine; leave out --slow"),
        ("--clock 1@0:1.5", "all processes share the machine's clock; leave out --clock"),
        ("--clock-drift 100ppm", "leave out --clock-drift"),
        ("--crash 1@1ms --recover 1@2ms", "a killed process loses its memory"),
        ("--traitor 1:random", "choose another strategy for it"),
    ];
    for (flags, words) in cases {
        let run = refused(&format!("-n 4 {flags}"));
        assert!(run.stderr.contains(words), "{run}");
    }
    let run = refused("-n 65");
    assert!(run.stderr.contains("at most 64 processes are supported; use a smaller -n"), "{run}");
}

#[test]
fn a_file_runs_on_sockets_as_well() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../scenarios/mutex/ricart-agrawala-five.toml");
    let run = quorate(Path::new("."), &format!("replay {} --over tcp --json", file.display()));
    assert_eq!(run.code, Some(0), "{run}");
    let report: Value = serde_json::from_str(&run.stdout).expect("JSON");
    assert_eq!((&report["entries"], &report["messages"]["total"]), (&5.into(), &40.into()));
}
