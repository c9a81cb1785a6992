//! Bodies of functions in a Rust source text.

use std::ops::Range;

/// A function with a body. Functions inside its body are not listed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Function {
    /// Byte range of the body with its braces.
    pub(super) body: Range<usize>,
    /// Whether all alternatives of the body may stand in it: it is not constant, and returns a type that has a name.
    pub(super) takes_alternatives: bool,
}

/// Functions of a text, in order.
pub(super) fn functions(text: &str) -> Vec<Function> {
    let tokens = tokens(text);
    let (mut found, mut at) = (Vec::new(), 0);
    while at < tokens.len() {
        let is_named = tokens.get(at + 1).is_some_and(|next| next.is_word(text));
        let is_function = tokens[at].text(text) == "fn" && is_named;
        match is_function.then(|| function(text, &tokens, at)).flatten() {
            Some((function, after)) => {
                found.push(function);
                at = after;
            }
            None => at += 1,
        }
    }
    found
}

/// The function whose keyword is the given token, and the number of the token after it. `None` if it has no body.
fn function(text: &str, tokens: &[Token], keyword: usize) -> Option<(Function, usize)> {
    let is_const = keyword > 0 && tokens[keyword - 1].text(text) == "const";
    let (mut at, mut depth, mut returns, mut unnamed) = (keyword, 0_usize, false, false);
    loop {
        match tokens.get(at)?.text(text) {
            "(" | "[" => depth += 1,
            ")" | "]" => depth -= 1,
            "->" if depth == 0 => returns = true,
            "impl" if returns => unnamed = true,
            ";" if depth == 0 => return None,
            "{" if depth == 0 => break,
            _ => {}
        }
        at += 1;
    }
    let start = tokens[at].start;
    let mut braces = 0_usize;
    loop {
        match tokens.get(at)?.text(text) {
            "{" => braces += 1,
            "}" => braces -= 1,
            _ => {}
        }
        if braces == 0 {
            let body = start..tokens[at].end;
            return Some((Function { body, takes_alternatives: !is_const && !unnamed }, at + 1));
        }
        at += 1;
    }
}

#[derive(Clone, Copy, Debug)]
struct Token {
    start: usize,
    end: usize,
}

impl Token {
    fn text(self, source: &str) -> &str {
        &source[self.start..self.end]
    }

    fn is_word(self, source: &str) -> bool {
        self.text(source).starts_with(|first: char| first.is_alphabetic() || first == '_')
    }
}

/// Words, arrows and single characters of a text, without comments and literals.
fn tokens(text: &str) -> Vec<Token> {
    let (mut tokens, mut at) = (Vec::new(), 0);
    while let Some(first) = text[at..].chars().next() {
        let rest = &text[at..];
        let length = match first {
            _ if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            _ if rest.starts_with("/*") => block_comment(rest),
            '"' => string(rest),
            '\'' => quote(rest),
            _ if first.is_alphanumeric() || first == '_' => {
                let word = rest.find(|c: char| !c.is_alphanumeric() && c != '_');
                let word = word.unwrap_or(rest.len());
                match raw_string(&rest[..word], &rest[word..]) {
                    Some(literal) => word + literal,
                    None => {
                        tokens.push(Token { start: at, end: at + word });
                        word
                    }
                }
            }
            _ if first.is_whitespace() => first.len_utf8(),
            _ => {
                let length = if rest.starts_with("->") { 2 } else { first.len_utf8() };
                tokens.push(Token { start: at, end: at + length });
                length
            }
        };
        at += length;
    }
    tokens
}

/// Length of the block comment at the start. Comments nest.
fn block_comment(rest: &str) -> usize {
    let (mut depth, mut at) = (0_usize, 0);
    while at < rest.len() {
        if rest[at..].starts_with("/*") {
            (depth, at) = (depth + 1, at + 2);
        } else if rest[at..].starts_with("*/") {
            (depth, at) = (depth - 1, at + 2);
            if depth == 0 {
                return at;
            }
        } else {
            at += rest[at..].chars().next().map_or(1, char::len_utf8);
        }
    }
    rest.len()
}

/// Length of the string literal at the start.
fn string(rest: &str) -> usize {
    let mut escaped = false;
    for (at, character) in rest.char_indices().skip(1) {
        match character {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return at + 1,
            _ => {}
        }
    }
    rest.len()
}

/// Length of the raw string literal after its prefix, such as `r` or `br`.
fn raw_string(prefix: &str, rest: &str) -> Option<usize> {
    if !matches!(prefix, "r" | "br" | "cr") {
        return None;
    }
    let marks = rest.len() - rest.trim_start_matches('#').len();
    let contents = rest[marks..].strip_prefix('"')?;
    let end = format!("\"{}", &rest[..marks]);
    contents.find(&end).map(|length| marks + 1 + length + end.len())
}

/// Length of the character literal, or of the quote of a lifetime, at the start.
fn quote(rest: &str) -> usize {
    let mut characters = rest.char_indices().skip(1);
    let Some((_, first)) = characters.next() else { return 1 };
    if first == '\\' {
        return rest[3..].find('\'').map_or(rest.len(), |at| 3 + at + 1);
    }
    match characters.next() {
        Some((at, '\'')) => at + 1,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bodies(text: &str) -> Vec<&str> {
        functions(text).into_iter().map(|function| &text[function.body]).collect()
    }

    #[test]
    fn bodies_are_found_and_inner_functions_are_part_of_them() {
        let text = "trait T { fn none(&self) -> [u8; 2]; fn one<'a>(a: &'a str) -> u8 { fn in_it() {} 1 } }\n\
                    fn two() where u8: Copy { { } }";
        assert_eq!(bodies(text), ["{ fn in_it() {} 1 }", "{ { } }"]);
    }

    #[test]
    fn braces_in_literals_and_comments_do_not_count() {
        let text = r##"fn a() { '{'; '\''; "{\"{"; r#"{"{"#; /* { /* { */ */ // {
            b'{'; 'l: loop { break 'l; } } fn b() {}"##;
        let found = bodies(text);
        assert!(found.len() == 2 && found[0].ends_with("break 'l; } }"), "{found:?}");
    }

    #[test]
    fn a_pointer_to_a_function_is_none() {
        assert_eq!(bodies("const F: fn(u8) -> u8 = |n| { n };"), [""; 0]);
    }

    #[test]
    fn constant_functions_and_unnamed_types_take_no_alternatives() {
        let text = "pub const fn a() {} fn b() -> impl Copy {} fn c(x: impl Copy) {} const D: u8 = 1; fn d() {}";
        let takes: Vec<bool> = functions(text).iter().map(|it| it.takes_alternatives).collect();
        assert_eq!(takes, [false, false, true, true]);
    }
}
