//! `cargo xtask verify own-mutex`: tests the example of an algorithm from outside, which is a workspace of its own.

use std::io;
use std::path::Path;
use std::process::Command;

use crate::cargo::{self, target_directory};
use crate::programs::succeeds;

/// Runs the tests of the example. Returns whether they passed.
pub(crate) fn check(root: &Path) -> io::Result<bool> {
    succeeds(&mut tests(root))
}

/// The command that compiles and runs the tests.
fn tests(root: &Path) -> Command {
    let mut tests = Command::new(cargo::program());
    tests.current_dir(root.join("examples/own_mutex")).args(["test", "--locked"]);
    tests.env("CARGO_TARGET_DIR", target_directory(root).join("own-mutex"));
    tests
}
