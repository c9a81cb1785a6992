//! Field names, types, sums and exit codes of the JSON report.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::Value;
use tempfile::TempDir;

use crate::support::quorate;
use crate::{number, numbers, report, status};

/// Runs that cover all variations of the report.
const RUNS: [&str; 12] = [
    "sim ricart-agrawala -n 5 --requesters all --seed 7",
    "sim ricart-agrawala -n 5 --requesters all --seed 7 --crash 2@1ms",
    "sim ricart-agrawala -n 1",
    "sim ricart-agrawala -n 70 --requesters 3",
    "sim ricart-agrawala -n 4 --requesters all --duplication 0.5 --seed 2",
    "sim central -n 4 --requesters all --repeat 3 --think 2ms",
    "sim central -n 4 --requesters all --loss 0.2 --seed 5",
    "sim central -n 4 --requesters all --detector heartbeat --crash 1@2.5ms",
    "sim central -n 4 --requesters all --server 3 --watch ME3",
    "sim central -n 3 --requesters all --until 2ms",
    "sim central -n 3 --request 1@0 --request 2@0 --section 5ms --suspect 0-1@3ms..9ms",
    "sim central -n 3 --requesters all --crash 0@0",
];

fn here() -> &'static Path {
    Path::new(".")
}

#[track_caller]
fn fields(value: &Value) -> &serde_json::Map<String, Value> {
    value.as_object().unwrap_or_else(|| panic!("{value} is not an object"))
}

#[test]
fn a_report_has_the_fields_of_the_contract() {
    for command in RUNS {
        let (report, run) = report(here(), command);
        assert!(report["algorithm"].is_string(), "{run}");
        let n = number(&report["processes"]) as usize;
        number(&report["seed"]);
        let verdict = report["verdict"].as_str().expect("a word");
        assert!(["holds", "violated", "outside-assumptions"].contains(&verdict), "{run}");
        let ids: Vec<&Value> = report["properties"]
            .as_array()
            .expect("a list")
            .iter()
            .map(|property| {
                let status = property["status"].as_str().expect("a word");
                assert!(["holds", "violated", "not-checked"].contains(&status), "{run}");
                assert!(property["detail"].as_str().is_some_and(|text| !text.is_empty()), "{run}");
                &property["id"]
            })
            .collect();
        assert_eq!(ids[..3], ["ME1", "ME2", "ME3"], "{run}");
        assert!(ids[3..].iter().all(|id| **id == "clock-condition"), "{run}");
        number(&report["entries"]);
        number(&report["virtual_time"]);
        number(&report["events"]);
        let waiting = numbers(&report["waiting"]);
        assert!(waiting.is_sorted() && waiting.iter().all(|&id| id < n as u64), "{run}");
        let below = fields(&report["layers"]).values();
        for messages in below.chain([&report["messages"]]) {
            number(&messages["total"]);
            number(&messages["self"]);
            assert!(fields(&messages["by_kind"]).values().all(Value::is_u64), "{run}");
            assert_eq!(numbers(&messages["by_process"]).len(), n, "{run}");
        }
    }
}

#[test]
fn every_family_has_the_fields_of_the_contract_and_its_own() {
    let detector = "sim vcube-diagnosis -n 8 --crash 3@5ms";
    let (detected, run) = report(here(), detector);
    let change = &detected["detection"]["changes"][0];
    assert_eq!((&change["process"], &change["change"]), (&3.into(), &"crash".into()), "{run}");
    assert!(number(&change["last"]["rounds"]) <= 3, "{run}");
    assert_eq!(number(&change["noticed"]), 7, "{run}");
    assert!(number(&detected["detection"]["per_round_most"]) <= 24, "{run}");
    let multicast = "sim vcube-multicast -n 8 --to 1,2,5";
    let (delivered, run) = report(here(), multicast);
    assert_eq!(delivered["messages"]["by_kind"]["TREE"], 3, "{run}");
    assert_eq!(delivered["multicast"]["deliveries"], 3, "{run}");
    let families = [
        (detected, "detector", vec!["completeness", "accuracy", "eventual-accuracy"]),
        (
            delivered,
            "multicast",
            vec!["validity", "integrity", "agreement", "fifo-order", "causal-order", "total-order"],
        ),
    ];
    for (report, family, expected) in families {
        assert_eq!((&report["verdict"], &report["family"]), (&"holds".into(), &family.into()));
        let properties = report["properties"].as_array().expect("a list");
        let ids: Vec<&Value> = properties.iter().map(|property| &property["id"]).collect();
        assert_eq!(ids, expected);
        assert_eq!(number(&report["entries"]), 0);
        assert!(numbers(&report["waiting"]).is_empty());
        assert_eq!(numbers(&report["messages"]["by_process"]).len(), 8);
        number(&report["virtual_time"]);
        number(&report["events"]);
    }
}

