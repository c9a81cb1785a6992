//! Programs that some steps need: those of the machine, and our own.

use std::env;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::cargo::Cargo;

/// Whether a program is there.
pub(crate) fn is_installed(program: &str) -> bool {
    let mut command = Command::new(program);
    command.arg("--version").stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// Where a program is, since some are started by their path.
pub(crate) fn find_program(program: &str) -> PathBuf {
    let folders = env::var_os("PATH").unwrap_or_default();
    let candidates = env::split_paths(&folders).map(|folder| folder.join(program));
    candidates.into_iter().find(|path| path.is_file()).unwrap_or_else(|| program.into())
}

pub(crate) fn succeeds(command: &mut Command) -> io::Result<bool> {
    Ok(command.status()?.success())
}

/// Our own program as the tests have built it; none if it does not build.
pub(crate) fn quorate(root: &Path) -> io::Result<Option<PathBuf>> {
    let build = Cargo { environment: &[], arguments: "test --workspace --locked --no-run" };
    eprintln!("    {build}");
    let binary = format!("quorate{}", env::consts::EXE_SUFFIX);
    Ok(build.succeeds(root)?.then(|| root.join("target/debug").join(binary)))
}
