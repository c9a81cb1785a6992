//! Other trace formats: what other programs need to open them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use serde_json::Value;
use tempfile::TempDir;

use crate::support::quorate;
use crate::{number, report};

const FLAGS: &str = "sim ricart-agrawala -n 4 --requesters all --seed 3 --loss 0.05 --duplication 0.2 \
                     --delay uniform:1ms..3ms --crash 3@4ms --recover 3@6ms:amnesia";

fn trace(flags: &str, name: &str) -> String {
    let folder = TempDir::new().expect("a temporary directory can be made");
    let run = quorate(folder.path(), &format!("{flags} --trace {name}"));
    assert!(matches!(run.code, Some(0 | 1)), "{run}");
    fs::read_to_string(folder.path().join(name)).expect("there is a trace")
}

#[test]
fn the_ending_of_its_name_decides_the_format_of_a_trace() {
    let starts = |name: &str| trace("sim central", name).chars().take(12).collect::<String>();
    assert_eq!(starts("a.jsonl"), "{\"event\":0,\"");
    assert_eq!(starts("a.json"), "{\"displayTim");
    assert_eq!(starts("a.shiviz"), "start at 0\np");
    assert_eq!(starts("a"), starts("a.jsonl"));
}

#[test]
fn the_format_can_be_said() {
    let folder = TempDir::new().expect("a temporary directory can be made");
    quorate(folder.path(), "sim central --trace a.json --trace-format jsonl");
    let trace = fs::read_to_string(folder.path().join("a.json")).expect("there is a trace");
    assert_eq!(trace, self::trace("sim central", "a.jsonl"));
}

/// Default parser expression of ShiViz: a line of text, then `host {clock}`.
#[test]
fn a_log_for_shiviz_has_clocks_that_grow() {
    let log = trace(FLAGS, "a.shiviz");
    let lines: Vec<&str> = log.lines().collect();
    let mut clocks: BTreeMap<String, BTreeMap<String, u64>> = BTreeMap::new();
    assert!(!lines.is_empty() && lines.len().is_multiple_of(2), "two lines for each event");
    for pair in lines.chunks(2) {
        assert!(!pair[0].is_empty(), "an event says what it is: {pair:?}");
        let (host, clock) = pair[1].split_once(' ').expect("a host and a clock");
        let clock: BTreeMap<String, u64> = serde_json::from_str(clock).expect("a clock is JSON");
        let before = clocks.entry(host.to_owned()).or_default();
        let own = before.get(host).copied().unwrap_or(0);
        assert_eq!(
            clock.get(host),
            Some(&(own + 1)),
            "the events of a host are numbered: {pair:?}"
        );
        let forgets = before.iter().any(|(other, count)| clock.get(other) < Some(count));
        assert!(!forgets, "a host forgets nothing: {pair:?}");
        *before = clock;
    }
    for (host, clock) in &clocks {
        let known = clock.iter().all(|(other, count)| clocks[other].get(other) >= Some(count));
        assert!(known, "{host} knows of events that did not happen");
    }
}

#[test]
fn a_trace_for_perfetto_is_whole_and_its_arrows_begin_somewhere() {
    let trace: Value = serde_json::from_str(&trace(FLAGS, "a.json")).expect("JSON");
    let events = trace["traceEvents"].as_array().expect("a list of events");
    let mut begun = BTreeSet::new();
    let (mut tracks, mut slices, mut arrows) = (0, 0, 0);
    for event in events {
        assert!(event["pid"].is_u64() && event["tid"].is_u64(), "{event}");
        let phase = event["ph"].as_str().expect("a phase");
        assert!(phase == "M" || event["ts"].is_number(), "{event}");
        match phase {
            "M" => tracks += 1,
            "X" => slices += 1,
            "s" => drop(begun.insert(number(&event["id"]))),
            "f" => {
                arrows += 1;
                assert!(begun.contains(&number(&event["id"])), "an arrow from nowhere: {event}");
            }
            other => panic!("an unknown phase {other}"),
        }
    }
    let folder = TempDir::new().expect("a temporary directory can be made");
    let (report, run) = report(folder.path(), FLAGS);
    assert_eq!((tracks, report["deliveries"].as_u64()), (4, Some(arrows)), "{run}");
    assert_eq!(slices, self::trace(FLAGS, "a.jsonl").lines().count(), "a slice for each record");
}

#[test]
fn every_message_that_is_lost_was_sent_first() {
    // A program that counts records by kind need not know where on its way a message was lost.
    let mut sent = BTreeSet::new();
    for line in trace(FLAGS, "a.jsonl").lines() {
        let record: Value = serde_json::from_str(line).expect("JSON");
        match record["type"].as_str() {
            Some("send") => drop(sent.insert(number(&record["message"]))),
            Some("lose") => assert!(sent.contains(&number(&record["message"])), "{record}"),
            _ => {}
        }
    }
}

#[test]
fn whoever_is_suspected_by_heartbeats_is_in_the_trace() {
    let flags = "sim central -n 4 --requesters all --crash 1@2.5ms --detector heartbeat";
    let trace = trace(flags, "a.jsonl");
    let suspected = trace.lines().any(|line| {
        let record: Value = serde_json::from_str(line).expect("JSON");
        record["type"] == "belief" && record["about"] == 1 && record["process"] == 0
    });
    assert!(suspected, "nothing says why the server grants again");
}