#[test]
fn an_election_says_who_leads_and_how_many_bytes_it_took() {
    let (report, run) = report(here(), "sim list-ring -n 8 --request 2@2ms --crash 7@0");
    assert_eq!((&report["verdict"], &report["family"]), (&"holds".into(), &"election".into()));
    let election = &report["election"];
    assert_eq!((&election["leader"], &election["identifier"]), (&6.into(), &6.into()), "{run}");
    assert_eq!(election["camps"].as_array().map(Vec::len), Some(1), "{run}");
    assert_eq!(numbers(&election["camps"][0]["followers"]), [0, 1, 2, 3, 4, 5, 6]);
    assert_eq!((number(&election["begun"]), number(&election["decisions"])), (1, 7), "{run}");
    assert_eq!(number(&report["messages"]["total"]), 14, "{run}");
    // Seven lists of one to seven identifiers, and seven announcements.
    assert_eq!(number(&report["messages"]["bytes"]), 8 * 7 * 8 + 58 * 7, "{run}");
}

#[test]
fn a_report_is_one_line_that_ends_and_nothing_is_on_stderr() {
    for command in RUNS {
        let (_, run) = report(here(), command);
        assert_eq!(run.stdout.matches('\n').count(), 1, "{run}");
        assert!(run.stdout.ends_with("}\n") && run.stderr.is_empty(), "{run}");
    }
}

#[test]
fn messages_by_kind_and_by_process_add_up_to_all_of_them() {
    for command in RUNS {
        for flags in [
            "",
            "--self-messages exclude",
            "--count multicast",
            "--self-messages exclude --count multicast",
        ] {
            let (report, run) = report(here(), &format!("{command} {flags}"));
            let below = fields(&report["layers"]).values();
            for messages in below.chain([&report["messages"]]) {
                let total = number(&messages["total"]);
                let by_kind: u64 = fields(&messages["by_kind"]).values().map(number).sum();
                assert_eq!(by_kind, total, "{run}");
                assert_eq!(numbers(&messages["by_process"]).iter().sum::<u64>(), total, "{run}");
            }
        }
    }
}

#[test]
fn messages_to_oneself_are_counted_apart_and_left_out_on_request() {
    let (with, run) = report(here(), "sim central -n 4 --requesters all");
    // The server, process 0, sends its own request, grant and release to itself.
    assert_eq!(with["messages"]["total"], 12, "{run}");
    assert_eq!(with["messages"]["self"], 3, "{run}");
    assert_eq!(numbers(&with["messages"]["by_process"]), [6, 2, 2, 2], "{run}");
    let (without, run) =
        report(here(), "sim central -n 4 --requesters all --self-messages exclude");
    assert_eq!(without["messages"]["total"], 9, "{run}");
    assert_eq!(without["messages"]["self"], 3, "{run}");
    assert_eq!(numbers(&without["messages"]["by_process"]), [3, 2, 2, 2], "{run}");
    let (nobody, run) = report(here(), "sim ricart-agrawala -n 4 --requesters all");
    assert_eq!(nobody["messages"]["self"], 0, "{run}");
}

#[test]
fn a_multicast_counts_as_one_message_on_request() {
    // A request to three others and three replies; with multicast, four messages instead of six.
    let (each, run) = report(here(), "sim ricart-agrawala -n 4");
    assert_eq!(each["messages"]["total"], 6, "{run}");
    let (once, run) = report(here(), "sim ricart-agrawala -n 4 --count multicast");
    assert_eq!(once["messages"]["total"], 4, "{run}");
    assert_eq!(once["messages"]["by_kind"]["REQUEST"], 1, "{run}");
    assert_eq!(numbers(&once["messages"]["by_process"]), [1, 1, 1, 1], "{run}");
    // The voter of process 0 is a receiver too, and its copy is part of the multicast.
    let all = "sim maekawa -n 3 --count multicast";
    let (with, run) = report(here(), all);
    let (without, _) = report(here(), &format!("{all} --self-messages exclude"));
    assert_eq!(with["messages"]["by_kind"]["REQUEST"], 1, "{run}");
    assert_eq!(without["messages"]["by_kind"]["REQUEST"], 1, "{run}");
}

#[test]
fn the_layers_below_are_counted_apart() {
    let (bare, _) = report(here(), "sim central -n 4 --requesters all --crash 1@2.5ms");
    let (layered, run) =
        report(here(), "sim central -n 4 --requesters all --crash 1@2.5ms --detector heartbeat");
    assert_eq!(bare["layers"], serde_json::json!({}));
    assert_eq!(layered["messages"]["by_kind"], bare["messages"]["by_kind"], "{run}");
    let detector = &layered["layers"]["detector"];
    let kinds: Vec<&String> = fields(&detector["by_kind"]).keys().collect();
    assert_eq!(kinds, ["ALIVE"], "{run}");
    // Every process sends a heartbeat to each other process at the start.
    assert!(numbers(&detector["by_process"]).iter().all(|&sent| sent >= 3), "{run}");
}

