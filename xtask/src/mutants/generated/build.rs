//! A copy of the workspace whose crate contains all mutants.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::list::Mutant;
use super::suite::{Fate, Program};
use super::weave::{Edit, SELECTOR, Woven, weave};
use crate::cargo::clean_environment;
use crate::json::Json;
use crate::tree::{synchronise, write_if_changed};

/// Parts of the workspace that tests of a crate need.
const PARTS: [&str; 5] = ["Cargo.toml", "Cargo.lock", "crates", "scenarios", "xtask"];

/// Number that selects the mutant with this index. Zero selects none.
pub(super) fn number(index: usize) -> usize {
    index + 1
}

/// Copy of the workspace.
pub(super) struct Copy {
    original: PathBuf,
    package: String,
    /// Tests to compile, as arguments of `cargo test`.
    tests: Vec<&'static str>,
    folder: PathBuf,
}

/// The compiled copy.
pub(super) struct Built {
    pub(super) programs: Vec<Program>,
    /// For each mutant the number of its function, or its fate if it is in no program.
    pub(super) fates: Vec<Result<usize, Fate>>,
}

/// A file with mutants: its text, and the index of its first mutant.
struct WovenFile {
    woven: Woven,
    first: usize,
}

impl Copy {
    pub(super) fn create(
        root: &Path,
        package: &str,
        tests: Vec<&'static str>,
        folder: &Path,
    ) -> io::Result<Self> {
        let copy = Self {
            original: root.to_path_buf(),
            package: package.to_owned(),
            tests,
            folder: folder.to_path_buf(),
        };
        fs::create_dir_all(copy.root())?;
        for part in PARTS {
            synchronise(&root.join(part), &copy.root().join(part))?;
        }
        Ok(copy)
    }

    /// Root of the copied workspace.
    pub(super) fn root(&self) -> &Path {
        &self.folder
    }

    /// Compiles the tests with all mutants, and takes out those that do not compile.
    pub(super) fn build(&self, mutants: &[Mutant]) -> io::Result<Built> {
        let library = format!("crates/{}/src/lib.rs", self.package);
        let mut refused = BTreeSet::new();
        loop {
            let files = self.weave_all(mutants, &refused)?;
            for (name, file) in &files {
                let selector = if *name == library { SELECTOR } else { "" };
                let text = format!("{}{selector}", file.woven.text);
                write_if_changed(&self.folder.join(name), text.as_bytes())?;
            }
            if !files.contains_key(library.as_str()) {
                let text = fs::read_to_string(self.original.join(&library))?;
                let text = format!("{text}{SELECTOR}");
                write_if_changed(&self.folder.join(&library), text.as_bytes())?;
            }
            let messages = self.compile()?;
            let errors: Vec<&Json> = messages.iter().filter(|it| is_error(it)).collect();
            if errors.is_empty() {
                let programs = messages.iter().filter_map(Program::of_message).collect();
                return Ok(Built { programs, fates: fates(mutants.len(), &files, &refused) });
            }
            let before = refused.len();
            for error in &errors {
                refused.extend(suspects(error, &files));
            }
            eprintln!("{} mutants do not compile", refused.len());
            if refused.len() == before {
                let text = errors[0].at(&["message", "rendered"]).text().unwrap_or("no message");
                return Err(io::Error::other(format!("the copy does not compile: {text}")));
            }
        }
    }

    fn weave_all<'m>(
        &self,
        mutants: &'m [Mutant],
        refused: &BTreeSet<usize>,
    ) -> io::Result<BTreeMap<&'m str, WovenFile>> {
        let mut files = BTreeMap::new();
        for (first, mutant) in mutants.iter().enumerate() {
            let name = mutant.file.as_str();
            if files.contains_key(name) {
                continue;
            }
            let text = fs::read_to_string(self.original.join(name))?;
            let own = mutants[first..].iter().take_while(|other| other.file == name).enumerate();
            let edit = |(index, mutant): (usize, &Mutant)| -> Option<Edit> {
                (!refused.contains(&(first + index))).then(|| mutant.edit.clone())
            };
            let edits: Vec<Option<Edit>> = own.map(edit).collect();
            files.insert(name, WovenFile { woven: weave(&text, &edits, number(first)), first });
        }
        Ok(files)
    }

    /// Compiles the tests. Returns the messages of cargo.
    fn compile(&self) -> io::Result<Vec<Json>> {
        let mut cargo = Command::new("cargo");
        clean_environment(&mut cargo);
        cargo.current_dir(&self.folder).env("CARGO_TARGET_DIR", self.folder.join("target"));
        cargo.args(["test", "--no-run", "--locked", "--message-format=json", "--package"]);
        cargo.arg(&self.package).args(&self.tests).stderr(Stdio::piped());
        let output = cargo.output()?;
        let text = String::from_utf8_lossy(&output.stdout);
        let messages: io::Result<Vec<Json>> = text.lines().map(Json::parse).collect();
        let messages = messages?;
        if !output.status.success() && !messages.iter().any(is_error) {
            let why = String::from_utf8_lossy(&output.stderr).into_owned();
            return Err(io::Error::other(format!("the copy does not compile: {why}")));
        }
        Ok(messages)
    }
}

fn is_error(message: &Json) -> bool {
    let has_spans = !message.at(&["message", "spans"]).list().is_empty();
    message.at(&["message", "level"]).text() == Some("error") && has_spans
}

/// Mutants that may be responsible for an error.
fn suspects(error: &Json, files: &BTreeMap<&str, WovenFile>) -> Vec<usize> {
    let spans = error.at(&["message", "spans"]).list().iter();
    let (primary, secondary): (Vec<&Json>, Vec<&Json>) =
        spans.partition(|span| span.at(&["is_primary"]) == &Json::Bool(true));
    let of_spans = |spans: &[&Json]| -> Vec<usize> {
        let of_span = |span: &&Json| -> Option<Vec<usize>> {
            let file = files.get(span.at(&["file_name"]).text()?)?;
            let range: Range<usize> =
                span.at(&["byte_start"]).number()?..span.at(&["byte_end"]).number()?;
            let suspects = file.woven.suspects(&range);
            Some(suspects.into_iter().map(|index| file.first + index).collect())
        };
        spans.iter().filter_map(of_span).flatten().collect()
    };
    let found = of_spans(&primary);
    if found.is_empty() { of_spans(&secondary) } else { found }
}

fn fates(
    count: usize,
    files: &BTreeMap<&str, WovenFile>,
    refused: &BTreeSet<usize>,
) -> Vec<Result<usize, Fate>> {
    let mut fates = vec![Err(Fate::LeftOut); count];
    for WovenFile { woven, first } in files.values() {
        for (_, own) in &woven.functions {
            let function = number(first + own[0]);
            own.iter().for_each(|index| fates[first + index] = Ok(function));
        }
    }
    refused.iter().for_each(|index| fates[*index] = Err(Fate::DoesNotCompile));
    fates
}
