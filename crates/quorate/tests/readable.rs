//! Text output. A changed snapshot is a changed promise: `cargo xtask fix --snapshots` rewrites the snapshots, and
//! the difference should be reviewed.

mod support;

use std::fs;
use std::path::{Path, PathBuf};

use support::{Run, command, quorate};
use tempfile::TempDir;

const FIVE: &str = "sim ricart-agrawala -n 5 --requesters all --seed 7";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn stdout(arguments: &str) -> String {
    let run = quorate(Path::new("."), arguments);
    assert!(run.stderr.is_empty(), "{run}");
    run.stdout
}

fn stderr(arguments: &str) -> String {
    let run = quorate(Path::new("."), arguments);
    assert!(run.stdout.is_empty(), "{run}");
    run.stderr
}

#[test]
fn the_help_says_what_there_is_and_how_to_begin() {
    insta::assert_snapshot!("help", stdout("--help"));
    assert_eq!(stdout("-h"), stdout("--help"));
    assert_eq!(stdout("help"), stdout("--help"));
    // Without arguments the same help is printed to stderr, and the exit code is 2.
    let nothing = quorate(Path::new("."), "");
    assert_eq!((nothing.code, nothing.stderr), (Some(2), stdout("--help")));
}

#[test]
fn the_help_of_each_command_has_its_flags_and_examples() {
    insta::assert_snapshot!("help-sim", stdout("sim --help"));
    insta::assert_snapshot!("help-replay", stdout("replay --help"));
    insta::assert_snapshot!("help-list", stdout("list --help"));
    insta::assert_snapshot!("help-campaign", stdout("campaign --help"));
    insta::assert_snapshot!("help-quorum", stdout("quorum --help"));
    assert_eq!(stdout("help sim"), stdout("sim --help"));
}

#[test]
fn a_run_is_compared_with_a_model_on_request() {
    let sim = |algorithm: &str| format!("sim {algorithm} -n 4 --requesters all --conform");
    for algorithm in ["quorum", "leased-quorum"] {
        let run = quorate(Path::new("."), &sim(algorithm));
        assert_eq!(run.code, Some(0), "{run}");
        assert!(
            run.stderr.starts_with("conformance: ") && run.stderr.contains(" actions of the model")
        );
    }
    let refused = quorate(Path::new("."), &sim("lamport"));
    assert_eq!(refused.code, Some(2), "{refused}");
    assert!(refused.stderr.contains("there is no model of lamport"), "{refused}");
    assert!(refused.stdout.is_empty(), "{refused}");
}

#[test]
fn the_list_lets_one_choose() {
    insta::assert_snapshot!("list", stdout("list"));
}

#[test]
fn five_requesters_are_told_of_in_full() {
    insta::assert_snapshot!("five-requesters", stdout(FIVE));
}

#[test]
fn a_crash_explains_what_broke_and_why() {
    insta::assert_snapshot!(
        "five-requesters-and-a-crash",
        stdout(&format!("{FIVE} --crash 2@1ms"))
    );
}

#[test]
fn heartbeats_stand_below_the_algorithm() {
    let flags = "-n 4 --requesters all --detector heartbeat --crash 1@2.5ms";
    insta::assert_snapshot!("heartbeats", stdout(&format!("sim central {flags}")));
}

#[test]
fn a_detector_is_told_of_by_what_it_noticed() {
    let flags = "-n 8 --crash 3@5ms --recover 3@30ms";
    insta::assert_snapshot!("a-diagnosis", stdout(&format!("sim vcube-diagnosis {flags}")));
}

#[test]
fn a_multicast_is_told_of_by_who_delivers() {
    let flags = "-n 8 --crash-mid 0@0:2";
    insta::assert_snapshot!("a-multicast", stdout(&format!("sim vcube-multicast {flags}")));
}

#[test]
fn two_inside_are_named_with_their_times() {
    let flags = "-n 3 --request 1@0 --request 2@0 --section 5ms --suspect 0-1@3ms..9ms";
    insta::assert_snapshot!("two-inside", stdout(&format!("sim central {flags}")));
}

#[test]
fn a_large_world_is_told_of_in_few_lines() {
    let text = stdout("sim ricart-agrawala -n 200 --requesters all --loss 0.01");
    insta::assert_snapshot!("a-large-world", text);
    assert!(text.lines().count() < 30, "{text}");
}

