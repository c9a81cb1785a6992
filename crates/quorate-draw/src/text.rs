//! Text in pictures. Names and messages come from untrusted sources and must stay plain text.

/// Escapes text for SVG content and attributes. Characters that XML does not allow become the replacement character.
pub(crate) fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            '\n' | '\t' | '\r' => safe.push(' '),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => safe.push('\u{fffd}'),
            // Bidirectional controls could make one name look like another.
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => safe.push('\u{fffd}'),
            c => safe.push(c),
        }
    }
    safe
}

/// Truncates text to at most `most` characters, with an ellipsis.
pub(crate) fn shortened(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        None => text.to_owned(),
        Some(_) => text.chars().take(most.saturating_sub(1)).chain(['…']).collect(),
    }
}

/// Estimated width of a text in pixels. The estimate is generous, so that it holds for any font.
pub(crate) fn width(text: &str, size: f64) -> f64 {
    let ems: f64 = text
        .chars()
        .map(|c| match c {
            ' ' | '.' | ',' | ':' | ';' | '!' | '|' | 'i' | 'j' | 'l' | '\'' => 0.34,
            'f' | 't' | 'r' | 'I' | '(' | ')' | '[' | ']' | '/' | '-' => 0.43,
            'm' | 'w' | 'M' | 'W' | '@' | '%' => 0.98,
            'A'..='Z' => 0.71,
            'a'..='z' | '0'..='9' => 0.62,
            c if c.is_ascii() => 0.65,
            _ => 0.95,
        })
        .sum();
    ems * size
}

/// Wraps text at word boundaries into lines of at most `most` characters. Longer words are truncated.
pub(crate) fn lines(text: &str, most: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        let word = shortened(word, most.max(2));
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= most => {
                line.push(' ');
                line.push_str(&word);
            }
            _ => lines.push(word),
        }
    }
    lines
}

/// Formats a number in groups of three digits, such as `12,345`.
pub(crate) fn grouped(number: usize, comma: &str) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push_str(comma);
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_stays_text() {
        assert_eq!(escaped("<a b='\"'>&\u{0}\n"), "&lt;a b=&#39;&quot;&#39;&gt;&amp;\u{fffd} ");
        assert_eq!(escaped("p\u{202e}1"), "p\u{fffd}1");
    }

    #[test]
    fn long_text_is_shortened() {
        assert_eq!(shortened("abc", 3), "abc");
        assert_eq!(shortened("abcd", 3), "ab…");
        assert_eq!(shortened("ééééé", 2), "é…");
    }

    #[test]
    fn numbers_have_commas() {
        let grouped = |number| grouped(number, ",");
        assert_eq!([0, 999, 1000, 1234567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
    }

    #[test]
    fn long_text_is_broken_between_words() {
        assert_eq!(lines("one two three", 7), ["one two", "three"]);
        assert_eq!(lines("abcdefgh ij", 4), ["abc…", "ij"]);
        assert!(lines("", 4).is_empty());
    }
}
