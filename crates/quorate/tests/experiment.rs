//! `quorate experiment` on the command line.

mod support;

use std::fs;

use serde_json::Value;
use support::quorate;
use tempfile::TempDir;

fn folder() -> TempDir {
    TempDir::new().expect("a temporary directory can be made")
}

#[test]
fn without_a_name_it_lists_what_there_is() {
    let folder = folder();
    let run = quorate(folder.path(), "experiment");
    assert_eq!(run.code, Some(0), "{run}");
    insta::assert_snapshot!("experiment-list", run.stdout);
    assert_eq!(quorate(folder.path(), "experiment --list").stdout, run.stdout);
    let json: Value = serde_json::from_str(&quorate(folder.path(), "experiment --json").stdout)
        .expect("the list is JSON");
    assert_eq!(json[0]["name"], "mutex-cost");
}

#[test]
fn the_help_has_its_flags_and_examples() {
    insta::assert_snapshot!(
        "help-experiment",
        quorate(folder().path(), "experiment --help").stdout
    );
}

#[test]
fn what_cannot_be_done_is_said_on_one_line_and_leaves_nothing() {
    let folder = folder();
    for (arguments, problem) in [
        ("mutex-cots", "did you mean `mutex-cost`?"),
        ("mutex-cost --up-to 2", "--up-to: expected 4 to 1024, found 2"),
        ("mutex-cost --seeds 0", "--seeds: expected 1 to 100000, found 0"),
        ("mutex-faults --up-to 8", "leave --up-to out"),
        ("mutex-faults --svg a.svg", "draws no charts"),
        ("mutex-cost --ours-up-to 8", "leave --ours-up-to out"),
        ("thesis --up-to 5000", "--up-to: expected 8 to 4096, found 5000"),
        ("mutex-cost --csv nowhere/a.csv", "there is no directory nowhere"),
        ("mutex-cost --svg nowhere/a.svg", "there is no directory nowhere"),
        ("mutex-cost --svg nowhere/charts/", "its parent directory does not exist"),
        ("mutex-cost --up-to 2 --svg charts/", "--up-to"),
        ("mutex-cost --csv a --svg a", "name the same file"),
        ("mutex-cost --svg a --png a", "name the same file"),
        ("mutex-faults --png a.png", "draws no charts; leave --png out"),
        ("mutex-cost --list", "cannot be used with"),
    ] {
        let run = quorate(folder.path(), &format!("experiment {arguments}"));
        assert_eq!(run.code, Some(2), "{run}");
        assert!(run.stdout.is_empty() && run.stderr.lines().count() == 1, "{run}");
        assert!(run.stderr.contains(problem), "{run}");
    }
    assert_eq!(fs::read_dir(folder.path()).expect("the directory is there").count(), 0);
}

#[test]
fn the_table_and_the_charts_are_written_where_they_are_wanted() {
    let folder = folder();
    let flags = "experiment mutex-cost --up-to 4 --seeds 1";
    let run = quorate(folder.path(), &format!("{flags} --csv a.csv --svg all.svg --json"));
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{run}");
    let json: Value = serde_json::from_str(&run.stdout).expect("stdout is JSON");
    let rows = json["rows"].as_array().expect("there are rows");
    let csv = fs::read_to_string(folder.path().join("a.csv")).expect("there is a table");
    assert_eq!(csv.lines().count(), rows.len() + 1);
    let page = fs::read_to_string(folder.path().join("all.svg")).expect("there is a page");
    assert_eq!(page.matches("<desc>").count(), 5);
    let run = quorate(folder.path(), &format!("{flags} --svg charts/"));
    assert_eq!(run.code, Some(0), "{run}");
    let charts = fs::read_dir(folder.path().join("charts")).expect("there are charts");
    assert_eq!(charts.count(), 5);
}

#[test]
#[cfg(feature = "png")]
fn charts_are_images_too_where_there_is_a_font() {
    let folder = folder();
    let flags = "experiment mutex-cost --up-to 4 --seeds 1";
    let run = quorate(folder.path(), &format!("{flags} --svg charts/ --png charts/"));
    if run.code == Some(2) {
        assert!(run.stderr.contains("no font"), "{run}");
        return;
    }
    assert_eq!(run.code, Some(0), "{run}");
    let charts = fs::read_dir(folder.path().join("charts")).expect("there are charts");
    let mut images = 0;
    for chart in charts.map(|entry| entry.expect("an entry").path()) {
        let is_image = fs::read(&chart).expect("a file").starts_with(b"\x89PNG");
        let ending = chart.extension().and_then(|ending| ending.to_str());
        assert_eq!(ending, Some(if is_image { "png" } else { "svg" }));
        images += usize::from(is_image);
    }
    assert_eq!(images, 5);
}

#[test]
fn the_command_beside_a_cell_shows_its_worst_case() {
    let folder = folder();
    let run = quorate(folder.path(), "experiment mutex-faults --seeds 2 --json");
    assert_eq!(run.code, Some(0), "{run}");
    let json: Value = serde_json::from_str(&run.stdout).expect("stdout is JSON");
    let mut broken = 0;
    for row in json["rows"].as_array().expect("there are rows") {
        let (Some(command), Some(outcome)) = (row["replay"].as_str(), row["outcome"].as_str())
        else {
            continue;
        };
        let replay =
            quorate(folder.path(), command.strip_prefix("quorate ").expect("a command of ours"));
        let expected = if ["blocks", "violates"].contains(&outcome) { 1 } else { 0 };
        assert_eq!(replay.code, Some(expected), "{row}: {replay}");
        broken += expected;
    }
    assert!(broken > 0, "some algorithm breaks by some fault");
}
