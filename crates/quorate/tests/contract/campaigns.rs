//! JSON report and saved files of `campaign`.

use std::path::Path;
use std::process::Stdio;

use serde_json::Value;
use tempfile::TempDir;

use crate::number;
use crate::support::{Run, command, quorate};

fn report(arguments: &str) -> (Value, Run) {
    crate::report(Path::new("."), &format!("campaign {arguments} --no-shrink"))
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
    for shrink in ["", " --no-shrink"] {
        let flags = "campaign ricart-agrawala-priority --seeds 100 --save found --json";
        let run = quorate(folder.path(), &format!("{flags}{shrink}"));
        let report: Value = serde_json::from_str(&run.stdout).expect("JSON");
        let clusters = report["clusters"].as_array().expect("a list");
        assert!(!clusters.is_empty(), "{run}");
        for cluster in clusters {
            let file = cluster["scenario"].as_str().expect("a file");
            let same = |it: &&Value| {
                it["seed"] == cluster["first"] && it["property"] == cluster["property"]
            };
            let violation = report["violations"].as_array().and_then(|all| all.iter().find(same));
            assert_eq!(violation.expect("a violation")["scenario"], file, "{run}");
            assert_eq!(cluster["shrunk"].is_null(), !shrink.is_empty(), "{run}");
            let replay = quorate(folder.path(), &format!("replay {file} --expect"));
            assert_eq!(replay.code, Some(0), "{replay}");
            let verdict = "verdict: violated, inside the assumptions";
            assert!(replay.stdout.contains(verdict), "{replay}");
        }
    }
}

#[test]
fn violations_are_written_only_if_asked_for_and_never_over_another_file() {
    let folder = TempDir::new().expect("a temporary directory can be made");
    let run = || quorate(folder.path(), "campaign maekawa-original -n 3..5 --seeds 40 --save .");
    let names = || {
        let entries = std::fs::read_dir(folder.path()).expect("it is there");
        let name = |entry: std::io::Result<std::fs::DirEntry>| {
            entry.expect("it is there").file_name().into_string().expect("text")
        };
        let mut names: Vec<String> = entries.map(name).collect();
        names.sort();
        names
    };
    let unsaved = quorate(folder.path(), "campaign maekawa-original -n 3..5 --seeds 40");
    assert_eq!(unsaved.code, Some(1), "{unsaved}");
    assert_eq!(names(), [""; 0], "{unsaved}");
    let line =
        unsaved.stdout.lines().find_map(|line| line.trim_start().strip_prefix("save it: quorate "));
    let saved = quorate(folder.path(), line.expect("a command"));
    assert_eq!(saved.code, Some(1), "{saved}");
    assert_eq!(names(), ["maekawa-original-me2-seed-0.toml"], "{saved}");
    let first = run();
    assert_eq!(first.code, Some(1), "{first}");
    assert_eq!(names(), ["maekawa-original-me2-seed-0.toml"], "{first}");
    let line =
        first.stdout.lines().find_map(|line| line.trim_start().strip_prefix("replay: quorate "));
    let replayed = quorate(folder.path(), line.expect("a command"));
    assert_eq!(replayed.code, Some(1), "{replayed}");
    // A second run reuses the file, and a file with other contents is not replaced.
    assert_eq!(run().stdout, first.stdout);
    assert_eq!(names().len(), 1);
    std::fs::write(folder.path().join(&names()[0]), "mine").expect("it can be written");
    let second = run();
    assert!(second.stdout.contains("replay ./maekawa-original-me2-seed-0-2.toml"), "{second}");
    let mine = std::fs::read_to_string(folder.path().join("maekawa-original-me2-seed-0.toml"));
    assert_eq!(mine.expect("it can be read"), "mine");
}

