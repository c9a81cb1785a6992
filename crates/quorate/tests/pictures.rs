//! Pictures drawn by the binary. The pictures in documents and the traces of drawing tests are generated again here,
//! so that they cannot become outdated. `cargo xtask fix --snapshots` rewrites them.

#[path = "support/mod.rs"]
mod support;

use std::fs;
use std::path::{Path, PathBuf};

use support::quorate;
use tempfile::TempDir;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn folder() -> TempDir {
    TempDir::new().expect("a temporary directory can be made")
}

/// Runs a command at the root of the project, and returns the file that it writes in place of `OUT`.
fn written(arguments: &str, ending: &str) -> String {
    let folder = folder();
    let out = folder.path().join(format!("out.{ending}"));
    let run = quorate(&root(), &arguments.replace("OUT", &out.to_string_lossy()));
    assert!(matches!(run.code, Some(0 | 1)), "{run}");
    fs::read_to_string(&out).unwrap_or_else(|error| panic!("{error}\n{run}"))
}

/// Compares with a file of the project, or replaces the file if requested.
fn expect(path: &str, found: &str) {
    let path = root().join(path);
    if std::env::var("INSTA_UPDATE").is_ok_and(|update| update == "always") {
        fs::write(&path, found).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        return;
    }
    let expected = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        expected == found,
        "{} is not what the binary writes; `cargo xtask fix --snapshots` does",
        path.display()
    );
}

#[test]
fn the_pictures_of_the_documents_are_those_that_are_drawn() {
    let returning = "scenarios/mutex/a-client-that-returns-from-a-crash-meets-its-successor.toml";
    let pictures = [
        ("two-inside", format!("replay {returning} --diagram OUT")),
        ("vcube", "quorum vcube -n 8 --failed 3 --diagram OUT".to_owned()),
    ];
    for (name, arguments) in pictures {
        expect(&format!("docs/pictures/{name}.svg"), &written(&arguments, "svg"));
    }
}

#[test]
fn the_traces_that_drawing_is_tested_with_are_those_that_are_written() {
    let returning = "scenarios/mutex/a-client-that-returns-from-a-crash-meets-its-successor.toml";
    let traces = [
        ("mutex", "sim ricart-agrawala -n 3 --requesters 2"),
        ("election", "sim bully -n 4 --request 1@0 --crash 3@0"),
        ("agreement", "sim sync-consensus -n 3 --faults 1"),
        ("multicast", "sim fifo -n 3 --requesters one --repeat 2"),
        ("detector", "sim heartbeat -n 3 --crash 2@5ms --recover 2@20ms:amnesia --until 30ms"),
        ("clock", "sim cristian -n 3 --requesters all --local-clock 1:+5ms"),
        ("violation", &format!("replay {returning}")),
        (
            "faults",
            "sim central -n 3 --requesters all --partition 0,1|2@2ms..9ms --slow 1@0..3ms:1ms --lose 1-0@0 \
             --duplicate 2-0@0",
        ),
    ];
    for (name, arguments) in traces {
        let trace = written(&format!("{arguments} --trace OUT"), "jsonl");
        expect(&format!("crates/quorate-draw/tests/traces/{name}.jsonl"), &trace);
    }
}

#[test]
fn a_trace_is_drawn_as_its_run_was() {
    let folder = folder();
    let run = "sim quorum -n 5 --requesters 2 --crash 3@2ms --trace run.jsonl --diagram run.svg";
    assert_eq!(quorate(folder.path(), run).code, Some(0));
    let drawn = quorate(folder.path(), "draw run.jsonl -o again.svg --title TITLE");
    assert_eq!(drawn.code, Some(0), "{drawn}");
    let read =
        |name: &str| fs::read_to_string(folder.path().join(name)).expect("there is a picture");
    assert_eq!(read("run.svg").replace("quorum, 5 processes, seed 0", "TITLE"), read("again.svg"));
}

#[test]
fn a_counterexample_is_drawn() {
    let svg = written("check maekawa-original -n 3 --diagram OUT --theme dark", "svg");
    assert!(svg.contains("ME2 violated at"), "{svg}");
}

#[test]
fn who_talks_to_whom_is_drawn() {
    for (arguments, words) in [
        ("sim token-ring -n 4", "a ring of 4"),
        ("sim raymond -n 5 --tree chain", "a tree of 5"),
        ("sim central -n 4 --server 2", "p2 serves all others"),
        ("sim maekawa -n 9", "grid-fixed: the quorum of p0 has 5 of 9"),
        ("sim vcube-diagnosis -n 8 --crash 3@5ms", "a VCube of 8, with the clusters of p0"),
        ("sim lamport -n 3", "every process communicates with every other"),
    ] {
        let svg = written(&format!("{arguments} --topology OUT"), "svg");
        assert!(svg.contains(&format!("{words}</title>")), "{svg}");
    }
}

#[test]
fn a_large_run_is_thinned_and_says_so() {
    let svg = written("sim ricart-agrawala -n 32 --requesters all --repeat 5 --diagram OUT", "svg");
    assert!(svg.contains("400 of 9,920 messages are drawn"), "{svg}");
    assert!(svg.len() < 400_000, "{} bytes", svg.len());
    let window = written(
        "sim ricart-agrawala -n 32 --requesters all --repeat 5 --diagram OUT --window 2ms..5ms --lanes 0,1,2",
        "svg",
    );
    assert!(window.contains("The window from 2ms to 5ms"), "{window}");
    assert!(window.contains("3 of 32 processes are drawn"), "{window}");
}

#[test]
#[cfg(not(feature = "png"))]
fn without_the_feature_a_png_is_refused_before_any_work() {
    let folder = folder();
    let never_ends = "experiment mutex-cost --seeds 100000 --png charts/";
    for command in [
        "sim central -n 3 --diagram run.png",
        "sim central -n 3 --topology ring.PNG",
        "check central -n 6 --diagram run.png",
        "quorum vcube --diagram vcube.png",
        "draw missing.jsonl -o run.png",
        "merge missing.json --png charts/",
        never_ends,
    ] {
        let run = quorate(folder.path(), command);
        assert_eq!(run.code, Some(2), "{run}");
        assert!(run.stdout.is_empty() && run.stderr.lines().count() == 1, "{run}");
        assert!(run.stderr.contains("build it with `--features png`"), "{run}");
        assert!(run.stderr.contains("svg instead"), "{run}");
    }
    assert_eq!(fs::read_dir(folder.path()).expect("the directory is there").count(), 0);
}

#[test]
#[cfg(feature = "png")]
fn a_png_is_one_or_is_refused_for_want_of_a_font() {
    let folder = folder();
    let run = quorate(folder.path(), "sim central -n 3 --diagram run.png");
    match run.code {
        Some(0) => {
            let image = fs::read(folder.path().join("run.png")).expect("there is a picture");
            assert!(image.starts_with(b"\x89PNG"));
        }
        _ => assert!(run.stderr.contains("no font"), "{run}"),
    }
}
