//! Work split over several machines or times: the result equals that of a single run, byte for byte.

use std::fs;
use std::path::Path;

use tempfile::TempDir;

use crate::support::{Run, quorate};

fn folder() -> TempDir {
    TempDir::new().expect("a temporary directory can be made")
}

/// Runs the command in `of` parts, and writes the files `1.part`, `2.part` and so on.
fn split(folder: &Path, command: &str, of: u32) {
    for number in 1..=of {
        let run = quorate(folder, &format!("{command} --shard {number}/{of}"));
        fs::write(folder.join(format!("{number}.part")), &run.stdout).expect("it can be written");
    }
}

#[track_caller]
fn same(one: &Run, other: &Run) {
    assert_eq!((&one.stdout, one.code), (&other.stdout, other.code), "{one}{other}");
}

#[test]
fn a_campaign_in_parts_prints_what_one_run_prints() {
    for command in [
        "campaign maekawa-original --seeds 100 --seed 5",
        "campaign quorum --seeds 60",
        "campaign quorum-published --seeds 400 --first",
    ] {
        for output in ["", " --json", " --save saved", " --no-shrink"] {
            let (parts, whole) = (folder(), folder());
            split(parts.path(), command, 3);
            let merged = quorate(parts.path(), &format!("merge 2.part 3.part 1.part{output}"));
            same(&merged, &quorate(whole.path(), &format!("{command}{output}")));
        }
    }
}

#[test]
fn an_experiment_in_parts_writes_what_one_run_writes() {
    for (command, files) in [
        ("experiment mutex-cost --up-to 8 --seeds 2", " --csv t.csv --svg c.svg"),
        ("experiment mutex-cost --up-to 8 --seeds 2 --ours-up-to 4", ""),
        ("experiment clock-sync --seeds 3", " --csv t.csv --svg c.svg"),
        ("experiment without-cancel --up-to 8 --seeds 2", " --csv t.csv"),
        ("experiment thesis --up-to 8 --seeds 2", " --csv t.csv --json"),
    ] {
        let (parts, whole) = (folder(), folder());
        let one = quorate(whole.path(), &format!("{command}{files}"));
        if one.code == Some(2) {
            // A command that cannot run cannot run in parts either.
            let part = quorate(parts.path(), &format!("{command} --shard 1/2"));
            assert_eq!((part.code, &part.stderr), (Some(2), &one.stderr), "{part}");
            continue;
        }
        split(parts.path(), command, 4);
        let merged = quorate(parts.path(), &format!("merge 4.part 1.part 3.part 2.part{files}"));
        same(&merged, &one);
        for file in ["t.csv", "c.svg"] {
            let read = |folder: &TempDir| fs::read(folder.path().join(file)).ok();
            assert_eq!(read(&parts), read(&whole), "{command} {file}");
            assert_eq!(read(&whole).is_some(), files.contains(file), "{command} {file}");
        }
    }
}

#[test]
fn a_campaign_goes_on_where_it_stopped() {
    let (resumed, whole) = (folder(), folder());
    let command = "campaign maekawa-original --seeds 3000";
    let first = quorate(resumed.path(), &format!("{command} --resume p --minutes 0.0005 --json"));
    assert!(first.stdout.contains(r#""stopped":"asked""#), "{first}");
    let second = quorate(resumed.path(), &format!("{command} --resume p --json"));
    same(&second, &quorate(whole.path(), &format!("{command} --json")));
    // A finished campaign prints its result again.
    let third = quorate(resumed.path(), &format!("{command} --resume p --json"));
    same(&third, &second);
    assert!(third.stderr.starts_with("0 runs"), "{third}");
    // The file of a finished campaign is a part like any other.
    same(&quorate(resumed.path(), "merge p --json"), &second);
    for other in ["campaign maekawa-original --seeds 3001", "campaign maekawa --seeds 3000"] {
        let refused = quorate(resumed.path(), &format!("{other} --resume p"));
        assert_eq!(refused.code, Some(2), "{refused}");
        assert!(refused.stderr.contains("started with other flags"), "{refused}");
    }
}

#[test]
fn files_that_are_no_parts_are_refused_and_left_alone() {
    let folder = folder();
    let path = folder.path();
    split(path, "campaign maekawa-original --seeds 20", 3);
    let part = fs::read_to_string(path.join("1.part")).expect("it is there");
    let version = concat!("\"quorate\":\"", env!("CARGO_PKG_VERSION"), "\"");
    assert!(part.contains(version), "{part}");
    for (name, text) in [
        ("empty", String::new()),
        ("text", "hello".to_owned()),
        ("json", "{}".to_owned()),
        ("old", part.replace(version, "\"quorate\":\"0.0.1\"")),
        ("cut", part[..part.len() / 2].to_owned()),
        ("runs", part.replace("\"runs\":6", "\"runs\":60000")),
        ("deep", "[".repeat(100_000)),
        ("huge", part.replace("\"seeds\":20", "\"seeds\":18446744073709551615")),
        ("unknown", part.replace("maekawa-original", "maekawa-originel")),
    ] {
        assert_ne!(text, part, "{name}");
        fs::write(path.join(name), &text).expect("it can be written");
        let resume = format!("campaign maekawa-original --seeds 20 --shard 1/3 --resume {name}");
        for command in [format!("merge {name} 2.part 3.part"), resume] {
            let run = quorate(path, &command);
            assert_eq!((run.code, run.stderr.lines().count()), (Some(2), 1), "{run}");
            assert!(run.stderr.contains(name) && run.stdout.is_empty(), "{run}");
        }
        assert_eq!(fs::read_to_string(path.join(name)).expect("it is there"), text);
    }
    for (arguments, why) in [
        ("1.part 2.part", "part 3/3 missing"),
        ("3.part", "part 1/3 and 1 more missing"),
        ("1.part 2.part 2.part 3.part", "both part 2/3"),
        ("1.part 2.part gone", "gone cannot be read"),
        ("1.part 2.part 3.part --csv t.csv", "leave --csv"),
    ] {
        let run = quorate(path, &format!("merge {arguments}"));
        assert_eq!((run.code, run.stderr.lines().count()), (Some(2), 1), "{run}");
        assert!(run.stderr.contains(why), "{run}");
    }
    fs::rename(path.join("3.part"), path.join("kept")).expect("it can be moved");
    split(path, "campaign maekawa-original --seeds 21", 3);
    let mixed = quorate(path, "merge 1.part 2.part kept");
    assert!(mixed.stderr.contains("parts of different campaigns"), "{mixed}");
    split(path, "experiment clock-sync --seeds 1", 3);
    let mixed = quorate(path, "merge 1.part 2.part kept");
    assert!(mixed.stderr.contains("parts of different campaigns"), "{mixed}");
    let unfinished = "campaign maekawa-original --seeds 900000 --minutes 0.0005 --resume u";
    quorate(path, unfinished);
    let run = quorate(path, "merge u");
    assert!(run.code == Some(2) && run.stderr.contains("is not finished"), "{run}");
}
