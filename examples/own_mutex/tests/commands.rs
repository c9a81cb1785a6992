//! The commands of quorate work with an algorithm that quorate does not know.

use std::path::PathBuf;
use std::process::{Command, Output};

use own_mutex::OwnMutex;
use quorate::{Catalogue, CatalogueError, Entry};

/// Runs the program with these words, in a folder of its own.
fn own(folder: &str, words: &[&str]) -> Output {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(folder);
    std::fs::create_dir_all(&folder).expect("a folder can be created");
    let program = env!("CARGO_BIN_EXE_own-mutex");
    Command::new(program).args(words).current_dir(folder).output().expect("it starts")
}

/// Standard output of a command that must succeed.
fn succeeds(folder: &str, words: &[&str]) -> String {
    let output = own(folder, words);
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{words:?} failed: {error}");
    String::from_utf8(output.stdout).expect("text")
}

#[test]
fn it_is_listed_with_its_family() {
    let list = succeeds("list", &["list"]);
    let own = list.find("own-mutex").expect("it is listed");
    assert!(own < list.find("\nelection").expect("a family"), "{list}");
}

#[test]
fn it_is_simulated_and_drawn() {
    let words =
        ["sim", "own-mutex", "-n", "5", "--requesters", "all", "--diagram", "run.svg", "--json"];
    let report = succeeds("sim", &words);
    assert!(report.contains("\"verdict\":\"holds\""), "{report}");
    let picture = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("sim/run.svg");
    assert!(std::fs::read_to_string(picture).expect("a picture").contains("TOKEN"));
}

#[test]
fn every_interleaving_holds() {
    let report = succeeds("check", &["check", "own-mutex", "-n", "3", "--requests", "2", "--json"]);
    assert!(report.contains("\"verdict\":\"holds\""), "{report}");
}

#[test]
fn random_scenarios_hold() {
    succeeds("campaign", &["campaign", "own-mutex", "--seeds", "200"]);
}

#[test]
fn experiments_compare_it_with_the_others() {
    let table = succeeds("experiment", &["experiment", "mutex-cost", "--up-to", "4"]);
    assert!(table.contains("own-mutex"), "{table}");
}

#[test]
fn a_crash_is_outside_its_assumptions() {
    let output = own("crash", &["sim", "own-mutex", "--requesters", "all", "--crash", "0@0"]);
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn a_name_is_taken_only_once() {
    let once = Catalogue::standard().with(Entry::mutex::<OwnMutex>());
    let twice = once.and_then(|catalogue| catalogue.with(Entry::mutex::<OwnMutex>()));
    assert_eq!(twice.err(), Some(CatalogueError::Duplicate("own-mutex")));
}
