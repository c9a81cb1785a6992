//! Check that core and algorithms are `no_std`, so that they cannot use a clock, a socket or a thread.

use std::env;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::tidy::Problem;
use crate::tree::TextFile;

/// Widely used target without an operating system, suggested if none is installed.
pub(crate) const USUAL_TARGET: &str = "thumbv7em-none-eabi";

const CRATES: [&str; 2] = ["crates/quorate-algorithms/src/", "crates/quorate-core/src/"];

/// First installed target without `std`. It searches the toolchain's directory, so that it also works for a compiler
/// that `rustup` does not manage.
pub(crate) fn installed_target(root: &Path) -> Option<String> {
    let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let answer =
        Command::new(rustc).current_dir(root).args(["--print", "sysroot"]).output().ok()?;
    let sysroot = String::from_utf8(answer.stdout).ok()?;
    let targets = fs::read_dir(Path::new(sysroot.trim()).join("lib/rustlib")).ok()?;
    let names = targets.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    names.filter(|name| has_no_std(name)).min()
}

fn has_no_std(target: &str) -> bool {
    target.split('-').any(|part| part == "none")
}

/// Problems visible in the sources: a missing `#![no_std]`, or `std` outside of tests.
pub(crate) fn problems(files: &[TextFile]) -> Vec<Problem> {
    CRATES.iter().flat_map(|source| problems_of_crate(source, files)).collect()
}

fn problems_of_crate(source: &str, files: &[TextFile]) -> Vec<Problem> {
    let mut problems = Vec::new();
    let root = format!("{source}lib.rs");
    if !files.iter().any(|file| file.path == root && declares_no_std(file)) {
        problems.push(Problem::of_file(&root, "must say `#![no_std]`"));
    }
    let sources = files.iter().filter(|file| file.is_rust() && file.path.starts_with(source));
    problems.extend(sources.filter(|file| !is_test_file(file)).flat_map(uses_of_std));
    problems
}

fn declares_no_std(file: &TextFile) -> bool {
    file.text.lines().any(|line| line == "#![no_std]")
}

fn uses_of_std(file: &TextFile) -> impl Iterator<Item = Problem> {
    let lines = lines_outside_tests(file).filter(|(_, line)| mentions_std(line));
    lines.map(|(number, _)| Problem::at(file, number, "`std` outside of tests"))
}

fn is_test_file(file: &TextFile) -> bool {
    file.path.ends_with("/tests.rs") || file.path.contains("/tests/")
}

fn mentions_std(line: &str) -> bool {
    let code = line.split("//").next().unwrap_or(line);
    let in_name = |c: char| c.is_alphanumeric() || c == '_';
    code.trim() == "extern crate std;"
        || code.match_indices("std::").any(|(at, _)| !code[..at].ends_with(in_name))
}

/// State while scanning a file, to skip items marked `#[cfg(test)]`. This is simple because the code is formatted: an
/// item ends with the first `}` that is indented like its attribute.
enum ScanState<'a> {
    Code,
    Marked { indent: &'a str },
    Test { indent: &'a str },
}

fn lines_outside_tests(file: &TextFile) -> impl Iterator<Item = (usize, &str)> {
    let mut state = ScanState::Code;
    file.lines().filter(move |&(_, line)| {
        let is_code = matches!(state, ScanState::Code) && !is_test_marker(line);
        state = next_state(&state, line);
        is_code
    })
}

fn next_state<'a>(state: &ScanState<'a>, line: &'a str) -> ScanState<'a> {
    match *state {
        ScanState::Code if is_test_marker(line) => ScanState::Marked { indent: indent(line) },
        ScanState::Code => ScanState::Code,
        ScanState::Marked { indent } if line.ends_with('{') => ScanState::Test { indent },
        ScanState::Marked { .. } if line.ends_with([';', '}']) => ScanState::Code,
        ScanState::Marked { indent } => ScanState::Marked { indent },
        ScanState::Test { indent }
            if line.strip_prefix(indent).is_some_and(|rest| rest.starts_with('}')) =>
        {
            ScanState::Code
        }
        ScanState::Test { indent } => ScanState::Test { indent },
    }
}

fn is_test_marker(line: &str) -> bool {
    ["#[cfg(test)]", "#[cfg(all(test,"].iter().any(|marker| line.trim_start().starts_with(marker))
}

fn indent(line: &str) -> &str {
    &line[..line.len() - line.trim_start().len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn both_crates(text: &str) -> Vec<TextFile> {
        CRATES
            .map(|source| TextFile { path: format!("{source}lib.rs"), text: text.to_owned() })
            .to_vec()
    }

    fn lines_found(text: &str) -> Vec<String> {
        problems(&both_crates(text)[..])
            .iter()
            .map(Problem::to_string)
            .filter(|line| line.contains("core"))
            .collect()
    }

    #[test]
    fn a_crate_without_the_attribute_is_caught() {
        assert_eq!(problems(&[]).len(), 2);
        assert_eq!(
            lines_found("// #![no_std]\n"),
            ["crates/quorate-core/src/lib.rs: must say `#![no_std]`"]
        );
    }

    #[test]
    fn std_in_the_code_is_caught() {
        let found =
            lines_found("#![no_std]\nextern crate std;\nfn f() {\n    std::process::exit(0)\n}\n");
        let expected = [2, 4]
            .map(|line| format!("crates/quorate-core/src/lib.rs:{line}: `std` outside of tests"));
        assert_eq!(found, expected);
    }

    #[test]
    fn std_after_a_test_is_caught() {
        let text = "#![no_std]\n#[cfg(test)]\nmod a;\n\
                    #[cfg(test)]\nmod b {\n    fn c() {}\n}\nuse std::fmt;\n";
        assert_eq!(lines_found(text), ["crates/quorate-core/src/lib.rs:8: `std` outside of tests"]);
    }

    #[test]
    fn comments_tests_and_other_names_are_let_through() {
        let text = "//! Like `std::vec`.\n#![no_std]\n#[cfg(test)]\nextern crate std;\n\
                    use my_std::x; // not std::x\n#[cfg(test)]\n#[expect(x)]\nmod tests {\n    \
                    use std::vec;\n    fn f() {\n    }\n\n    use std::fmt;\n}\n";
        assert_eq!(lines_found(text), Vec::<String>::new());
    }

    #[test]
    fn a_target_without_a_system_is_known_by_its_name() {
        assert!(has_no_std(USUAL_TARGET) && has_no_std("riscv32imc-unknown-none-elf"));
        assert!(!has_no_std("x86_64-unknown-linux-gnu") && !has_no_std("etc"));
    }
}
