//! Errors of commands: one line with the problem and a remedy.

use std::fmt::Display;
use std::io;
use std::process::ExitCode;

use anstream::eprintln;
use anstyle::{AnsiColor, Style};

/// Exit code for "could not run".
const COULD_NOT_RUN: u8 = 2;
/// Exit code for wrong arguments of `lock` and `elect`, whose command may itself return any small code.
pub(crate) const USAGE: u8 = 64;

/// Reason why a command could not run.
#[derive(Debug)]
pub(crate) struct CommandError {
    message: String,
    /// Lines below the message: the place in a file.
    excerpt: Vec<String>,
    quiet: bool,
    code: u8,
}

impl CommandError {
    /// Creates an error with this message and exit code 2.
    pub(crate) fn new(message: impl Display) -> Self {
        let message = one_plain_line(&message.to_string());
        Self { message, excerpt: Vec::new(), quiet: false, code: COULD_NOT_RUN }
    }

    /// Adds the lines of a file that the message is about, with a mark below the place.
    #[must_use]
    pub(crate) fn with_excerpt(mut self, excerpt: &str) -> Self {
        self.excerpt = excerpt.lines().map(one_plain_line).collect();
        self
    }

    /// Sets another exit code.
    #[must_use]
    pub(crate) fn with_code(mut self, code: u8) -> Self {
        self.code = code;
        self
    }

    /// Prints a warning with the message and what is done instead.
    pub(crate) fn warn(&self, instead: &str) {
        let bold = Style::new().bold().fg_color(Some(AnsiColor::Yellow.into()));
        eprintln!("{bold}warning{bold:#}: {}; {instead}", self.message);
    }

    /// Prints the error and returns its exit code.
    pub(crate) fn report(&self) -> ExitCode {
        if self.quiet {
            return ExitCode::SUCCESS;
        }
        let bold = Style::new().bold().fg_color(Some(AnsiColor::Red.into()));
        eprintln!("{bold}error{bold:#}: {}", self.message);
        for line in &self.excerpt {
            eprintln!("{line}");
        }
        ExitCode::from(self.code)
    }
}

/// Output that cannot be written. A broken pipe is not reported, because the reader chose to stop.
impl From<io::Error> for CommandError {
    fn from(error: io::Error) -> Self {
        let quiet = error.kind() == io::ErrorKind::BrokenPipe;
        let message = one_plain_line(&format!("cannot write the output: {error}"));
        Self { message, excerpt: Vec::new(), quiet, code: COULD_NOT_RUN }
    }
}

/// Prints help and versions unchanged, and usage errors on one line.
pub(crate) fn report_usage_error(error: &clap::Error) -> ExitCode {
    use clap::error::ErrorKind;
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            let _ = error.print();
            ExitCode::SUCCESS
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            let _ = error.print();
            ExitCode::from(COULD_NOT_RUN)
        }
        _ => {
            let command = std::env::args_os().nth(1);
            let is_lock_command =
                command.is_some_and(|command| command == "lock" || command == "elect");
            let mut message = one_line(&error.render().to_string());
            if is_lock_command && let Some(line) = with_separator(error) {
                message += &format!("; tip: the command comes after `--`: {line}");
            }
            let failure = CommandError::new(message);
            failure.with_code(if is_lock_command { USAGE } else { COULD_NOT_RUN }).report()
        }
    }
}

/// The command line of `lock` or `elect` with the separator before the first argument that the parser did not expect.
fn with_separator(error: &clap::Error) -> Option<String> {
    use clap::error::{ContextKind, ContextValue, ErrorKind};
    let Some(ContextValue::String(unexpected)) = error.get(ContextKind::InvalidArg) else {
        return None;
    };
    let words: Vec<String> =
        std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    let is_command = error.kind() == ErrorKind::UnknownArgument && !unexpected.starts_with('-');
    if !is_command || words.iter().any(|word| word == "--") {
        return None;
    }
    let (before, command) = words.split_at(words.iter().position(|word| word == unexpected)?);
    Some(format!("quorate {} -- {}", before.join(" "), command.join(" ")))
}

/// Reduces the message of the parser, which has several lines, to one line.
fn one_line(rendered: &str) -> String {
    let skipped = |line: &&str| {
        !line.is_empty() && !line.starts_with("Usage:") && !line.starts_with("For more")
    };
    let mut lines: Vec<&str> = rendered.lines().map(str::trim).filter(skipped).collect();
    // If there is a suggestion, the list of possible values is not needed.
    if lines.iter().any(|line| line.starts_with("tip:")) {
        lines.retain(|line| !line.starts_with("[possible values"));
    }
    let text = lines.join("; ").replace(":; ", ": ");
    text.strip_prefix("error: ").unwrap_or(&text).to_owned()
}

/// Makes a message safe to print: one line without control characters and of limited length.
fn one_plain_line(message: &str) -> String {
    const MOST: usize = 600;
    let plain = |c: char| if c.is_control() { c.escape_debug().to_string() } else { c.to_string() };
    let mut line: String = message.chars().take(MOST).map(plain).collect();
    if message.chars().count() > MOST {
        line.push('…');
    }
    line
}
