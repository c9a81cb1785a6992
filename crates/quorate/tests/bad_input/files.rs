//! Scenario files that are malformed or hostile.

use std::fs;
use std::io::Write;
use std::process::Stdio;

use crate::refusal::{Folder, HEAD, all_files_refused, has_place, line_of, report};
use crate::support::{command, quorate};

#[test]
fn a_file_that_is_no_scenario_is_refused_where_it_goes_wrong() {
    all_files_refused(&[
        ("", "1:1", "algorithm"),
        ("# nothing but a comment\n", "1:1", "algorithm"),
        ("algorithm = \"central\"\n", "1:1", "processes"),
        ("algorithm", "1:10", "expected `=`"),
        ("algorithm = \"cent", "1:18", ""),
        ("algorithm = \"central\"\nprocesses = \n", "2:13", ""),
        ("algorithm = \"central\"\nprocesses = 3\n[faults\n", "3:8", "`]`"),
        ("algorithm = \"central\"\nprocesses = 3\n[faults]\ncrash = [\"1@1ms\"\n", "4:17", "`]`"),
        ("hello, is anybody there?\n", "1:6", ""),
        ("{\"algorithm\": \"central\"}\n", "1:1", ""),
    ]);
}

#[test]
fn a_file_with_a_wrong_value_is_refused_where_it_stands() {
    let cases = [
        ("crash = [\"1@1ms\"]", "3:1", "`crash` belongs to the table [faults]"),
        ("[faults]\nseed = 1", "4:1", "`seed` belongs to the top of the file"),
        ("verdict = \"holds\"", "3:1", "`verdict` belongs to the table [expect]"),
        ("seed = -1", "3:8", "-1"),
        ("seed = 1.5", "3:8", "1.5"),
        ("seed = \"x\"", "3:8", "a whole number"),
        ("processes = 4", "3:1", "duplicate key"),
        ("fifo = \"yes\"", "3:8", "true or false"),
        ("section = -5", "3:11", "zero or later"),
        ("section = 1.5", "3:11", "such as 5ms"),
        ("section = true", "3:11", "true"),
        ("section = 99999999999999999999", "3:11", ""),
        ("server = 3", "3:10", "the processes are 0 to 2"),
        ("server = 4294967296", "3:10", "4294967296"),
        ("repeat = 0", "3:10", "at least once"),
        ("requesters = 4", "3:14", "4 requesters among 3"),
        ("requesters = \"all\"\nrequest = [\"1@0\"]", "3:14", "not both"),
        ("request = [\"1@0\", \"3@0\"]", "3:19", "there is no process 3"),
        ("request = \"1@0\"", "3:11", "a list"),
        ("delay = \"sometimes\"", "3:9", "constant:1ms"),
        ("delay = [\"constant:1ms\"]", "3:9", "a list"),
        ("delay = \"exponential:1ms\"\ntiming = \"synchronous\"", "4:10", "no bound"),
        ("detector = \"none\"\n[faults]\nsuspect = [\"0-1@0\"]", "5:11", "only the oracle"),
        ("watch = [\"ME1\", \"ME9\"]", "3:17", "ME1, ME2, ME3"),
        ("colour = \"red\"", "3:1", "colour"),
        ("[faults]\ncrush = [\"1@0\"]", "4:1", "crash"),
        ("[faults]\ncrash = \"1@0\"", "4:9", "a list"),
        ("[faults]\ncrash = [\"1@0\", \"7@1ms\"]", "4:17", "there is no process 7"),
        ("[faults]\ncrash = [\"1@0\"]\nrecover = [\"2@1ms\"]", "5:12", "has not crashed"),
        ("[faults]\nloss = nan", "4:8", "between 0 and 1"),
        ("[faults]\nloss = -0.1", "4:8", "between 0 and 1"),
        ("[faults]\nloss = 1e999", "4:8", ""),
        ("[faults]\npartition = [\"0|16777215@0\"]", "4:14", "there is no process"),
        ("[faults]\npartition = [\"0|4294967295@0\"]", "4:", "0,1|2,3"),
        ("[faults]\n[faults]", "4:", "duplicate"),
        ("[expect]\nverdict = \"fine\"", "4:11", "outside-assumptions"),
        ("[expect]\nentries = -1", "4:11", "-1"),
        ("[expect]\nproperties = { ME1 = \"perhaps\" }", "4:", "holds"),
        ("[[expect]]\nentries = 1", "", ""),
    ];
    for (lines, place, fragment) in cases {
        all_files_refused(&[(&format!("{HEAD}{lines}\n"), place, fragment)]);
    }
}

#[test]
fn a_file_with_a_hostile_number_of_processes_is_refused() {
    for (number, fragment) in [
        ("0", "at least 1"),
        ("-1", "-1"),
        ("1e3", "1000"),
        ("9999999999", "at most 16777216"),
        ("9223372036854775807", "at most 16777216"),
        ("99999999999999999999", ""),
        ("0xffffffffffffffffffffffffffffffffff", ""),
        ("\"3\"", "a whole number"),
        ("[3]", "a list"),
    ] {
        let text = format!("algorithm = \"central\"\nprocesses = {number}\n");
        all_files_refused(&[(&text, "2:13", fragment)]);
    }
}

#[test]
fn an_algorithm_that_a_file_misspells_is_pointed_at() {
    all_files_refused(&[
        ("processes = 3\nalgorithm = \"centrl\"\n", "2:13", "did you mean `central`?"),
        ("algorithm = \"two\\nlines\"\nprocesses = 3\n", "1:13", ""),
    ]);
}

