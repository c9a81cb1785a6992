//! Parser for the part of TOML that a `Cargo.toml` uses, so that the tasks need no dependency.
//!
//! It supports tables, dotted and quoted keys, inline tables and multi-line values. It does not support multi-line
//! strings and arrays of tables, which are not needed.

use std::collections::BTreeSet;

/// Values of a manifest, each under its full key: `["package", "version", "workspace"]` is `true`.
pub(crate) struct Manifest {
    entries: Vec<KeyValue>,
}

struct KeyValue {
    key: Vec<String>,
    value: String,
}

impl Manifest {
    pub(crate) fn parse(text: &str) -> Self {
        let mut manifest = Self { entries: Vec::new() };
        let mut table = Vec::new();
        for statement in statements(text) {
            if statement.starts_with('[') {
                table = dotted(statement.trim_matches(['[', ']']));
            } else {
                manifest.add(&table, &statement);
            }
        }
        manifest
    }

    /// Value of a dotted key; strings are returned without quotes.
    pub(crate) fn value(&self, key: &str) -> Option<&str> {
        self.entries
            .iter()
            .find(|entry| entry.key.iter().eq(key.split('.')))
            .map(|entry| entry.value.as_str())
    }

    /// Packages needed to build this one, without dev-dependencies.
    pub(crate) fn dependencies(&self) -> BTreeSet<&str> {
        self.entries.iter().filter_map(KeyValue::dependency).collect()
    }

    fn add(&mut self, table: &[String], assignment: &str) {
        let Some((key, value)) = split_once_outside(assignment, '=') else { return };
        let key: Vec<String> = table.iter().cloned().chain(dotted(key)).collect();
        let value = value.trim();
        match value.strip_prefix('{').and_then(|inner| inner.strip_suffix('}')) {
            Some(inner) => split_outside(inner, ',').iter().for_each(|part| self.add(&key, part)),
            None => self.entries.push(KeyValue { key, value: unquoted(value).to_owned() }),
        }
    }
}

impl KeyValue {
    /// Package of an entry in a dependency table; the real name if it was renamed.
    fn dependency(&self) -> Option<&str> {
        let key: Vec<&str> = self.key.iter().map(String::as_str).collect();
        let inside = match key.as_slice() {
            ["target", _, rest @ ..] => rest,
            whole => whole,
        };
        match inside {
            ["dependencies" | "build-dependencies", _, "package"] => Some(&self.value),
            ["dependencies" | "build-dependencies", name, ..] => Some(*name),
            _ => None,
        }
    }
}

/// Table headers and assignments of a file, one string each, without comments.
fn statements(text: &str) -> Vec<String> {
    let mut statements = Vec::new();
    let mut open = String::new();
    for line in text.lines() {
        open.push_str(without_comment(line).trim());
        if depth(&open) > 0 {
            open.push(' ');
        } else if !open.is_empty() {
            statements.push(std::mem::take(&mut open));
        }
    }
    statements
}

fn without_comment(line: &str) -> &str {
    outside_strings(line).find(|&(_, c)| c == '#').map_or(line, |(at, _)| &line[..at])
}

fn depth(text: &str) -> isize {
    outside_strings(text).map(|(_, c)| nesting(c)).sum()
}

fn nesting(c: char) -> isize {
    match c {
        '[' | '{' => 1,
        ']' | '}' => -1,
        _ => 0,
    }
}

fn dotted(key: &str) -> Vec<String> {
    split_outside(key, '.').into_iter().map(|part| unquoted(part.trim()).to_owned()).collect()
}

fn unquoted(text: &str) -> &str {
    let inner = |quote| text.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote));
    inner('"').or_else(|| inner('\'')).unwrap_or(text)
}

fn split_once_outside(text: &str, separator: char) -> Option<(&str, &str)> {
    let (at, _) = outside_strings(text).find(|&(_, c)| c == separator)?;
    Some((&text[..at], &text[at + separator.len_utf8()..]))
}

/// Parts between separators that are neither in a string nor in brackets.
fn split_outside(text: &str, separator: char) -> Vec<&str> {
    let (mut pieces, mut start, mut depth) = (Vec::new(), 0, 0);
    for (at, c) in outside_strings(text) {
        depth += nesting(c);
        if c == separator && depth == 0 {
            pieces.push(&text[start..at]);
            start = at + c.len_utf8();
        }
    }
    pieces.push(&text[start..]);
    pieces
}

/// Characters that are not part of a string, with their positions.
fn outside_strings(text: &str) -> impl Iterator<Item = (usize, char)> {
    let (mut quote, mut escaped) = (None, false);
    text.char_indices().filter(move |&(_, c)| match quote {
        None if c == '"' || c == '\'' => {
            quote = Some(c);
            false
        }
        None => true,
        Some(open) => {
            let closes = c == open && !escaped;
            escaped = open == '"' && c == '\\' && !escaped;
            if closes {
                quote = None;
            }
            false
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_found_however_its_key_is_written() {
        for text in [
            "[package]\nversion.workspace = true",
            "[package]\nversion = { workspace = true } # inherited",
            "package.version.workspace = true",
            "[package.version]\nworkspace = true",
            "[\"package\"]\n'version'.workspace=true",
        ] {
            assert_eq!(
                Manifest::parse(text).value("package.version.workspace"),
                Some("true"),
                "{text}"
            );
        }
    }

    #[test]
    fn strings_may_hold_what_looks_like_syntax() {
        let manifest =
            Manifest::parse("[package]\ndescription = \"a # b = [c \\\" {\"\nname = 'x'");
        assert_eq!(manifest.value("package.description"), Some("a # b = [c \\\" {"));
        assert_eq!(manifest.value("package.name"), Some("x"));
    }

    #[test]
    fn dependencies_are_found_in_every_table_that_is_built() {
        let manifest = Manifest::parse(
            "[dependencies]\na.workspace = true\n\
             b = { version = \"1\", features = [\n  \"x\", # why\n  \"y\",\n] }\n\
             renamed = { package = \"c\" }\n[dependencies.d]\nversion = \"1\"\n\
             [target.'cfg(unix)'.dependencies]\ne = \"1\"\n[build-dependencies]\nf = \"1\"\n\
             [dev-dependencies]\nonly-tests = \"1\"\n[features]\ndependencies = []\n",
        );
        assert_eq!(manifest.dependencies(), BTreeSet::from(["a", "b", "c", "d", "e", "f"]));
    }
}
