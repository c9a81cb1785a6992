//! The mutants that cargo-mutants generates.

use std::fs;
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

use super::weave::Edit;
use crate::json::Json;

/// A generated mutant.
#[derive(Clone, Debug)]
pub(super) struct Mutant {
    /// File, relative to the root of the repository.
    pub(super) file: String,
    pub(super) line: usize,
    /// The change, such as "replace == with != in Central::grant".
    pub(super) change: String,
    pub(super) edit: Edit,
}

/// Mutants of a package in files below a path, in the order of their files.
pub(super) fn mutants(root: &Path, package: &str, path: &str) -> io::Result<Vec<Mutant>> {
    let mut command = Command::new("cargo");
    command.current_dir(root).args(["mutants", "--list", "--json", "--package", package]);
    let output = command.stderr(Stdio::piped()).output()?;
    if !output.status.success() {
        let why = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        let text =
            format!("`cargo mutants` failed: {why}\nhint: cargo install cargo-mutants --locked");
        return Err(io::Error::other(text));
    }
    let list = Json::parse(&String::from_utf8_lossy(&output.stdout))?;
    let is_chosen = |file: &str| file == path || file.starts_with(&format!("{path}/"));
    let (mut mutants, mut text) = (Vec::new(), (String::new(), String::new()));
    for json in list.list() {
        let Some(file) = json.at(&["file"]).text().filter(|file| is_chosen(file)) else { continue };
        if text.0 != file {
            text = (file.to_owned(), fs::read_to_string(root.join(file))?);
        }
        mutants.extend(mutant(json, file, &text.1));
    }
    mutants.sort_by(|a, b| (&a.file, a.edit.range.start).cmp(&(&b.file, b.edit.range.start)));
    Ok(mutants)
}

fn mutant(json: &Json, file: &str, text: &str) -> Option<Mutant> {
    let place = |end| {
        let at = json.at(&["span", end]);
        Some((at.at(&["line"]).number()?, at.at(&["column"]).number()?))
    };
    let (start, end) = (place("start")?, place("end")?);
    let change = json.at(&["name"]).text()?.splitn(4, ':').nth(3)?.trim().to_owned();
    let replacement = json.at(&["replacement"]).text()?.to_owned();
    let edit = Edit { range: offset(text, start)..offset(text, end), replacement };
    Some(Mutant { file: file.to_owned(), line: start.0, change, edit })
}

/// Byte offset of a line and a column, both counted from 1. Columns are characters.
fn offset(text: &str, (line, column): (usize, usize)) -> usize {
    let start: usize = text.split_inclusive('\n').take(line - 1).map(str::len).sum();
    let characters = text[start..].char_indices().nth(column - 1);
    characters.map_or(text.len(), |(at, _)| start + at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mutant_is_read_from_the_list() {
        let json = r#"{"file": "crates/a/src/b.rs", "genre": "BinaryOperator", "replacement": "!=",
            "name": "crates/a/src/b.rs:2:5: replace == with != in A::b",
            "span": {"start": {"line": 2, "column": 5}, "end": {"line": 2, "column": 7}}}"#;
        let (json, text) = (Json::parse(json).expect("it is JSON"), "é\n1é2 == 3\n");
        let mutant = mutant(&json, "crates/a/src/b.rs", text).expect("it is a mutant");
        assert_eq!((mutant.change.as_str(), mutant.line), ("replace == with != in A::b", 2));
        assert_eq!(mutant.edit, Edit { range: 8..10, replacement: "!=".to_owned() });
    }
}
