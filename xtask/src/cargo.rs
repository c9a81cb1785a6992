//! A cargo command that can be shown and run.

use std::env;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Environment variables that make test libraries rewrite their expected outputs or pass regardless. Each task sets
/// what it needs, so inherited values are dropped.
const NOT_INHERITED: [&str; 6] = [
    "INSTA_FORCE_PASS",
    "INSTA_FORCE_UPDATE",
    "INSTA_FORCE_UPDATE_SNAPSHOTS",
    "INSTA_UPDATE",
    "SNAPSHOTS",
    "TRYCMD",
];

/// Cargo command line with its environment.
#[derive(Clone, Copy)]
pub(crate) struct Cargo<'a> {
    pub(crate) environment: &'a [(&'a str, &'a str)],
    /// Words separated by single blanks; none of ours needs quoting.
    pub(crate) arguments: &'a str,
}

impl Cargo<'_> {
    /// Runs the command with inherited output, and returns whether it succeeded.
    pub(crate) fn succeeds(&self, root: &Path) -> io::Result<bool> {
        Ok(self.exit_code(root)? == 0)
    }

    /// Runs the command and returns its exit code; 1 if a signal ended it.
    pub(crate) fn exit_code(&self, root: &Path) -> io::Result<u8> {
        self.exit_code_with(root, &[])
    }

    /// Runs the command with more arguments, which may contain blanks, and returns its exit code.
    pub(crate) fn exit_code_with(&self, root: &Path, more: &[&str]) -> io::Result<u8> {
        let mut command = self.command(root);
        let status = command.args(more).status().map_err(|error| cannot_start(&command, &error))?;
        Ok(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1))
    }

    /// Runs the command and returns its output; `None` if it failed.
    pub(crate) fn output(&self, root: &Path) -> io::Result<Option<String>> {
        let mut command = self.command(root);
        command.stderr(Stdio::inherit());
        let output = command.output().map_err(|error| cannot_start(&command, &error))?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        Ok(output.status.success().then_some(text))
    }

    fn command(&self, root: &Path) -> Command {
        let mut command = Command::new(program());
        clean_environment(&mut command);
        command.current_dir(root).args(self.arguments.split(' '));
        command.envs(self.environment.iter().copied());
        command
    }
}

/// Path of the cargo that runs this program, or its name.
pub(crate) fn program() -> PathBuf {
    env::var_os("CARGO").map_or_else(|| "cargo".into(), PathBuf::from)
}

/// Drops environment variables that must not be inherited.
pub(crate) fn clean_environment(command: &mut Command) {
    for name in NOT_INHERITED {
        command.env_remove(name);
    }
}

/// Equivalent shell command line.
impl fmt::Display for Cargo<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, value) in self.environment {
            let quote = if value.contains(' ') { "'" } else { "" };
            write!(f, "{name}={quote}{value}{quote} ")?;
        }
        write!(f, "cargo {}", self.arguments)
    }
}

/// The target directory that cargo uses for this workspace.
pub(crate) fn target_directory(root: &Path) -> PathBuf {
    env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), |path| root.join(path))
}

fn cannot_start(command: &Command, error: &io::Error) -> io::Error {
    let program = command.get_program().to_string_lossy();
    io::Error::new(
        error.kind(),
        format!("cannot start `{program}`: {error}; is Rust installed and on the PATH?"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_shown_can_be_typed() {
        let doc =
            Cargo { environment: &[("A", "-D warnings"), ("B", "no")], arguments: "doc --no-deps" };
        assert_eq!(doc.to_string(), "A='-D warnings' B=no cargo doc --no-deps");
    }

    #[test]
    fn a_program_that_is_missing_is_named() {
        let error = cannot_start(&Command::new("cargo"), &io::Error::from(io::ErrorKind::NotFound));
        assert!(error.to_string().starts_with("cannot start `cargo`: "), "{error}");
    }
}
