//! Project rules that no compiler checks, as pure functions over the text files of the tree.

mod algorithm_files;
mod arrows;
mod links;
#[cfg(test)]
mod tests;
mod words;

use std::fmt;

use crate::manifest::Manifest;
use crate::tree::TextFile;

const LINES_MAX: usize = 700;

/// Header lines with which a reader can choose an algorithm without reading code.
const HEADER_LABELS: [&str; 5] =
    ["Source", "Assumes", "Guarantees", "Costs", "Departs from the paper"];

/// The words below are split so that this file passes its own rules.
const LEFT_OVER_MACROS: [&str; 3] =
    [concat!("todo", "!("), concat!("unimplemented", "!("), concat!("dbg", "!(")];
const LEFT_OVER_WORDS: [&str; 2] = [concat!("FIX", "ME"), concat!("XX", "X")];
const MACHINE_PATHS: [&str; 4] =
    [concat!("/ho", "me/"), concat!("/Us", "ers/"), concat!("/ro", "ot/"), concat!("/wo", "rk/")];

/// Keys that every crate inherits from the workspace.
const INHERITED: [&str; 4] = [
    "package.version.workspace",
    "package.license.workspace",
    "package.rust-version.workspace",
    "lints.workspace",
];

/// Violation of a rule, and its location.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Problem {
    path: String,
    line: Option<usize>,
    rule: String,
}

impl Problem {
    pub(crate) fn of_file(path: &str, rule: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line: None, rule: rule.into() }
    }

    pub(crate) fn at(file: &TextFile, line: usize, rule: impl Into<String>) -> Self {
        Self { path: file.path.clone(), line: Some(line), rule: rule.into() }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}:{line}: {}", self.path, self.rule),
            None => write!(f, "{}: {}", self.path, self.rule),
        }
    }
}

/// All violations, sorted by location.
pub(crate) fn problems(files: &[TextFile]) -> Vec<Problem> {
    let mut problems: Vec<Problem> = files.iter().flat_map(problems_of).collect();
    problems.extend(algorithm_files::problems(files));
    problems.extend(links::problems(files));
    problems.sort();
    problems
}

fn problems_of(file: &TextFile) -> Vec<Problem> {
    let mut problems = Vec::new();
    problems.extend(machine_paths(file));
    problems.extend(left_over_words(file));
    if file.is_rust() {
        problems.extend(too_long(file));
        problems.extend(left_over_macros(file));
        problems.extend(unexplained_ignores(file));
        problems.extend(words::problems(file));
    }
    if is_algorithm(&file.path) {
        problems.extend(missing_header_lines(file));
    }
    if let Some(name) = scenario_name(&file.path) {
        problems.extend(scenario_rules(file, name));
    }
    if let Some(name) = crate_of_manifest(&file.path) {
        let manifest = Manifest::parse(&file.text);
        problems.extend(not_inherited(file, &manifest));
        problems.extend(arrows::forbidden_dependencies(file, name, &manifest));
    }
    problems
}

fn machine_paths(file: &TextFile) -> impl Iterator<Item = Problem> {
    let found =
        file.lines().filter(|(_, line)| MACHINE_PATHS.iter().any(|path| has_absolute(line, path)));
    found.map(|(number, _)| {
        Problem::at(file, number, "a path of one machine; say it relative to the repository")
    })
}

/// A `/` after a name, a dot or a closing bracket continues a relative path or a URL. Elsewhere it starts an
/// absolute path.
fn has_absolute(line: &str, path: &str) -> bool {
    let continues = |c: char| c.is_alphanumeric() || "-_.~)]}>*".contains(c);
    line.match_indices(path).any(|(at, _)| !line[..at].ends_with(continues))
}

fn left_over_words(file: &TextFile) -> impl Iterator<Item = Problem> {
    file.lines().flat_map(move |(number, line)| {
        let found = LEFT_OVER_WORDS.iter().filter(|word| has_word(line, word));
        found.map(move |word| Problem::at(file, number, format!("left-over marker {word}")))
    })
}