#[test]
fn the_promise_of_ricart_and_agrawala_is_in_the_numbers() {
    for n in [2, 3, 5, 8, 13] {
        let line = format!("sim ricart-agrawala -n {n} --requesters all --repeat 2");
        let (report, run) = report(here(), &line);
        assert_eq!(report["entries"], 2 * n, "{run}");
        assert_eq!(number(&report["messages"]["total"]), 2 * n * 2 * (n - 1), "{run}");
        assert_eq!(report["messages"]["by_kind"]["REPLY"], 2 * n * (n - 1), "{run}");
        assert_eq!(report["cost"]["kept"], true, "{run}");
    }
}

#[test]
fn a_promise_is_not_called_broken_because_the_run_was_stopped() {
    // The only requester is inside at the end and had no time to leave.
    let (report, run) = report(here(), "sim central -n 3 --until 500us");
    assert_eq!(report["ending"], "until", "{run}");
    assert_ne!(report["cost"]["kept"], false, "{run}");
}

#[test]
fn the_order_of_entries_is_kept_for_the_first_ten_thousand() {
    let (report, run) = report(here(), "sim central -n 2 --requesters all --repeat 4500");
    assert_eq!(report["entries"], 9_000, "{}", run.stderr);
    assert_eq!(numbers(&report["order"]).len(), 9_000);
}

#[test]
fn the_exit_code_says_what_became_of_the_properties() {
    for command in RUNS {
        let (report, run) = report(here(), command);
        let violated = ["ME1", "ME2", "ME3"].iter().any(|id| status(&report, id) == "violated");
        assert_eq!(run.code, Some(i32::from(violated)), "{run}");
        assert_eq!(report["verdict"] == "violated", violated, "{run}");
        let plain = quorate(here(), command);
        assert_eq!(plain.code, run.code, "{plain}");
    }
}

#[test]
fn each_verdict_has_its_exit_code() {
    let cases = [
        ("sim central -n 3 --requesters all", "holds", 0),
        ("sim central -n 3 --requesters all --crash 1@2.5ms", "holds", 0),
        ("sim central -n 3 --requesters all --crash 0@9ms", "outside-assumptions", 0),
        ("sim central -n 3 --requesters all --crash 0@0", "violated", 1),
        ("sim ricart-agrawala -n 3 --requesters all --duplication 1", "outside-assumptions", 0),
        ("sim ricart-agrawala -n 3 --requesters all --loss 1", "violated", 1),
    ];
    for (command, verdict, code) in cases {
        let (report, run) = report(here(), command);
        assert_eq!((report["verdict"].as_str(), run.code), (Some(verdict), Some(code)), "{run}");
    }
}

#[test]
fn a_fault_that_never_happens_breaks_no_assumption() {
    for flags in
        ["--crash 0@1s", "--loss 0.000000001", "--lose 1-2@0", "--recover 1@2s --crash 1@1s"]
    {
        let line = format!("sim central -n 3 --requesters all --until 500ms {flags}");
        let (report, run) = report(here(), &line);
        assert_eq!(report["verdict"], "holds", "{run}");
    }
}

#[test]
fn a_replay_with_expectations_succeeds_exactly_if_they_are_met() {
    let folder = TempDir::new().expect("a temporary directory can be made");
    let head = "algorithm = \"central\"\nprocesses = 3\nrequesters = \"all\"\n";
    let violated = format!("{head}[faults]\ncrash = [\"0@0\"]\n");
    let cases = [
        (format!("{head}[expect]\nverdict = \"holds\"\n"), 0, 0),
        (format!("{head}[expect]\nverdict = \"violated\"\n"), 0, 1),
        (format!("{head}[expect]\nmessages = 10\n"), 0, 1),
        (format!("{violated}[expect]\nverdict = \"violated\"\n"), 1, 0),
        (format!("{violated}[expect]\nverdict = \"holds\"\n"), 1, 1),
        (format!("{violated}[expect]\nproperties = {{ ME2 = \"violated\" }}\n"), 1, 0),
        (head.to_owned(), 0, 2),
    ];
    for (text, plain, with_expect) in cases {
        fs::write(folder.path().join("a.toml"), &text).expect("a temporary file can be written");
        for json in ["", " --json"] {
            let run = quorate(folder.path(), &format!("replay a.toml{json}"));
            assert_eq!(run.code, Some(plain), "{text}\n{run}");
            let run = quorate(folder.path(), &format!("replay a.toml --expect{json}"));
            assert_eq!(run.code, Some(with_expect), "{text}\n{run}");
        }
    }
}