#[test]
fn quorums_are_drawn_where_their_processes_stand() {
    insta::assert_snapshot!("quorum-vcube", stdout("quorum vcube -n 8 --failed 2,5"));
    insta::assert_snapshot!("quorum-tree", stdout("quorum tree -n 7 --process 6 --failed 1,2"));
    insta::assert_snapshot!("quorum-grid", stdout("quorum grid -n 8 --failed 1 --process 2"));
    insta::assert_snapshot!("quorum-wall", stdout("quorum wall -n 10 --failed 4 --process 2"));
    insta::assert_snapshot!("quorum-plane", stdout("quorum plane -n 7"));
    insta::assert_snapshot!("quorum-grid-rebuilt", stdout("quorum grid-rebuilt -n 7 --failed 3"));
    insta::assert_snapshot!("quorum-gone", stdout("quorum majority -n 4 --failed 1,2"));
}

#[test]
fn a_large_quorum_system_is_told_of_in_few_lines() {
    for system in
        ["vcube", "grid", "tree", "grid-fixed", "majority", "plane", "wall", "grid-rebuilt"]
    {
        let text = stdout(&format!("quorum {system} -n 2000 --failed 1,2"));
        assert!(text.lines().count() < 45, "{text}");
        assert!(text.contains("sampled views"), "{text}");
    }
}

#[test]
fn a_campaign_says_what_broke_and_how_to_see_it_again() {
    let folder = tempfile::TempDir::new().expect("a temporary directory can be made");
    let text = |arguments: &str| quorate(folder.path(), arguments).stdout;
    insta::assert_snapshot!("campaign-sound", text("campaign central --seeds 50"));
    let broken = "campaign ricart-agrawala-priority -n 3..6 --seeds 50 --seed 100";
    insta::assert_snapshot!("campaign-specimen", text(broken));
}

#[test]
fn mistakes_are_explained_on_a_line() {
    insta::assert_snapshot!(stderr("campaign lamport --crashes 1"), @"error: --crashes: lamport assumes that no process crashes, and a campaign stays inside the assumptions; --beyond leaves them");
    insta::assert_snapshot!(stderr("quorum vcub"), @"error: invalid value 'vcub' for '<SYSTEM>'; tip: a similar value exists: 'vcube'");
    insta::assert_snapshot!(stderr("quorum vcube -n 8 --failed 8"), @"error: --failed: there is no process 8; the processes are 0 to 7");
    insta::assert_snapshot!(stderr("quorum vcube -n 65537"), @"error: -n: at most 65536 processes can be analysed");
    insta::assert_snapshot!(stderr("sim central -n 0"), @"error: -n: there must be at least 1 process");
    insta::assert_snapshot!(stderr("sim central --crash 7@1ms"), @"error: --crash: there is no process 7; the processes are 0 to 4");
    insta::assert_snapshot!(stderr("sim central --crash 1@-1ms"), @"error: invalid value '1@-1ms' for '--crash <P@T>': expected a time of zero or later, found `-1ms`");
    insta::assert_snapshot!(stderr("sim centrl"), @"error: invalid value 'centrl' for '<ALGORITHM>'; tip: a similar value exists: 'central'");
    insta::assert_snapshot!(stderr("sim central --requestrs all"), @"error: unexpected argument '--requestrs' found; tip: a similar argument exists: '--requesters'");
    insta::assert_snapshot!(stderr("sim central --requesters all --request 1@0"), @"error: the argument '--requesters <one|all|K>' cannot be used with '--request <P@T>'");
    insta::assert_snapshot!(stderr("sim central -n 100000 --memory 1MB"), @"error: 100000 processes need about 51.9 MiB of memory, the bound is 976.6 KiB; use fewer processes or requesters, or raise --memory");
    insta::assert_snapshot!(stderr("replay missing.toml"), @"error: missing.toml: cannot be read: No such file or directory (os error 2)");
}

