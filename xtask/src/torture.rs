//! `cargo xtask torture`: a cluster of real processes under real faults, for as long as one likes.

use std::io;
use std::path::Path;

use crate::cargo::Cargo;

/// Runs it with the words after `torture`; without a kind, faults. The exit code is the torture's own.
pub(crate) fn run(root: &Path, words: &[&str]) -> io::Result<u8> {
    let arguments = arguments(words);
    let cargo = Cargo { environment: &[], arguments: &arguments };
    eprintln!("==> {cargo}");
    cargo.exit_code(root)
}

/// Hardly optimised, as the tests are: a cluster that waits for leases most of the time needs no more, and it is built sooner.
fn arguments(words: &[&str]) -> String {
    let kind = match words.first() {
        Some(&("faults" | "stress")) => "",
        _ => "faults ",
    };
    format!("run --quiet --profile test -p quorate-torture -- {kind}{}", words.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_kind_it_is_faults() {
        assert!(arguments(&["--seed", "7"]).ends_with(" -- faults --seed 7"));
        assert!(arguments(&["stress", "--json"]).ends_with(" -- stress --json"));
    }
}
