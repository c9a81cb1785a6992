//! `cargo xtask fix`: the only task that writes to the work tree.

use std::io;
use std::path::Path;

use crate::cargo::Cargo;

/// Handling of the expected outputs of tests.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Snapshots {
    Keep,
    Rewrite,
}

/// Formatting comes last, because Clippy's changes are not always formatted.
const REPAIRS: [Cargo<'static>; 2] = [
    Cargo {
        environment: &[],
        arguments: "clippy --fix --allow-dirty --allow-staged --workspace --all-targets --features quorate/png",
    },
    Cargo { environment: &[], arguments: "fmt --all" },
];

/// Continues after a failing test, because otherwise later expected outputs would not be updated.
const REWRITE_SNAPSHOTS: Cargo<'static> = Cargo {
    environment: &[("INSTA_UPDATE", "always"), ("TRYCMD", "overwrite"), ("UPDATE", "1")],
    arguments: "test --workspace --features quorate/png --no-fail-fast",
};

/// Runs every repair, even after a failure, and returns whether all succeeded.
pub(crate) fn run(root: &Path, snapshots: Snapshots) -> io::Result<bool> {
    let mut passed = true;
    for repair in &REPAIRS {
        passed &= announce_and_run(repair, root)?;
    }
    if snapshots == Snapshots::Rewrite {
        passed &= announce_and_run(&REWRITE_SNAPSHOTS, root)?;
        eprintln!(
            "fix: read the differences before committing them: an expected output is a promise"
        );
    }
    eprintln!("{}", if passed { "fix: done" } else { "fix: some of it failed, see above" });
    Ok(passed)
}

fn announce_and_run(repair: &Cargo<'_>, root: &Path) -> io::Result<bool> {
    eprintln!("==> {repair}");
    repair.succeeds(root)
}
