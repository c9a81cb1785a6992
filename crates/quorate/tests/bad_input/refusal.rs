//! Checks that a command is rejected properly.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::support::{Run, command};

/// Valid scenario of two lines.
pub(crate) const HEAD: &str = "algorithm = \"central\"\nprocesses = 3\n";

/// Maximum length of a clear line, whatever a hostile file makes it quote.
const LINE_MOST: usize = 1_000;

/// Directory that a rejected command must not change.
pub(crate) struct Folder(TempDir);

impl Folder {
    pub(crate) fn empty() -> Self {
        Self(TempDir::new().expect("a temporary directory can be made"))
    }

    pub(crate) fn with(name: &str, content: impl AsRef<[u8]>) -> Self {
        let folder = Self::empty();
        fs::write(folder.path().join(name), content).expect("a temporary file can be written");
        folder
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    /// Runs a command and returns its error line, or what is wrong with the rejection.
    pub(crate) fn refusal(&self, arguments: &[&str]) -> Result<String, String> {
        let before = self.contents();
        let mut command = command(self.path());
        command.args(arguments);
        let run = Run::of(command);
        if self.contents() != before {
            let after: Vec<_> = self.contents().into_keys().collect();
            return Err(format!("the directory has changed, it holds {after:?}\n{run}"));
        }
        line_of(&run)
    }

    fn contents(&self) -> BTreeMap<PathBuf, Option<Vec<u8>>> {
        fs::read_dir(self.path())
            .expect("the directory can be read")
            .map(|entry| entry.expect("the directory can be read").path())
            .map(|path| (path.clone(), fs::read(path).ok()))
            .collect()
    }
}

/// Returns the error line of a rejected command, or what is wrong with it.
pub(crate) fn line_of(run: &Run) -> Result<String, String> {
    let line = run.stderr.strip_suffix('\n').unwrap_or(&run.stderr);
    let problem = if run.code != Some(2) {
        "the exit code is not 2"
    } else if !run.stdout.is_empty() {
        "there is something on stdout"
    } else if !line.starts_with("error: ") {
        "stderr does not start with `error: `"
    } else if line.contains('\n') {
        "stderr has more than one line"
    } else if line.contains(char::is_control) {
        "stderr has control characters"
    } else if line.chars().count() > LINE_MOST {
        "the line is too long to be read"
    } else {
        return Ok(line.to_owned());
    };
    let shown: String = run.to_string().chars().take(1_500).collect();
    Err(format!("{problem}\n{shown}"))
}

/// Whether a line has the form `error: FILE:LINE:COLUMN: ..`.
pub(crate) fn has_place(line: &str) -> bool {
    let mut parts = line.splitn(5, ':').skip(2);
    let mut number = || parts.next().is_some_and(|part| part.parse::<u32>().is_ok());
    number() && number()
}

/// Requires each command to be rejected with a line that contains its fragment.
#[track_caller]
pub(crate) fn all_refused(cases: &[(&str, &str)]) {
    let wrong = |(arguments, fragment): &(&str, &str)| {
        let words: Vec<&str> = arguments.split_whitespace().collect();
        match Folder::empty().refusal(&words) {
            Ok(line) if line.contains(fragment) => None,
            Ok(line) => Some(format!("{arguments}: expected `{fragment}` in\n{line}")),
            Err(problem) => Some(problem),
        }
    };
    report(cases.iter().filter_map(wrong));
}

/// Requires each scenario file to be rejected with a line that contains the fragment, and with a position that
/// starts with the given one.
#[track_caller]
pub(crate) fn all_files_refused(cases: &[(&str, &str, &str)]) {
    let wrong = |(text, place, fragment): &(&str, &str, &str)| {
        let folder = Folder::with("scenario.toml", text);
        let start = format!("error: scenario.toml:{place}");
        let shown: String = text.chars().take(200).collect();
        match folder.refusal(&["replay", "scenario.toml", "--trace", "trace.jsonl"]) {
            Ok(line) if line.starts_with(&start) && has_place(&line) && line.contains(fragment) => {
                None
            }
            Ok(line) => {
                Some(format!("expected `{start}` and `{fragment}`, found\n{line}\nof\n{shown}"))
            }
            Err(problem) => Some(format!("{problem}\nof\n{shown}")),
        }
    };
    report(cases.iter().filter_map(wrong));
}

/// Fails with all problems, not only the first.
#[track_caller]
pub(crate) fn report(wrong: impl Iterator<Item = String>) {
    let wrong: Vec<String> = wrong.collect();
    assert!(wrong.is_empty(), "{} wrong:\n\n{}", wrong.len(), wrong.join("\n\n"));
}
