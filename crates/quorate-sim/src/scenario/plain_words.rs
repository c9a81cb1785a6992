//! Messages of the parser in words for people who write scenarios, and not the parser.

use super::nearest::nearest;

/// Number of names that are worth listing.
const NAMES_MOST: usize = 12;

/// Replaces the phrases of serde in a message. Messages of our own types stay as they are.
pub(super) fn plain_words(message: &str) -> String {
    if let Some(rest) = message.strip_prefix("unknown field ") {
        return unknown_key(rest);
    }
    if let Some(key) = message.strip_prefix("missing field ") {
        return format!("the key {key} is missing");
    }
    let typed = ["invalid type: ", "invalid value: "];
    let rest = typed.into_iter().find_map(|start| message.strip_prefix(start));
    match rest.and_then(|rest| rest.rsplit_once(", expected ")) {
        Some((found, expected)) => format!("expected {}, found {}", kind(expected), value(found)),
        None => message.to_owned(),
    }
}

/// Describes a key that does not exist, given its name and the names that were expected, all in backticks.
fn unknown_key(rest: &str) -> String {
    let mut names = rest.split('`').skip(1).step_by(2);
    let unknown = names.next().unwrap_or_default();
    let known: Vec<&str> = names.collect();
    let hint = match nearest(unknown, known.iter().copied()) {
        Some(near) => format!("; did you mean `{near}`?"),
        None if known.len() <= NAMES_MOST => format!("; there are {}", known.join(", ")),
        None => String::new(),
    };
    format!("there is no key `{unknown}`{hint}")
}

/// Kind of value that serde expects.
fn kind(expected: &str) -> &str {
    match expected {
        "u8" | "u16" | "u32" | "u64" | "usize" => "a whole number, zero or greater",
        "i8" | "i16" | "i32" | "i64" | "isize" => "a whole number",
        "f32" | "f64" => "a number",
        "a boolean" => "true or false",
        "a sequence" => "a list",
        "a string" | "string" => "a text",
        "a map" => "a table",
        structure if structure.starts_with("struct ") => "a table",
        other => other,
    }
}

/// The value that serde found, as its author wrote it.
fn value(found: &str) -> String {
    let kinds = ["string ", "integer ", "floating point ", "boolean ", "character "];
    let written = kinds.into_iter().find_map(|kind| found.strip_prefix(kind));
    match (written, found) {
        (Some(written), _) => {
            written.replace(" as i128", "").replace(" as u128", "").replace('`', "")
        }
        (None, "sequence") => "a list".to_owned(),
        (None, "map") => "a table".to_owned(),
        (None, "null" | "unit value") => "nothing".to_owned(),
        (None, other) => other.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_message_names_a_type_of_the_program() {
        let cases = [
            (
                "invalid type: string \"abc\", expected usize",
                "expected a whole number, zero or greater, found \"abc\"",
            ),
            (
                "invalid value: integer `-1`, expected u64",
                "expected a whole number, zero or greater, found -1",
            ),
            (
                "invalid type: integer `9` as i128, expected usize",
                "expected a whole number, zero or greater, found 9",
            ),
            (
                "invalid type: floating point `1.5`, expected u8",
                "expected a whole number, zero or greater, found 1.5",
            ),
            (
                "invalid type: string \"a, expected b\", expected f64",
                "expected a number, found \"a, expected b\"",
            ),
            ("invalid type: map, expected a sequence", "expected a list, found a table"),
            ("missing field `algorithm`", "the key `algorithm` is missing"),
            (
                "unknown field `proceses`, expected one of `processes`, `seed`",
                "there is no key `proceses`; did you mean `processes`?",
            ),
            ("unknown field `zzz`, expected `seed`", "there is no key `zzz`; there are seed"),
            ("expected a delay, found `x`", "expected a delay, found `x`"),
        ];
        for (message, words) in cases {
            assert_eq!(plain_words(message), words);
        }
    }
}
