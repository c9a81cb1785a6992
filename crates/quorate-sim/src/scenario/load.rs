//! Loading of scenario files, with the position of errors.

use std::fmt;
use std::io::Read;
use std::path::Path;

use super::description::Scenario;
use super::expect::Expect;
use super::fault::Faults;
use super::plain_words::plain_words;
use super::validate::Invalid;

/// Maximum size of a scenario file in bytes.
const BYTES_MOST: u64 = 1 << 20;

/// Why a scenario file cannot be used, with the position of the error.
#[derive(Debug, PartialEq, Eq)]
pub struct FileError {
    /// Name of the file as errors show it.
    pub file: String,
    /// Line and column, counted from one, if they are known.
    pub position: Option<(usize, usize)>,
    /// Key whose value is wrong, with its table, if it is known.
    pub key: Option<String>,
    /// Description of the error.
    pub problem: String,
}

/// Prints `FILE:LINE:COLUMN: problem`, a form that editors understand.
impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file)?;
        if let Some((line, column)) = self.position {
            write!(f, ":{line}:{column}")?;
        }
        write!(f, ": {}", self.problem)
    }
}

impl std::error::Error for FileError {}

/// Reads and validates a scenario file.
#[inline]
pub fn load(path: &Path) -> Result<Scenario, FileError> {
    load_text(path).and_then(|text| parse(&text, &path.display().to_string()))
}

/// Creates an error at this key of a file for a problem that only the caller can detect.
pub fn file_error_at(path: &Path, key: &'static str, problem: String) -> FileError {
    let invalid = Invalid { key, index: None, problem };
    let text = load_text(path).unwrap_or_default();
    let position = span_of(&text, &invalid).map(|start| line_and_column(&text, start));
    FileError {
        file: path.display().to_string(),
        position,
        key: Some(key.to_owned()),
        problem: invalid.problem,
    }
}

fn load_text(path: &Path) -> Result<String, FileError> {
    let file = path.display().to_string();
    let error =
        |problem: String| FileError { file: file.clone(), position: None, key: None, problem };
    let unreadable = |cause: std::io::Error| error(format!("cannot be read: {cause}"));
    let opened = std::fs::File::open(path).map_err(unreadable)?;
    // A pipe or a device has no size to check. Read at most one byte more than a scenario may have.
    let mut bytes = Vec::new();
    opened.take(BYTES_MOST + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > BYTES_MOST {
        return Err(error(format!(
            "is larger than the {BYTES_MOST} bytes that a scenario may have"
        )));
    }
    String::from_utf8(bytes).map_err(|_| error("is not text".to_owned()))
}

/// Parses and validates the text of a scenario. Errors show `file` as its name.
// Inline, so that the parser is compiled in the crates that read files. They are hardly optimised; this one is, which takes
// long.
#[inline]
pub fn parse(text: &str, file: &str) -> Result<Scenario, FileError> {
    let file = file.to_owned();
    let scenario: Scenario =
        toml::from_str(text).map_err(|error| parse_error(text, &file, &error))?;
    scenario.validate().map_err(|invalid| FileError {
        file: file.clone(),
        position: span_of(text, &invalid).map(|start| line_and_column(text, start)),
        key: Some(invalid.key.to_owned()),
        problem: format!("`{}`: {}", invalid.key, invalid.problem),
    })?;
    Ok(scenario)
}

/// Describes an error of the parser, with the key whose value is wrong.
fn parse_error(text: &str, file: &str, error: &toml::de::Error) -> FileError {
    let start = error.span().map_or(0, |span| span.start);
    let misplaced = misplaced(error.message());
    let key = key_at(text, start).filter(|_| misplaced.is_none());
    let words = || one_line(&plain_words(error.message()));
    let problem = match (misplaced, &key) {
        (Some(problem), _) => problem,
        (None, Some(key)) => format!("`{key}`: {}", words()),
        (None, None) => words(),
    };
    FileError { file: file.to_owned(), position: Some(line_and_column(text, start)), key, problem }
}

/// Returns the key whose value is at this offset, with its table.
fn key_at(text: &str, offset: usize) -> Option<String> {
    let document = toml::de::DeTable::parse(text).ok()?;
    let mut table = document.get_ref();
    let mut path: Vec<&str> = Vec::new();
    loop {
        let (key, value) = table.iter().find(|(_, value)| value.span().contains(&offset))?;
        path.push(key.get_ref());
        match value.get_ref() {
            toml::de::DeValue::Table(inner)
                if inner.iter().any(|(_, value)| value.span().contains(&offset)) =>
            {
                table = inner;
            }
            _ => return Some(path.join(".")),
        }
    }
}

/// Names the table to which an unknown key belongs. Flags have no tables, so that their names are tried at the top first.
fn misplaced(message: &str) -> Option<String> {
    let key = message.strip_prefix("unknown field `")?.split('`').next()?;
    let has = |expected: String| expected.contains(&format!("`{key}`"));
    let table = match key {
        _ if has(expected_keys::<Faults>()) => "belongs to the table [faults]",
        _ if has(expected_keys::<Expect>()) => "belongs to the table [expect]",
        _ if has(expected_keys::<Scenario>()) => "belongs to the top of the file, above all tables",
        _ => return None,
    };
    Some(format!("`{key}` {table}"))
}

/// The message of serde that lists the keys of a type, none of which is empty.
fn expected_keys<T: serde::de::DeserializeOwned>() -> String {
    let known = toml::from_str::<T>("\"\" = 0").err();
    known.map_or_else(String::new, |error| error.message().to_owned())
}

/// Finds the byte offset of the invalid value in the text.
fn span_of(text: &str, invalid: &Invalid) -> Option<usize> {
    let document = toml::de::DeTable::parse(text).ok()?;
    let mut keys = invalid.key.split('.');
    let mut value = document.get_ref().get(keys.next()?)?;
    for key in keys {
        value = value.get_ref().get(key)?;
    }
    if let Some(index) = invalid.index {
        value = value.get_ref().get(index)?;
    }
    Some(value.span().start)
}

fn line_and_column(text: &str, offset: usize) -> (usize, usize) {
    let before = &text[..text.floor_char_boundary(offset)];
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or("").chars().count() + 1;
    (line, column)
}

/// Joins a message into one line and replaces control characters that it may quote.
fn one_line(message: &str) -> String {
    let words: Vec<&str> =
        message.split('\n').map(str::trim).filter(|line| !line.is_empty()).collect();
    words
        .join("; ")
        .chars()
        .map(|c| if c.is_control() { '\u{fffd}' } else { c })
        .take(300)
        .collect()
}
