//! Programs that some steps need: installed ones, and our own.

use std::env;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::cargo::{Cargo, target_directory};

/// Whether a program is installed.
pub(crate) fn is_installed(program: &str) -> bool {
    let mut command = Command::new(program);
    command.arg("--version").stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// Path of a program on the PATH, because some programs must be started by their path.
pub(crate) fn find_program(program: &str) -> PathBuf {
    let folders = env::var_os("PATH").unwrap_or_default();
    let candidates = env::split_paths(&folders).map(|folder| folder.join(program));
    candidates.into_iter().find(|path| path.is_file()).unwrap_or_else(|| program.into())
}

pub(crate) fn succeeds(command: &mut Command) -> io::Result<bool> {
    Ok(command.status()?.success())
}

/// Builds our program together with the tests and returns its path; `None` if the build fails.
pub(crate) fn quorate(root: &Path) -> io::Result<Option<PathBuf>> {
    let build = Cargo {
        environment: &[],
        arguments: "test --workspace --features quorate/png --locked --no-run",
    };
    eprintln!("    {build}");
    let binary = format!("quorate{}", env::consts::EXE_SUFFIX);
    Ok(build.succeeds(root)?.then(|| target_directory(root).join("debug").join(binary)))
}
