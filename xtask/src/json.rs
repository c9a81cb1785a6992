//! Reads and writes JSON: the list of mutants, messages of cargo, bills of materials.

use std::fmt;
use std::io;

/// A JSON value. Numbers are non-negative integers, because the texts that are read contain no others that matter.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Json {
    Other,
    Number(usize),
    Bool(bool),
    Text(String),
    List(Vec<Json>),
    Object(Vec<(String, Json)>),
}

impl Json {
    pub(crate) fn parse(text: &str) -> io::Result<Self> {
        let mut reader = Reader { text: text.as_bytes(), at: 0 };
        let value = reader.value();
        value.ok_or_else(|| io::Error::other(format!("byte {} is not JSON", reader.at)))
    }

    /// Value at a path of fields. `Other` if there is none.
    pub(crate) fn at(&self, path: &[&str]) -> &Self {
        const NONE: &Json = &Json::Other;
        path.iter().fold(self, |value, name| match value {
            Self::Object(fields) => {
                fields.iter().find(|(field, _)| field == name).map_or(NONE, |(_, value)| value)
            }
            _ => NONE,
        })
    }

    pub(crate) fn text(&self) -> Option<&str> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }

    pub(crate) fn number(&self) -> Option<usize> {
        if let Self::Number(number) = self { Some(*number) } else { None }
    }

    pub(crate) fn list(&self) -> &[Self] {
        if let Self::List(items) = self { items } else { &[] }
    }

    pub(crate) fn text_of(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    pub(crate) fn object<'a>(fields: impl IntoIterator<Item = (&'a str, Self)>) -> Self {
        Self::Object(fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
    }
}

/// The value as JSON on one line.
impl fmt::Display for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Other => f.write_str("null"),
            Self::Number(number) => write!(f, "{number}"),
            Self::Bool(truth) => write!(f, "{truth}"),
            Self::Text(text) => write_text(f, text),
            Self::List(items) => {
                f.write_str("[")?;
                for (index, item) in items.iter().enumerate() {
                    write!(f, "{}{item}", if index == 0 { "" } else { "," })?;
                }
                f.write_str("]")
            }
            Self::Object(fields) => {
                f.write_str("{")?;
                for (index, (name, value)) in fields.iter().enumerate() {
                    f.write_str(if index == 0 { "" } else { "," })?;
                    write_text(f, name)?;
                    write!(f, ":{value}")?;
                }
                f.write_str("}")
            }
        }
    }
}

fn write_text(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    f.write_str("\"")?;
    for c in text.chars() {
        match c {
            '"' | '\\' => write!(f, "\\{c}")?,
            c if c.is_control() => write!(f, "\\u{:04x}", u32::from(c))?,
            c => write!(f, "{c}")?,
        }
    }
    f.write_str("\"")
}

struct Reader<'a> {
    text: &'a [u8],
    at: usize,
}

impl Reader<'_> {
    fn value(&mut self) -> Option<Json> {
        self.skip(|byte| byte.is_ascii_whitespace());
        match self.peek()? {
            b'"' => self.string().map(Json::Text),
            b'[' => {
                let mut items = Vec::new();
                self.items(b']', |reader| reader.value().map(|item| items.push(item)))?;
                Some(Json::List(items))
            }
            b'{' => {
                let mut fields = Vec::new();
                self.items(b'}', |reader| {
                    let name = reader.string()?;
                    reader.expect(b':')?;
                    reader.value().map(|value| fields.push((name, value)))
                })?;
                Some(Json::Object(fields))
            }
            _ => {
                let start = self.at;
                self.skip(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte));
                match std::str::from_utf8(&self.text[start..self.at]).ok()? {
                    "" => None,
                    "true" => Some(Json::Bool(true)),
                    "false" => Some(Json::Bool(false)),
                    word => Some(word.parse().map_or(Json::Other, Json::Number)),
                }
            }
        }
    }

    /// Reads a list or an object, whose opening bracket is next, up to and with `end`.
    fn items(&mut self, end: u8, mut item: impl FnMut(&mut Self) -> Option<()>) -> Option<()> {
        self.at += 1;
        if self.expect(end).is_some() {
            return Some(());
        }
        loop {
            self.skip(|byte| byte.is_ascii_whitespace());
            item(self)?;
            if self.expect(b',').is_none() {
                return self.expect(end);
            }
        }
    }

    fn string(&mut self) -> Option<String> {
        self.expect(b'"')?;
        let mut bytes = Vec::new();
        loop {
            let byte = self.next()?;
            match byte {
                b'"' => return String::from_utf8(bytes).ok(),
                b'\\' => {
                    let character = self.escaped()?;
                    bytes.extend(character.encode_utf8(&mut [0; 4]).as_bytes());
                }
                byte => bytes.push(byte),
            }
        }
    }

    /// The character of an escape sequence. Halves of surrogate pairs become replacement characters.
    fn escaped(&mut self) -> Option<char> {
        Some(match self.next()? {
            b'n' => '\n',
            b't' => '\t',
            b'r' => '\r',
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'u' => {
                let digits = self.text.get(self.at..self.at + 4)?;
                self.at += 4;
                let code = u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
                char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER)
            }
            other => char::from(other),
        })
    }

    fn expect(&mut self, byte: u8) -> Option<()> {
        self.skip(|byte| byte.is_ascii_whitespace());
        (self.peek()? == byte).then(|| self.at += 1)
    }

    fn next(&mut self) -> Option<u8> {
        let byte = self.peek()?;
        self.at += 1;
        Some(byte)
    }

    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn skip(&mut self, skipped: impl Fn(u8) -> bool) {
        while self.peek().is_some_and(&skipped) {
            self.at += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_and_found_by_their_path() {
        let text =
            r#" {"a": [1, -2.5, true, null], "b": {"c": "x\"\n\u00e9é"}, "e": [], "f": {}} "#;
        let json = Json::parse(text).expect("it is JSON");
        assert_eq!(json.at(&["b", "c"]).text(), Some("x\"\néé"));
        let (number, other, truth) = (Json::Number(1), Json::Other, Json::Bool(true));
        assert_eq!(json.at(&["a"]).list(), [number, other.clone(), truth, other]);
        assert_eq!(json.at(&["e"]).list(), []);
        assert_eq!(json.at(&["missing", "c"]), &Json::Other);
    }

    #[test]
    fn a_value_that_is_written_can_be_read() {
        let text = r#"{"a\"\\":[1,true,"\u000aé",null],"b":{},"c":[]}"#;
        let json = Json::parse(text).expect("it is JSON");
        assert_eq!(json.to_string(), text);
        assert_eq!(Json::parse(&json.to_string()).expect("it is JSON"), json);
    }

    #[test]
    fn what_is_not_json_is_an_error() {
        for text in ["", "[1", "{\"a\" 1}", "\"open", "[1,]"] {
            assert!(Json::parse(text).is_err(), "{text}");
        }
    }
}