#[test]
fn what_cannot_be_written_is_printed_instead() {
    let folder = TempDir::new().expect("a temporary directory can be made");
    std::fs::write(folder.path().join("taken"), "").expect("it can be written");
    let run = quorate(folder.path(), "campaign maekawa-original --seeds 40 --save taken");
    assert_eq!(run.code, Some(1), "{run}");
    assert!(run.stderr.contains("the scenario is printed instead"), "{run}");
    let start = run.stdout.find("# ME2: ").expect("the scenario is there");
    let end = run.stdout.find("\n  entries ").expect("the figures follow");
    std::fs::write(folder.path().join("pasted.toml"), &run.stdout[start..end]).expect("it can");
    let replay = quorate(folder.path(), "replay pasted.toml --expect");
    assert_eq!(replay.code, Some(0), "{replay}");
    let json = quorate(folder.path(), "campaign maekawa-original --seeds 40 --save taken --json");
    let report: Value = serde_json::from_str(&json.stdout).expect("JSON");
    assert!(report["clusters"][0]["toml"].as_str().is_some_and(|it| it.starts_with("# ME2")));
}

#[test]
fn a_file_can_be_shrunk_too() {
    let folder = TempDir::new().expect("a temporary directory can be made");
    let sim = "sim maekawa-original -n 9 --requesters all --repeat 2 --delay uniform:1ms..3ms";
    let run = quorate(folder.path(), &format!("{sim} --seed 4 --save large.toml"));
    assert_eq!(run.code, Some(1), "{run}");
    let saved = quorate(folder.path(), "replay large.toml --shrink --save small.toml");
    assert_eq!((saved.code, saved.stdout.as_str()), (Some(1), ""), "{saved}");
    let printed = quorate(folder.path(), "replay large.toml --shrink");
    let small = std::fs::read_to_string(folder.path().join("small.toml")).expect("it is there");
    assert_eq!(printed.stdout, small);
    assert!(small.contains("processes = 2\n"), "{small}");
    let replay = quorate(folder.path(), "replay small.toml --expect");
    assert_eq!(replay.code, Some(0), "{replay}");
    let sound = quorate(folder.path(), "sim central --save sound.toml");
    assert_eq!(sound.code, Some(0), "{sound}");
    let run = quorate(folder.path(), "replay sound.toml --shrink");
    assert!(run.code == Some(1) && run.stderr.contains("nothing to shrink"), "{run}");
}

#[test]
fn the_command_that_keeps_a_violation_can_be_pasted() {
    let folder = TempDir::new().expect("a temporary directory can be made");
    let flags = "campaign maekawa-original -n 3..5 --quorums plane --seed 40 --no-shrink";
    let run = quorate(folder.path(), flags);
    let line =
        run.stdout.lines().find_map(|line| line.trim_start().strip_prefix("save it: quorate "));
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

#[cfg(target_os = "linux")]
#[test]
fn an_interrupted_command_reports_what_it_has_covered() {
    for (arguments, covered) in [
        ("campaign ricart-agrawala --seeds 1000000000 --json", "\"runs\":"),
        ("check maekawa -n 5 --requesters 4 --json", "\"states\":"),
    ] {
        let quorate = crate::support::command(Path::new("."));
        let mut timeout = std::process::Command::new("timeout");
        // In the foreground, so that only the command gets the signal, and gets it once.
        timeout.args(["--foreground", "--preserve-status", "--signal=INT", "--kill-after=30", "3"]);
        timeout.arg(quorate.get_program()).args(arguments.split(' '));
        let run = Run::of(timeout);
        assert_eq!(run.code, Some(130), "{run}");
        assert!(run.stdout.contains(covered), "{run}");
    }
}

#[test]
fn a_reader_that_stops_early_does_not_change_the_exit_code() {
    for (arguments, code) in [
        ("campaign maekawa-original --seeds 20 --no-shrink", 1),
        ("check maekawa-original -n 3 --requesters all", 1),
        (
            "sim maekawa-original -n 3 --quorums majority --requesters all --delay uniform:1ms..3ms --seed 1",
            1,
        ),
        ("quorum tree -n 7", 0),
    ] {
        let mut command = command(Path::new("."));
        command.args(arguments.split(' ')).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().expect("it starts");
        drop(child.stdout.take());
        let status = child.wait().expect("it ends");
        assert_eq!(status.code(), Some(code), "{arguments}");
    }
}
