//! `cargo xtask performance`: measures quorate beside everybody else and writes docs/performance.md.

use std::io;
use std::path::Path;

use crate::cargo::Cargo;

/// All of them, into the folder of the documents. Figures need a release build, and a machine that does nothing else.
const ARGUMENTS: &str = "run --release --locked -p quorate -- bench \
    --against etcd,zookeeper,redis,redlock,stateright,madsim,simpy --out docs";

/// Runs it with further words, such as `--seconds 1`. The exit code is that of `quorate bench`.
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
