//! Every scenario of the repository meets its expectations. A scenario given by flags can be saved, run again, and
//! saved again without a difference.

mod support;

use std::fs;
use std::path::{Path, PathBuf};

use support::{Run, command, quorate};
use tempfile::TempDir;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// All scenario files under a directory, sorted.
fn scenarios(directory: &Path) -> Vec<PathBuf> {
    let entries =
        fs::read_dir(directory).unwrap_or_else(|e| panic!("{}: {e}", directory.display()));
    let mut paths: Vec<PathBuf> =
        entries.map(|entry| entry.expect("the directory can be read").path()).collect();
    paths.sort();
    paths
        .into_iter()
        .flat_map(|path| match path.is_dir() {
            true => scenarios(&path),
            false => vec![path],
        })
        .filter(|path| path.extension().is_some_and(|ending| ending == "toml"))
        .collect()
}

#[test]
fn every_scenario_does_what_it_expects() {
    let scenarios = scenarios(&root().join("scenarios"));
    assert!(!scenarios.is_empty(), "there are no scenarios");
    let failed: Vec<String> = scenarios
        .iter()
        .filter_map(|path| {
            let mut command = command(&root());
            command.arg("replay").arg(path).arg("--expect");
            let run = Run::of(command);
            (run.code != Some(0)).then(|| run.to_string())
        })
        .collect();
    assert!(failed.is_empty(), "{}", failed.join("\n\n"));
}

#[test]
fn every_scenario_says_what_becomes_of_each_promise() {
    // An empty expectation would be met by any run.
    for path in scenarios(&root().join("scenarios")) {
        let scenario = quorate_sim::load(&path).unwrap_or_else(|error| panic!("{error}"));
        let expect =
            scenario.expect.unwrap_or_else(|| panic!("{}: expects nothing", path.display()));
        let said = expect.verdict.is_some() && expect.broken_assumptions.is_some();
        assert!(said && !expect.properties.is_empty(), "{}: expects too little", path.display());
    }
}

/// Flags that cover every fault and every other key of a scenario.
const FLAGS: [&str; 41] = [
    "ricart-agrawala -n 5 --requesters all --seed 7",
    "central -n 5 --requesters 3 --repeat 2 --think 500us --section 2ms --spread 3ms --server 4",
    "central -n 4 --request 1@0 --request 2@1ms --request ?@0~5ms --watch ME3",
    "ricart-agrawala -n 3 --requesters all --delay uniform:1ms..3ms --seed 18446744073709551615",
    "ricart-agrawala -n 3 --requesters all --delay exponential:2ms --fifo no --handling 100us",
    "ricart-agrawala -n 3 --requesters all --delay list:1ms,5ms,2ms",
    "central -n 3 --requesters all --link-delay 1-0=constant:5ms --link-delay 0-2=uniform:1..9",
    "central -n 3 --requesters all --timing rounds:2ms",
    "central -n 3 --requesters all --timing synchronous --patience 3ms",
    "central -n 3 --requesters all --timing asynchronous --until 4ms",
    "central -n 3 --requesters all --timing eventually:6ms",
    "central -n 3 --requesters all --timing unknown-bound",
    "central -n 4 --requesters all --crash 1@2.5ms --detection uniform:1ms..4ms",
    "central -n 4 --requesters all --crash ?@0~9ms --detection-pair 0-1=constant:9ms",
    "central -n 4 --requesters all --crash 1@2.5ms --detector heartbeat",
    "central -n 4 --requesters all --crash 1@2.5ms --detector none",
    "central -n 4 --requesters all --crash 1@2.5ms --detector vcube",
    "heartbeat -n 4 --crash 1@2.5ms",
    "vcube-diagnosis -n 6 --crash 1@2.5ms --recover 1@30ms --slow 2@50ms..60ms:3ms",
    "basic -n 5 --requesters all --repeat 2 --think 1ms --to 0,2,4 --crash-mid 0@0:1 --watch agreement",
    "vcube-multicast -n 7 --request 3@1ms --request ?@0~2ms --crash 5@2ms --fifo no",
    "vcube-multicast -n 7 --requesters 2 --to 1,5,6 --crash 5@2ms --detector vcube",
    "ricart-agrawala -n 4 --requesters all --crash-mid 1@0:2 --crash-mid ?@0~2ms:1",
    "central -n 4 --requesters all --crash 1@1ms --recover 1@5ms --crash 2@2ms --recover 2@6ms:amnesia",
    "ricart-agrawala -n 4 --requesters all --omit-send 1@0..3ms:0.5 --omit-send ?@1ms",
    "ricart-agrawala -n 4 --requesters all --omit-receive 1@0..3ms:0.5 --omit-receive 2@1ms",
    "ricart-agrawala -n 4 --requesters all --loss 0.05 --seed 3",
    "ricart-agrawala -n 4 --requesters all --lose 0-1@0 --lose ?-?@0~3ms",
    "ricart-agrawala -n 4 --requesters all --duplication 0.5 --duplicate 1-0@1ms",
    "ricart-agrawala -n 4 --requesters all --reordering 0.25 --reorder 0-1@0",
    "chang-roberts -n 4 --requesters all --corruption 0.25 --corrupt 0-1@0",
    "central -n 4 --requesters all --slow 0@1ms..9ms:1ms --fast 1@0:4 --clock 2@1ms:1.5",
    "central -n 4 --requesters all --cut 0-1@0..4ms --cut 2>0@1ms~2ms..9ms",
    "central -n 4 --requesters all --partition 0,1|2,3@2ms..9ms --partition 3|0@12ms",
    "central -n 4 --requesters all --suspect 0-1@1ms..9ms --suspect 0-?@2ms",
    "ricart-agrawala -n 5 --requesters all --traitor 1:liar --traitor 2:silent --traitor 3:random",
    "ricart-agrawala -n 5 --requesters all --traitor 1:equivocator --traitor ?:stutterer",
    "sync-consensus -n 5 --values 7,4,5,1,3 --faults 3 --crash-mid 3@0:1 --timing rounds:2ms",
    "byzantine-generals -n 7 --faults 2 --server 3 --values 0,0,0,1 --traitor 0:two-faced --traitor ?:random",
    "signed-generals -n 4 --faults 1 --request 0@500us --traitor 0:equivocator",
    "consensus-from-generals -n 4 --requesters all --spread 900us --delay uniform:1us..1ms",
];