#[test]
fn every_way_in_which_expectations_are_not_met_is_told() {
    let folder = TempDir::new().expect("a temporary directory can be made");
    let text = "algorithm = \"central\"\nprocesses = 3\nrequesters = \"all\"\n[expect]\n\
                verdict = \"violated\"\nentries = 2\norder = [2, 1, 0]\nmessages = 8\nwaiting = [1]\n\
                broken-assumptions = [\"no-loss\"]\nproperties = { ME1 = \"violated\" }\n\
                by-kind = { GRANT = 2 }\n";
    fs::write(folder.path().join("a.toml"), text).expect("a temporary file can be written");
    let run = quorate(folder.path(), "replay a.toml --expect");
    assert_eq!(run.code, Some(1), "{run}");
    assert_eq!(run.stderr.matches("expected").count(), 8, "{run}");
}

#[test]
fn a_replay_reports_the_same_as_the_flags_it_was_saved_from() {
    let folder = TempDir::new().expect("a temporary directory can be made");
    for command in RUNS {
        let (flags, _) = report(folder.path(), &format!("{command} --save a.toml"));
        let (file, run) = report(folder.path(), "replay a.toml");
        assert_eq!(file, flags, "{run}");
    }
}

#[test]
fn what_a_person_reads_and_what_a_program_reads_agree() {
    for command in RUNS {
        let (report, _) = report(here(), command);
        let run = quorate(here(), command);
        let entries =
            format!("  entries   {} of {} requests", report["entries"], report["requests"]);
        assert!(run.stdout.contains(&entries), "{entries}\n{run}");
        let messages = format!("  messages  {} (", report["messages"]["total"]);
        assert!(run.stdout.contains(&messages), "{messages}\n{run}");
        for (kind, count) in fields(&report["messages"]["by_kind"]) {
            assert!(run.stdout.contains(&format!("{count} {kind}")), "{kind}\n{run}");
        }
        for property in report["properties"].as_array().expect("a list") {
            let marks = BTreeMap::from([("holds", "✓"), ("violated", "✗"), ("not-checked", "-")]);
            let mark = marks[property["status"].as_str().expect("a word")];
            let (id, detail) = (&property["id"], &property["detail"]);
            let (id, detail) = (id.as_str().unwrap(), detail.as_str().unwrap());
            let told = |line: &str| {
                let line = line.strip_prefix(&format!("  {mark} {id}"));
                line.is_some_and(|rest| rest.trim_start() == detail)
            };
            assert!(run.stdout.lines().any(told), "{mark} {id} {detail}\n{run}");
        }
        let verdict = run.stdout.lines().find_map(|line| line.strip_prefix("verdict: "));
        let expected = match report["verdict"].as_str() {
            Some("outside-assumptions") => "outside the assumptions",
            other => other.expect("a word"),
        };
        assert!(verdict.is_some_and(|verdict| verdict.starts_with(expected)), "{run}");
    }
}

#[test]
fn the_list_has_the_fields_of_the_contract() {
    let run = quorate(here(), "list --json");
    let list: Value = serde_json::from_str(&run.stdout).expect("JSON");
    let list = list.as_array().expect("a list");
    assert_eq!(run.code, Some(0), "{run}");
    assert!(list.len() >= 2, "{run}");
    let text = quorate(here(), "list").stdout;
    for algorithm in list {
        for field in ["name", "family", "cost"] {
            let value = algorithm[field].as_str().expect("text");
            assert!(text.contains(value), "{value} is not in\n{text}");
        }
        let specimen = algorithm["specimen"].as_bool().expect("yes or no");
        assert_eq!(algorithm["breaks"].is_string(), specimen, "{algorithm}");
        assert!(specimen || algorithm["breaks"].is_null(), "{algorithm}");
        for field in ["assumes", "guarantees"] {
            let names = algorithm[field].as_array().expect("a list");
            assert!(specimen || !names.is_empty(), "{algorithm}");
            assert!(names.iter().all(Value::is_string), "{algorithm}");
        }
    }
}

#[test]
fn every_algorithm_in_the_list_can_be_run() {
    let list: Value = serde_json::from_str(&quorate(here(), "list --json").stdout).expect("JSON");
    for algorithm in list.as_array().expect("a list") {
        let name = algorithm["name"].as_str().expect("text");
        let (report, run) = report(here(), &format!("sim {name} -n 4 --requesters all"));
        assert_eq!(report["algorithm"], name, "{run}");
        let assumed: Vec<&Value> =
            report["assumptions"].as_array().expect("a list").iter().map(|a| &a["id"]).collect();
        let listed: Vec<&Value> = algorithm["assumes"].as_array().expect("a list").iter().collect();
        assert_eq!(assumed, listed, "{run}");
    }
}