#[test]
fn a_mistake_in_a_file_is_explained_where_it_stands() {
    let folder = TempDir::new().expect("a temporary directory can be made");
    let refused = |text: &str| {
        fs::write(folder.path().join("a.toml"), text).expect("a temporary file can be written");
        quorate(folder.path(), "replay a.toml").stderr
    };
    let head = "algorithm = \"central\"\nprocesses = 3\n";
    insta::assert_snapshot!(refused(&format!("{head}[faults]\ncrash = [\"1@1ms\", \"7@1ms\"]\n")), @"error: a.toml:4:19: `faults.crash`: there is no process 7; the processes are 0 to 2");
    insta::assert_snapshot!(refused(&format!("{head}section = \"soon\"\n")), @"error: a.toml:3:11: `section`: expected a time such as 5ms, 1.5us, 2s or 300 (nanoseconds), found `soon`");
    insta::assert_snapshot!(refused(&format!("{head}[faults]\ncrash = [\"1@1ms\"\n")), @"error: a.toml:4:17: unclosed array, expected `]`");
}

const HELPS: [&str; 9] = [
    "--help",
    "list --help",
    "sim --help",
    "replay --help",
    "quorum --help",
    "campaign --help",
    "certs --help",
    "man --help",
    "completions --help",
];

/// Commands in all help texts, without the remarks after them.
fn examples() -> Vec<String> {
    HELPS
        .into_iter()
        .flat_map(|help| stdout(help).lines().map(str::to_owned).collect::<Vec<_>>())
        .filter_map(|line| {
            let line = line.trim_start();
            let line = line.strip_prefix("Example: ").unwrap_or(line);
            let example = line.strip_prefix("quorate ")?;
            let stops = ["  ", " | ", " > ", " && "];
            let end = stops.iter().filter_map(|stop| example.find(stop)).min();
            Some(example[..end.unwrap_or(example.len())].to_owned())
        })
        // Servers run until they are stopped, and some commands need a server: they have tests of their own.
        .filter(|example| {
            let name = example.split(' ').next().unwrap_or_default();
            !["lab", "up", "lock"].contains(&name)
        })
        .collect()
}

/// The words of a command line. Words in quotes stay together.
fn words(line: &str) -> Vec<String> {
    let parts = line.split('\'').enumerate();
    let words = parts.flat_map(|(place, part)| match place % 2 {
        1 => vec![part.to_owned()],
        _ => part.split_whitespace().map(str::to_owned).collect(),
    });
    words.collect()
}

#[test]
fn every_example_in_the_help_works() {
    let folder = TempDir::new().expect("a temporary directory can be made");
    let examples = examples();
    assert!(examples.len() >= 10, "{examples:?}");
    for example in examples {
        // A file of the repository is resolved to its full path. Output files go to the temporary directory.
        let words = words(&example).into_iter().map(|word| match root().join(&word) {
            file if word.contains('/') && file.exists() => file.display().to_string(),
            _ => word,
        });
        let mut command = command(folder.path());
        command.args(words);
        let run = Run::of(command);
        assert!(matches!(run.code, Some(0 | 1)) && !run.stdout.is_empty(), "{run}");
    }
}

#[test]
fn the_help_fits_a_hundred_columns() {
    for help in HELPS {
        for line in stdout(help).lines() {
            assert!(line.chars().count() <= 100, "{line}");
        }
    }
}

#[test]
fn there_are_no_colours_where_there_is_no_terminal() {
    for arguments in [
        "--help",
        "sim --help",
        "list",
        FIVE,
        "sim ricart-agrawala --loss 1",
        "sim x",
        "quorum tree",
    ] {
        let run = quorate(Path::new("."), arguments);
        assert!(!run.stdout.contains('\u{1b}') && !run.stderr.contains('\u{1b}'), "{run}");
    }
}

#[test]
fn colours_say_nothing_that_the_text_does_not() {
    for arguments in [
        "list",
        FIVE,
        "sim ricart-agrawala --loss 1",
        "sim central --crash 0@0",
        "quorum tree -n 7 --failed 4",
    ] {
        let mut coloured = command(Path::new("."));
        coloured.args(arguments.split(' ')).env("CLICOLOR_FORCE", "1");
        let coloured = Run::of(coloured).stdout;
        assert!(coloured.contains("\u{1b}["), "{coloured}");
        assert_eq!(without_escapes(&coloured), stdout(arguments));
    }
}

fn without_escapes(text: &str) -> String {
    let mut parts = text.split("\u{1b}[");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |all, part| all + part.split_once('m').map_or("", |(_, rest)| rest))
}

#[test]
fn no_colour_is_respected() {
    let mut plain = command(Path::new("."));
    plain.args(FIVE.split(' ')).env("NO_COLOR", "1");
    assert_eq!(Run::of(plain).stdout, stdout(FIVE));
}

