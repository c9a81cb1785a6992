//! `quorate bench --against`: its output files, and its report of servers that are not installed.

#![expect(clippy::print_stderr, reason = "what was not run is said")]

mod support;

use serde_json::Value;
use support::{Run, command, quorate};

const BRIEFLY: &str = "bench --seconds 1 --wire plain";

#[test]
fn what_is_missing_is_said_and_the_rest_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let all = "--against etcd,zookeeper,redis,redlock,madsim,simpy --work alone --json";
    let mut command = command(folder.path());
    command.args(BRIEFLY.split(' ').chain(all.split(' ')));
    command.env("PATH", "").env("ZOOKEEPER_HOME", "nowhere");
    let run = Run::of(command);
    assert_eq!(run.code, Some(0), "{run}");
    let value: Value = serde_json::from_str(&run.stdout).expect("JSON");
    assert!(value["results"][0]["cycles"].as_u64().is_some_and(|cycles| cycles > 0), "{run}");
    let peers = value["peers"].as_array().expect("an entry for each");
    assert_eq!(peers.len(), 8, "four services, on disk and in memory: {run}");
    for peer in peers {
        assert_eq!(peer["state"], "missing", "{peer}");
        assert!(peer["why"].as_str().is_some_and(|why| why.contains("not on the PATH")), "{peer}");
    }
    let engines = value["engines"]["absent"].as_array().expect("who did not take part");
    let missing: Vec<&str> = engines.iter().filter_map(|absent| absent["why"].as_str()).collect();
    assert_eq!(missing, ["cargo is not on the PATH", "python3 is not on the PATH"]);
    // Nothing was compared, so only the goal about quorate alone can be judged.
    assert_eq!(value["goals"].as_array().map(Vec::len), Some(1), "{run}");
}

#[test]
fn a_page_a_chart_and_the_data_are_written() {
    let folder = tempfile::tempdir().unwrap();
    let run =
        quorate(folder.path(), &format!("{BRIEFLY} --against redis --work alone --out report"));
    assert_eq!(run.code, Some(0), "{run}");
    if run.stdout.contains("missing: redis-server") {
        let required = std::env::var("QUORATE_PEERS").is_ok_and(|said| said == "required");
        assert!(!required, "redis-server is required");
        eprintln!("redis was not run: it is not installed");
    } else {
        for part in ["1 instance, fsync always", "1 instance, in memory", "how many times as good"]
        {
            assert!(run.stdout.contains(part), "{part}: {run}");
        }
    }
    assert!(run.stderr.contains("redis, 1 instance, in memory: starts\n"), "{run}");
    let read =
        |name: &str| std::fs::read_to_string(folder.path().join("report").join(name)).unwrap();
    let page = read("performance.md");
    assert!(
        page.contains("### What each promises") && page.contains("](performance.svg)"),
        "{page}"
    );
    assert!(read("performance.svg").starts_with("<svg"));
    let data: Value = serde_json::from_str(&read("performance.json")).expect("JSON");
    assert_eq!(data["peers"][0]["service"], "redis");
}

#[test]
fn what_cannot_be_done_is_refused_before_anything_is_measured() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("taken"), "").unwrap();
    for (arguments, part) in [
        ("--against etdc", "etcd"),
        ("--out report", "--against"),
        ("--against redis --out taken", "taken cannot be created"),
        ("--against redis --work many", "are for quorate only"),
    ] {
        let run = quorate(folder.path(), &format!("{BRIEFLY} {arguments}"));
        assert_eq!(run.code, Some(2), "{run}");
        assert!(run.stderr.contains(part) && run.stdout.is_empty(), "{run}");
        assert_eq!(run.stderr.trim_end().lines().count(), 1, "{run}");
    }
}
