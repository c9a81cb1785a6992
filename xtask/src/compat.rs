//! `cargo xtask verify compat`: etcd's clients get the same results from quorate as from etcd, except as listed.
//!
//! The Rust client needs protoc to build, and etcd must be installed. If one is missing, the step reports it and is
//! skipped. With `QUORATE_PEERS=required`, as in CI, that is a failure.

use std::env;
use std::io;
use std::path::Path;
use std::process::Command;

use crate::cargo::{self, target_directory};
use crate::programs::{self, is_installed, succeeds};

/// Runs the compatibility tests if the required programs are installed. Returns whether the step passed.
pub(crate) fn check(root: &Path) -> io::Result<bool> {
    for program in ["protoc", "etcd"] {
        if !is_installed(program) {
            let hint =
                "install etcd-server, protobuf-compiler and libprotobuf-dev to check it here too";
            eprintln!("    {program} is missing: etcd's clients were not tried; {hint}");
            return Ok(!env::var("QUORATE_PEERS").is_ok_and(|value| value == "required"));
        }
    }
    let Some(binary) = programs::quorate(root)? else { return Ok(false) };
    succeeds(tests(root).env("QUORATE_BIN", binary))
}

/// The command that compiles and runs the tests.
fn tests(root: &Path) -> Command {
    let mut tests = Command::new(cargo::program());
    tests.current_dir(root.join("compat")).args(["test", "--locked"]);
    tests.env("CARGO_TARGET_DIR", target_directory(root).join("compat"));
    tests
}
