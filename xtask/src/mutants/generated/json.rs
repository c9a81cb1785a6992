//! Reads JSON: the list of mutants, and the messages of cargo.

use std::io;

/// A JSON value. Numbers are non-negative integers, because the texts that are read contain no others that matter.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Json {
    Other,
    Number(usize),
    Bool(bool),
    Text(String),
    List(Vec<Json>),
    Object(Vec<(String, Json)>),
}

impl Json {
    pub(super) fn parse(text: &str) -> io::Result<Self> {
        let mut reader = Reader { text: text.as_bytes(), at: 0 };
        let value = reader.value();
        value.ok_or_else(|| io::Error::other(format!("byte {} is not JSON", reader.at)))
    }

    /// Value at a path of fields. `Other` if there is none.
    pub(super) fn at(&self, path: &[&str]) -> &Self {
        const NONE: &Json = &Json::Other;
        path.iter().fold(self, |value, name| match value {
            Self::Object(fields) => {
                fields.iter().find(|(field, _)| field == name).map_or(NONE, |(_, value)| value)
            }
            _ => NONE,
        })
    }

    pub(super) fn text(&self) -> Option<&str> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }

    pub(super) fn number(&self) -> Option<usize> {
        if let Self::Number(number) = self { Some(*number) } else { None }
    }

    pub(super) fn list(&self) -> &[Self] {
        if let Self::List(items) = self { items } else { &[] }
    }
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
    fn what_is_not_json_is_an_error() {
        for text in ["", "[1", "{\"a\" 1}", "\"open", "[1,]"] {
            assert!(Json::parse(text).is_err(), "{text}");
        }
    }
}
