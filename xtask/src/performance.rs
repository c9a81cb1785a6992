//! `cargo xtask performance`: measures quorate and all compared systems, and writes docs/performance.md.

use std::io;
use std::path::Path;

use crate::cargo::Cargo;

/// Compares with everything and writes to the docs directory. Published figures are those of the
/// profile `dist`, on an otherwise idle machine.
const ARGUMENTS: &str = "run --profile dist --locked -p quorate -- bench \
    --against etcd,zookeeper,redis,redlock,stateright,madsim,simpy --out docs";

/// Runs the benchmark with additional arguments, such as `--seconds 1`. Returns the exit code of `quorate bench`.
pub(crate) fn run(root: &Path, words: &[&str]) -> io::Result<u8> {
    let arguments = [&[ARGUMENTS], words].concat().join(" ");
    let cargo = Cargo { environment: &[], arguments: &arguments };
    eprintln!("==> {cargo}");
    cargo.exit_code(root)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_have_one_blank_between_them() {
        assert!(ARGUMENTS.split(' ').all(|word| !word.is_empty()), "{ARGUMENTS}");
    }
}