/// Runs a command that must end with a verdict.
#[track_caller]
fn verdict(folder: &TempDir, arguments: &str) -> Run {
    let run = quorate(folder.path(), arguments);
    assert!(matches!(run.code, Some(0 | 1)), "{run}");
    run
}

#[track_caller]
fn read(folder: &TempDir, name: &str) -> String {
    fs::read_to_string(folder.path().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

#[test]
fn what_flags_say_a_file_can_say() {
    for flags in FLAGS {
        let folder = TempDir::new().expect("a temporary directory can be made");
        let by_flags = verdict(&folder, &format!("sim {flags} --save a.toml --trace a.jsonl"));
        let by_file = verdict(&folder, "replay a.toml --trace b.jsonl");
        assert_eq!(by_file.code, by_flags.code, "{by_file}");
        assert_eq!(read(&folder, "b.jsonl"), read(&folder, "a.jsonl"), "{by_flags}");
        verdict(&folder, &format!("sim {flags} --save b.toml"));
        assert_eq!(read(&folder, "b.toml"), read(&folder, "a.toml"), "{by_flags}");
    }
}

#[test]
fn what_a_replay_saves_are_the_file_and_what_was_found() {
    for flags in FLAGS {
        let folder = TempDir::new().expect("a temporary directory can be made");
        verdict(&folder, &format!("sim {flags} --save a.toml"));
        verdict(&folder, "replay a.toml --save b.toml");
        let met = quorate(folder.path(), "replay b.toml --expect --save c.toml");
        assert_eq!(met.code, Some(0), "{met}");
        let (a, b) = (read(&folder, "a.toml"), read(&folder, "b.toml"));
        assert!(b.starts_with(&a) && b.contains("[expect"), "{a}\n---\n{b}");
        assert_eq!(read(&folder, "c.toml"), b, "{met}");
    }
}

#[test]
fn every_fault_flag_is_saved() {
    // A new flag that is missing in the list above is not known to be saved.
    let help = quorate(Path::new("."), "sim --help").stdout;
    let (_, faults) = help.split_once("\nFaults").expect("the help has faults");
    let (faults, _) = faults.split_once("\n\n").expect("the faults end");
    let flags: Vec<&str> = faults
        .lines()
        .filter_map(|line| line.trim_start().split(' ').next())
        .filter(|word| word.starts_with("--"))
        .collect();
    assert!(flags.len() >= 18, "{flags:?}");
    for flag in flags {
        let used = FLAGS.iter().any(|line| line.split(' ').any(|word| word == flag));
        assert!(used, "{flag} is in no round trip");
    }
}

#[test]
fn a_saved_scenario_begins_with_what_it_is() {
    let folder = TempDir::new().expect("a temporary directory can be made");
    verdict(&folder, "sim central -n 3 --save a.toml");
    assert!(read(&folder, "a.toml").starts_with("# central, 3 processes, seed 0\n"));
}
