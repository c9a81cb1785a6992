//! `cargo xtask torture`: runs a cluster of real processes under real faults.

use std::io;
use std::path::Path;

use crate::cargo::Cargo;
use crate::upgrade::earlier_program;

/// Hardly optimised, like the tests: the cluster mostly waits for leases, and the build is faster.
const CARGO: Cargo<'static> =
    Cargo { environment: &[], arguments: "run --quiet --profile test -p quorate-torture --" };

/// Runs the torture with these arguments; the default kind is `faults`. Returns its exit code.
pub(crate) fn run(root: &Path, words: &[&str]) -> io::Result<u8> {
    let arguments = arguments(words);
    if let ["upgrade", words @ ..] = arguments.as_slice()
        && !words.contains(&"--help")
    {
        let (program, words) = earlier_program(root, words)?;
        return start(root, &[&["faults", "--from", &program.to_string_lossy()], words].concat());
    }
    start(root, &arguments)
}

fn start(root: &Path, arguments: &[&str]) -> io::Result<u8> {
    eprintln!("==> {CARGO}{}", shown(arguments));
    CARGO.exit_code_with(root, arguments)
}

/// Arguments of the torture program, unchanged.
fn arguments<'a>(words: &[&'a str]) -> Vec<&'a str> {
    match words.first() {
        Some(&("faults" | "stress" | "upgrade")) => words.to_vec(),
        _ => [&["faults"], words].concat(),
    }
}

/// Arguments as a user would type them.
fn shown(arguments: &[&str]) -> String {
    let quoted = |word: &&str| {
        let quote = if word.contains(' ') || word.is_empty() { "'" } else { "" };
        format!(" {quote}{word}{quote}")
    };
    arguments.iter().map(quoted).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_kind_it_is_faults() {
        assert_eq!(arguments(&["--seed", "7"]), ["faults", "--seed", "7"]);
        assert_eq!(arguments(&["stress", "--json"]), ["stress", "--json"]);
        assert_eq!(arguments(&[]), ["faults"]);
    }

    #[test]
    fn an_argument_may_contain_blanks() {
        let arguments = arguments(&["--only", "cut off"]);
        assert_eq!(arguments, ["faults", "--only", "cut off"]);
        assert_eq!(shown(&arguments), " faults --only 'cut off'");
    }
}
