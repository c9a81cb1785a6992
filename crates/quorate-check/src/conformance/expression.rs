//! S-expressions, in which models are exported.

/// A word, a text in quotation marks, or a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Expression {
    Word(String),
    List(Vec<Expression>),
}

impl Expression {
    /// Parses all expressions of a text. A comment extends from `;` to the end of its line.
    pub(super) fn parse_all(text: &str) -> Result<Vec<Self>, String> {
        let mut open: Vec<Vec<Self>> = vec![Vec::new()];
        for token in tokens(text) {
            match token.as_str() {
                "(" => open.push(Vec::new()),
                ")" => {
                    let list = open.pop().unwrap_or_default();
                    let outer =
                        open.last_mut().ok_or("a parenthesis is closed that is not open")?;
                    outer.push(Self::List(list));
                }
                _ => open.last_mut().into_iter().for_each(|list| {
                    list.push(Self::Word(token.clone()));
                }),
            }
        }
        match <[Vec<Self>; 1]>::try_from(open) {
            Ok([all]) => Ok(all),
            Err(_) => Err("a parenthesis is not closed".to_owned()),
        }
    }

    pub(super) fn word(&self) -> Result<&str, String> {
        match self {
            Self::Word(word) => Ok(word),
            Self::List(_) => Err(format!("expected a word, not {self:?}")),
        }
    }

    pub(super) fn list(&self) -> Result<&[Self], String> {
        match self {
            Self::List(list) => Ok(list),
            Self::Word(word) => Err(format!("expected a list, not `{word}`")),
        }
    }

    /// The first word of a list, and the rest.
    pub(super) fn form(&self) -> Result<(&str, &[Self]), String> {
        let (head, rest) = self.list()?.split_first().ok_or("an empty list")?;
        Ok((head.word()?, rest))
    }
}

fn tokens(text: &str) -> Vec<String> {
    let (mut found, mut word) = (Vec::new(), String::new());
    for line in text.lines() {
        let mut is_quoted = false;
        for letter in line.chars() {
            if letter == '"' {
                is_quoted = !is_quoted;
            } else if is_quoted {
                word.push(letter);
            } else if letter == ';' {
                break;
            } else if "() ".contains(letter) {
                found.extend((!word.is_empty()).then(|| std::mem::take(&mut word)));
                found.extend((letter != ' ').then(|| letter.to_string()));
            } else {
                word.push(letter);
            }
        }
        found.extend((!word.is_empty()).then(|| std::mem::take(&mut word)));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_words_and_texts_are_read() {
        let all = Expression::parse_all("; a comment\n(a (b \"two words\"))\nc").expect("valid");
        let word = |text: &str| Expression::Word(text.to_owned());
        let inner = Expression::List(vec![word("b"), word("two words")]);
        assert_eq!(all, [Expression::List(vec![word("a"), inner]), word("c")]);
    }

    #[test]
    fn parentheses_have_to_match() {
        assert!(Expression::parse_all("(a").is_err());
        assert!(Expression::parse_all("a)").is_err());
    }
}
