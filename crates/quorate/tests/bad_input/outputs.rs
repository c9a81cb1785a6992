//! Output files that cannot be written.

use std::fs;

use crate::refusal::{Folder, HEAD};

#[test]
fn a_file_that_cannot_be_written_is_refused() {
    for flag in ["--trace", "--save"] {
        let folder = Folder::with("file", "");
        fs::create_dir(folder.path().join("folder")).expect("a directory can be made");
        for path in ["missing/out", "folder", "file/out", "folder/missing/out", ""] {
            let line = folder.refusal(&["sim", "central", flag, path]).expect("it is refused");
            assert!(line.contains(path), "{line}");
        }
        let long = "x".repeat(300);
        folder.refusal(&["sim", "central", flag, &long]).expect("it is refused");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_device_that_is_full_is_refused() {
    for flag in ["--trace", "--save"] {
        for command in ["sim central -n 3", "sim ricart-agrawala -n 60 --requesters all"] {
            let words = command.split_whitespace().chain([flag, "/dev/full"]).collect::<Vec<_>>();
            Folder::empty().refusal(&words).expect("it is refused");
        }
    }
}

#[test]
fn the_name_of_a_file_that_cannot_be_written_is_the_only_one_mentioned() {
    let line = Folder::empty()
        .refusal(&["sim", "central", "--trace", "missing/out"])
        .expect("it is refused");
    assert!(!line.contains(".tmp"), "{line}");
}

#[test]
fn the_name_of_a_file_that_cannot_be_written_is_quoted_on_one_line() {
    for flag in ["--trace", "--save"] {
        for path in ["two\nlines/out", "\u{1b}[31mred/out"] {
            let refused = Folder::empty().refusal(&["sim", "central", flag, path]);
            assert!(refused.is_ok(), "{}", refused.unwrap_err());
        }
    }
}

#[test]
fn nothing_is_written_if_one_of_two_files_cannot_be() {
    for arguments in [
        ["sim", "central", "--trace", "good", "--save", "missing/bad"],
        ["sim", "central", "--trace", "missing/bad", "--save", "good"],
    ] {
        let refused = Folder::empty().refusal(&arguments);
        assert!(refused.is_ok(), "{}", refused.unwrap_err());
    }
}

#[test]
fn two_outputs_cannot_go_to_one_file() {
    let folder = Folder::with("scenario.toml", HEAD);
    for arguments in [
        ["sim", "central", "--trace", "same", "--save", "same"],
        ["replay", "scenario.toml", "--trace", "same", "--save", "./same"],
    ] {
        let refused = folder.refusal(&arguments);
        assert!(refused.is_ok(), "{}", refused.unwrap_err());
    }
}

#[test]
fn pictures_that_cannot_be_are_refused() {
    let trace = "{\"event\":0,\"time\":0,\"process\":0,\"type\":\"start\"}\n";
    let folder = Folder::with("run.jsonl", trace);
    for (arguments, part) in [
        ("sim central --diagram out.jpg", "as .svg or .png"),
        ("sim central --diagram out", "as .svg or .png"),
        ("sim central --diagram missing/out.svg", "missing/out.svg"),
        ("sim central --topology missing/out.svg", "missing/out.svg"),
        ("sim central --diagram a.svg --topology ./a.svg", "the same file"),
        ("sim central --diagram a.svg --trace ./a.svg", "the same file"),
        ("sim central --window 1ms..2ms", "--window needs --diagram"),
        ("check central --theme dark", "--theme needs --diagram"),
        ("sim central --diagram a.svg --window 9ms..2ms", "ends after it begins"),
        ("sim central --diagram a.svg --window 1ms~2ms", "a window such as 2ms..9ms"),
        ("sim central --diagram a.svg --window 9s..", "the run ends at"),
        ("sim central -n 3 --diagram a.svg --lanes 1,3", "there is no process 3"),
        ("sim central --diagram a.svg --theme sepia", "auto, light or dark"),
        ("sim central --diagram a.svg --width 1", "360"),
        ("quorum vcube --diagram a.gif", "as .svg or .png"),
        ("quorum vcube --theme dark", "--diagram"),
        ("draw run.jsonl", "--output"),
        ("draw run.jsonl -o out.bmp", "as .svg or .png"),
        ("draw run.jsonl -o run.jsonl", "another file"),
        ("draw missing.jsonl -o out.svg", "missing.jsonl"),
    ] {
        let words: Vec<&str> = arguments.split(' ').collect();
        match folder.refusal(&words) {
            Ok(line) => assert!(line.contains(part), "{arguments}: {line}"),
            Err(problem) => panic!("{problem}"),
        }
    }
}

#[test]
fn what_is_not_a_trace_is_not_drawn() {
    let good = "{\"event\":0,\"time\":0,\"process\":0,\"type\":\"start\"}";
    for (content, part) in [
        (String::new(), "it has no records"),
        ("\n\n".to_owned(), "it has no records"),
        ("algorithm = \"central\"".to_owned(), "line 1"),
        (format!("{good}\n{{\"event\":1}}\n"), "line 2"),
        (format!("{good}\n{}", "[".repeat(100_000)), "line 2"),
        (good.replace("\"process\":0", "\"process\":-1"), "line 1"),
        (good.replace("\"process\":0", "\"process\":4294967295"), "line 1"),
    ] {
        let folder = Folder::with("run.jsonl", content);
        let line = folder.refusal(&["draw", "run.jsonl", "-o", "out.svg"]).expect("it is refused");
        assert!(line.contains(part), "{line}");
    }
    let folder = Folder::with("run.jsonl", [0xff, 0xfe, 0x00, b'\n']);
    folder.refusal(&["draw", "run.jsonl", "-o", "out.svg"]).expect("it is refused");
}

#[test]
fn a_trace_does_not_replace_the_scenario_that_it_is_of() {
    let folder = Folder::with("scenario.toml", HEAD);
    let refused = folder.refusal(&["replay", "scenario.toml", "--trace", "scenario.toml"]);
    assert!(refused.is_ok(), "{}", refused.unwrap_err());
}

#[test]
fn an_older_file_survives_a_run_that_fails() {
    let flood = "sim ricart-agrawala -n 500 --requesters all --memory 2MB";
    for flags in ["--trace old", "--save old", "--trace old --save old2"] {
        let folder = Folder::with("old", "what was there before");
        let words: Vec<&str> = flood.split(' ').chain(flags.split(' ')).collect();
        let refused = folder.refusal(&words);
        assert!(refused.is_ok(), "{}", refused.unwrap_err());
    }
    for flags in ["-n 0", "--crash 9@0", "--timing synchronous --delay exponential:1ms", "--huh"] {
        let folder = Folder::with("old", "what was there before");
        let words: Vec<&str> =
            "sim central --trace old".split(' ').chain(flags.split(' ')).collect();
        let refused = folder.refusal(&words);
        assert!(refused.is_ok(), "{}", refused.unwrap_err());
    }
}
