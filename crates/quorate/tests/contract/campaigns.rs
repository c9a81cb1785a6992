//! The JSON of `campaign`, and what it keeps.

use std::path::Path;

use serde_json::Value;
use tempfile::TempDir;

use crate::number;
use crate::support::{Run, quorate};

fn report(arguments: &str) -> (Value, Run) {
    crate::report(Path::new("."), &format!("campaign {arguments}"))
}

#[test]
fn reports_have_the_promised_fields_with_the_promised_types() {
    for (arguments, code) in [
        ("ricart-agrawala --seeds 20", 0),
        ("central -n 4..6 --crashes 1..2 --seeds 20 --seed 7", 0),
        ("maekawa-original --seeds 20", 1),
        ("raymond --watch ME3 --seeds 50", 1),
    ] {
        let (report, run) = report(arguments);
        assert_eq!(run.code, Some(code), "{run}");
        assert_eq!(report["algorithm"], arguments.split(' ').next().unwrap_or(""), "{run}");
        for count in ["runs", "hangs", "no_quorum", "entries", "events"] {
            number(&report[count]);
        }
        let violations = report["violations"].as_array().expect("a list");
        assert_eq!(violations.is_empty(), code == 0, "{run}");
        for violation in violations {
            assert!(violation["property"].is_string() && violation["scenario"].is_null(), "{run}");
            number(&violation["seed"]);
        }
        assert!(run.stderr.ends_with(" runs/s\n"), "{run}");
    }
}

#[test]
fn a_seed_is_the_same_run_alone_and_in_company_whatever_the_threads() {
    let (all, _) = report("maekawa-original --seeds 60 --threads 1");
    let (same, _) = report("maekawa-original --seeds 60 --threads 4");
    assert_eq!(all, same);
    let violation = &all["violations"][3];
    let seed = number(&violation["seed"]);
    let (alone, run) = report(&format!("maekawa-original --seeds 1 --seed {seed}"));
    assert_eq!(&alone["violations"][0], violation, "{run}");
}

#[test]
fn what_is_kept_replays() {
    let folder = TempDir::new().expect("a temporary directory can be made");
    let flags = "campaign maekawa-original --seeds 200 --keep found --json";
    let run = quorate(folder.path(), flags);
    let report: Value = serde_json::from_str(&run.stdout).expect("JSON");
    let violations = report["violations"].as_array().expect("a list");
    let kept: Vec<&str> = violations.iter().filter_map(|it| it["scenario"].as_str()).collect();
    assert_eq!(kept.len(), 10, "{run}");
    for file in kept {
        let replay = quorate(folder.path(), &format!("replay {file} --expect"));
        assert_eq!(replay.code, Some(0), "{replay}");
        assert!(replay.stdout.contains("verdict: violated, inside the assumptions"), "{replay}");
    }
}

#[test]
fn the_command_that_keeps_a_violation_can_be_pasted() {
    let folder = TempDir::new().expect("a temporary directory can be made");
    let run = quorate(folder.path(), "campaign maekawa-original -n 3..5 --quorums plane --seed 40");
    let line =
        run.stdout.lines().find_map(|line| line.trim_start().strip_prefix("keep it: quorate "));
    let again = quorate(folder.path(), line.expect("a command"));
    assert_eq!(again.code, Some(1), "{again}");
    let replay =
        again.stdout.lines().find_map(|line| line.trim_start().strip_prefix("replay: quorate "));
    let replayed = quorate(folder.path(), replay.expect("a command"));
    assert_eq!(replayed.code, Some(1), "{replayed}");
}

#[test]
fn a_lack_of_quorums_is_an_answer_and_not_a_hang() {
    let (report, run) = report("agrawal-el-abbadi -n 7 --crashes 5..6 --seeds 60");
    assert_eq!(run.code, Some(0), "{run}");
    assert!(number(&report["no_quorum"]) > 10, "{run}");
    assert_eq!(number(&report["hangs"]), 0, "{run}");
}
