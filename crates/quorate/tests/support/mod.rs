//! Runs the binary as a user would, but independent of the environment.

use std::fmt;
use std::path::Path;
use std::process::{Command, Stdio};

/// Result of one call of the binary.
pub(crate) struct Run {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    arguments: String,
}

/// Runs `quorate` in a directory, with arguments separated by blanks.
pub(crate) fn quorate(directory: &Path, arguments: &str) -> Run {
    let mut command = command(directory);
    command.args(arguments.split_whitespace());
    Run::of(command)
}

/// The binary in a directory, without a terminal and without environment variables that change its output.
pub(crate) fn command(directory: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_quorate"));
    command.current_dir(directory).stdin(Stdio::null());
    for name in ["CLICOLOR", "CLICOLOR_FORCE", "COLUMNS", "LINES", "NO_COLOR", "RUST_BACKTRACE"] {
        command.env_remove(name);
    }
    command
}

impl Run {
    /// Runs a command to its end.
    pub(crate) fn of(mut command: Command) -> Self {
        let arguments: Vec<String> =
            command.get_args().map(|argument| argument.to_string_lossy().into_owned()).collect();
        let output = command.output().expect("the binary can be started");
        let text = |bytes| String::from_utf8(bytes).expect("the binary prints text");
        Self {
            code: output.status.code(),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
            arguments: arguments.join(" "),
        }
    }
}

/// Complete output, for the message of a failed assertion.
impl fmt::Display for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { code, stdout, stderr, arguments } = self;
        writeln!(f, "quorate {arguments}\nexit code {code:?}")?;
        write!(f, "--- stdout\n{stdout}--- stderr\n{stderr}---")
    }
}