#[test]
fn whoever_entered_is_seen_inside_in_the_timeline() {
    let flags = "-n 5 --requesters all --repeat 3 --fifo no --delay uniform:1ms..20ms --seed 3";
    let text = stdout(&format!("sim ricart-agrawala {flags}"));
    for process in 0..5 {
        let lane = text.lines().find(|line| line.starts_with(&format!("  p{process} ")));
        let spells = lane.expect("a lane").split(' ').collect::<String>();
        let entries = spells.split(|mark| mark != '█').filter(|spell| !spell.is_empty()).count();
        assert_eq!(entries, 3, "p{process} entered three times:\n{text}");
    }
}

#[test]
fn an_entry_is_not_painted_over_by_the_wait_that_follows() {
    // p0 is inside for a nanosecond, requests again immediately, and then waits for p2, which has crashed.
    let flags = "-n 3 --request 0@0 --request 0@0 --request 1@9ms --section 1 --crash 2@3ms";
    let text = stdout(&format!("sim ricart-agrawala {flags}"));
    let lane = text.lines().find(|line| line.starts_with("  p0 ")).expect("a lane");
    assert!(lane.contains('█') && lane.ends_with('·'), "{text}");
}

#[test]
fn whoever_comes_back_with_its_memory_is_seen_where_it_was() {
    // p1 crashes inside and recovers inside, for another four milliseconds.
    let flags = "-n 2 --request 1@0 --section 4ms --crash 1@3ms --recover 1@4ms --detector none";
    let text = stdout(&format!("sim central {flags}"));
    let lane = text.lines().find(|line| line.starts_with("  p1 ")).expect("a lane");
    assert!(lane.split_once('↑').is_some_and(|(_, after)| after.contains('█')), "{text}");
}

#[test]
fn the_command_that_replays_a_violation_can_be_pasted() {
    let folder = TempDir::new().expect("a temporary directory can be made");
    let text = "algorithm = \"central\"\nprocesses = 3\nrequesters = \"all\"\n[faults]\ncrash = [\"0@0\"]\n";
    fs::write(folder.path().join("two words.toml"), text).expect("a temporary file can be written");
    let mut command = command(folder.path());
    command.args(["replay", "two words.toml"]);
    let run = Run::of(command);
    assert!(run.stdout.contains("\nreplay:  quorate replay 'two words.toml'\n"), "{run}");
    let run = quorate(folder.path(), "sim central -n 3 --requesters all --crash ?@0 --loss 1");
    let expected = "\nreplay:  quorate sim central -n 3 --requesters all --crash '?@0' --loss 1\n";
    assert!(run.stdout.contains(expected), "{run}");
}

#[test]
fn a_reader_that_goes_away_is_no_news() {
    use std::process::Stdio;
    for arguments in ["list", "sim --help", "completions bash", "man sim", FIVE] {
        let mut child = command(Path::new("."))
            .args(arguments.split(' '))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary can be started");
        drop(child.stdout.take());
        let output = child.wait_with_output().expect("the binary ends");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.is_empty() && output.status.code().is_some(), "{arguments}: {said}");
    }
}

#[test]
fn completions_know_commands_and_flags() {
    for shell in ["bash", "zsh", "fish"] {
        let script = stdout(&format!("completions {shell}"));
        for word in ["quorate", "replay", "requesters", "crash-mid"] {
            assert!(script.contains(word), "{shell} does not know {word}");
        }
    }
    for shell in ["bash", "zsh"] {
        assert!(stdout(&format!("completions {shell}")).contains("ricart-agrawala"), "{shell}");
    }
}

#[test]
fn the_manual_is_a_page_for_each_command() {
    for (arguments, words) in [
        ("man", ["quorate", "replay", "EXTRA"]),
        ("man sim", ["requesters", "crash", "exponential"]),
        ("man replay", ["replay", "expect", "trace"]),
    ] {
        let page = stdout(arguments);
        assert!(page.contains(".TH") && page.contains(".SH NAME"), "{page}");
        assert!(words.iter().all(|word| page.contains(word)), "{words:?} in\n{page}");
    }
}

#[test]
fn the_version_is_told() {
    assert_eq!(stdout("--version"), format!("quorate {}\n", env!("CARGO_PKG_VERSION")));
}