#[test]
fn a_deeply_nested_file_is_refused() {
    let brackets = format!("{HEAD}x = {}{}", "[".repeat(100_000), "]".repeat(100_000));
    let braces = format!("{HEAD}x = {}1{}", "{a=".repeat(50_000), "}".repeat(50_000));
    all_files_refused(&[(&brackets, "3:", "recurs"), (&braces, "3:", "recurs")]);
}

#[test]
fn a_key_with_a_hundred_thousand_parts_is_refused_at_its_place() {
    let dotted = format!("{HEAD}{}b = 1", "a.".repeat(100_000));
    let folder = Folder::with("scenario.toml", dotted);
    let line = folder.refusal(&["replay", "scenario.toml"]);
    assert!(line.as_ref().is_ok_and(|line| has_place(line)), "{line:?}");
}

#[test]
fn control_characters_in_a_file_do_not_reach_the_terminal() {
    let wrong = [
        "section = \"1\\u001b[31mms\"",
        "section = \"1\u{1}ms\"",
        "\"two\\nlines\" = 1",
        "\"\\u001b[31mred\" = 1",
        "watch = [\"two\\nlines\"]",
        "watch = [\"\\u001b[31mred\"]",
        "detector = \"two\\nlines\"",
        "x = \u{0}",
        "[faults]\ncrash = [\"\\u0007@1ms\"]",
        "[expect]\nverdict = \"two\\nlines\"",
    ]
    .into_iter()
    .filter_map(|lines| {
        let folder = Folder::with("scenario.toml", format!("{HEAD}{lines}\n"));
        folder.refusal(&["replay", "scenario.toml"]).err()
    });
    report(wrong);
}

#[test]
fn what_a_hostile_file_quotes_is_shortened() {
    let long = "A".repeat(1_000_000);
    let wrong = [
        format!("{HEAD}watch = [\"{long}\"]"),
        format!("{HEAD}{long} = 1"),
        format!("{HEAD}section = \"{long}\""),
        format!("{HEAD}[faults]\ncrash = [\"{long}\"]"),
        format!("algorithm = \"{long}\"\nprocesses = 3\n"),
    ]
    .into_iter()
    .filter_map(|text| Folder::with("a.toml", text).refusal(&["replay", "a.toml"]).err());
    report(wrong);
}

#[test]
fn what_cannot_be_read_as_text_is_refused_by_name() {
    let folder = Folder::with("latin.toml", b"algorithm = \"\xff\xfe\"\nprocesses = 3\n");
    fs::create_dir(folder.path().join("folder")).expect("a directory can be made");
    for name in ["latin.toml", "folder", "missing.toml", "latin.toml/inside.toml"] {
        let line =
            folder.refusal(&["replay", name, "--save", "saved.toml"]).expect("it is refused");
        assert!(line.starts_with(&format!("error: {name}: ")), "{line}");
    }
}

#[test]
fn a_file_of_two_megabytes_is_refused() {
    let folder = Folder::with("big.toml", format!("{HEAD}{}", "#".repeat(2_000_000)));
    let line = folder.refusal(&["replay", "big.toml"]).expect("it is refused");
    assert!(line.starts_with("error: big.toml: ") && line.contains("1048576"), "{line}");
}

#[cfg(unix)]
#[test]
fn two_megabytes_through_a_pipe_are_refused_too() {
    let folder = Folder::empty();
    let mut child = command(folder.path())
        .args(["replay", "/dev/stdin"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary can be started");
    let mut pipe = child.stdin.take().expect("stdin is a pipe");
    // The reader should stop early, so a write error is fine.
    let _ = pipe.write_all(format!("{HEAD}{}", "#".repeat(2_000_000)).as_bytes());
    drop(pipe);
    let output = child.wait_with_output().expect("the binary ends");
    assert_eq!(output.status.code(), Some(2), "{}", String::from_utf8_lossy(&output.stdout));
}

#[test]
fn an_expectation_about_something_that_does_not_exist_is_refused() {
    // Otherwise a misspelt expectation would always be met.
    let wrong = [
        "properties = { ME9 = \"not-checked\" }",
        "by-kind = { REPLAY = 0 }",
        "broken-assumptions = [\"no-los\"]",
    ]
    .into_iter()
    .filter_map(|line| {
        let folder = Folder::with("scenario.toml", format!("{HEAD}[expect]\n{line}\n"));
        folder.refusal(&["replay", "scenario.toml", "--expect"]).err()
    });
    report(wrong);
}

#[test]
fn expectations_that_a_file_does_not_have_cannot_be_met() {
    let folder = Folder::with("scenario.toml", HEAD);
    let line = folder.refusal(&["replay", "scenario.toml", "--expect"]).expect("it is refused");
    assert!(line.contains("scenario.toml") && line.contains("[expect]"), "{line}");
}

/// A truncated file is either a shorter scenario or an error with a position.
#[test]
fn a_file_cut_off_anywhere_is_run_or_refused() {
    let whole = "algorithm = \"central\"\nprocesses = 3\nrequest = [\"1@0\", \"2@1ms\"]\n\
                 delay = \"uniform:1ms..3ms\"\n[faults]\ncrash = [\"1@5ms\"]\nloss = 0.25\n\
                 [expect]\nproperties = { ME1 = \"holds\" }\n";
    let wrong = (0..whole.len()).filter_map(|length| {
        let folder = Folder::with("cut.toml", &whole[..length]);
        let run = quorate(folder.path(), "replay cut.toml");
        let ran = matches!(run.code, Some(0 | 1)) && !run.stdout.is_empty();
        let refused = line_of(&run).is_ok_and(|line| has_place(&line));
        (!ran && !refused).then(|| format!("cut off at {length}: {run}"))
    });
    report(wrong);
}