fn left_over_macros(file: &TextFile) -> impl Iterator<Item = Problem> {
    file.lines().flat_map(move |(number, line)| {
        let found = LEFT_OVER_MACROS.iter().filter(|word| has_word(line, word));
        found.map(move |word| Problem::at(file, number, format!("left-over marker `{word}`")))
    })
}

/// Whether the word occurs as a whole word. A word that ends in a bracket ends there.
fn has_word(line: &str, word: &str) -> bool {
    let part_of_name = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(word).any(|(at, _)| {
        let after = &line[at + word.len()..];
        !line[..at].ends_with(part_of_name)
            && (word.ends_with('(') || !after.starts_with(part_of_name))
    })
}

fn too_long(file: &TextFile) -> Option<Problem> {
    // Generated files may have any length.
    if file.path.contains("/generated/") {
        return None;
    }
    let lines = file.text.lines().count();
    let rule = || format!("{lines} lines, more than {LINES_MAX}; look for the second idea in it");
    (lines > LINES_MAX).then(|| Problem::of_file(&file.path, rule()))
}

fn unexplained_ignores(file: &TextFile) -> impl Iterator<Item = Problem> {
    let found = file.lines().filter(|(_, line)| ignores_silently(line));
    found.map(|(number, _)| {
        Problem::at(file, number, "an ignored test gives its reason: `ignore = \"...\"`")
    })
}

fn ignores_silently(line: &str) -> bool {
    let line = line.trim_start();
    let attribute = ["#[ignore", "#[cfg_attr("].iter().any(|start| line.starts_with(start));
    let Some((_, after)) =
        line.split_once("ignore").filter(|_| attribute && has_word(line, "ignore"))
    else {
        return false;
    };
    let reason =
        after.trim_start().strip_prefix('=').and_then(|value| value.trim_start().strip_prefix('"'));
    reason.is_none_or(|text| text.trim_start().starts_with('"'))
}

/// Algorithms are files directly below a family. `mod.rs` contains what they share.
fn is_algorithm(path: &str) -> bool {
    let Some(inside) = path.strip_prefix("crates/quorate-algorithms/src/") else { return false };
    let Some((_, name)) = inside.split_once('/') else { return false };
    !name.contains('/') && name.ends_with(".rs") && name != "mod.rs"
}

fn missing_header_lines(file: &TextFile) -> impl Iterator<Item = Problem> {
    let missing = HEADER_LABELS.iter().filter(|label| !has_header_line(&file.text, label));
    missing.map(|label| {
        Problem::of_file(&file.path, format!("the header lacks a line `//! - **{label}**: ...`"))
    })
}

fn has_header_line(text: &str, label: &str) -> bool {
    let start = format!("- **{label}**:");
    let mut header = text.lines().map_while(|line| line.strip_prefix("//!"));
    header
        .any(|line| line.trim().strip_prefix(&start).is_some_and(|value| !value.trim().is_empty()))
}

fn scenario_name(path: &str) -> Option<&str> {
    path.strip_prefix("scenarios/")?.rsplit('/').next()?.strip_suffix(".toml")
}

fn scenario_rules(file: &TextFile, name: &str) -> impl Iterator<Item = Problem> {
    let comment =
        (!file.text.starts_with('#')).then_some("starts with a comment that says what to look at");
    let kebab = (!is_kebab_case(name)).then_some("its name is lower-case words joined by `-`");
    comment
        .into_iter()
        .chain(kebab)
        .map(|rule| Problem::of_file(&file.path, format!("a scenario: {rule}")))
}

fn is_kebab_case(name: &str) -> bool {
    let is_word = |word: &str| {
        !word.is_empty() && word.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit())
    };
    name.split('-').all(is_word)
}

fn crate_of_manifest(path: &str) -> Option<&str> {
    let name = path.strip_prefix("crates/")?.strip_suffix("/Cargo.toml")?;
    (!name.contains('/')).then_some(name)
}

fn not_inherited(file: &TextFile, manifest: &Manifest) -> Vec<Problem> {
    let missing = INHERITED.iter().filter(|key| manifest.value(key) != Some("true"));
    missing
        .map(|key| {
            Problem::of_file(&file.path, format!("must take from the workspace: `{key} = true`"))
        })
        .collect()
}
