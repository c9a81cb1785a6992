//! Escaping of client-supplied text for logs and terminals.

use std::fmt::{self, Write};

/// Escapes a text so that it stays on one line and cannot control a terminal. Control characters and invisible characters
/// are written as `\n`, `\u{1b}` and so on, and a backslash as two. A text therefore cannot imitate another line of a log.
pub fn escaped(text: &str) -> Escaped<'_> {
    Escaped(text)
}

/// Text that is escaped when it is displayed. See [`escaped`].
#[derive(Clone, Copy, Debug)]
pub struct Escaped<'a>(&'a str);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for c in self.0.chars() {
            if c.is_control() || c == '\\' || is_unseen(c) {
                write!(f, "{}", c.escape_default())?;
            } else {
                f.write_char(c)?;
            }
        }
        Ok(())
    }
}

/// Tests for line separators, direction marks and zero-width characters.
const fn is_unseen(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_stays_on_its_line() {
        let forged = "deploy\n2026-01-01 WARN taken away by=admin\x1b[2J\r\u{202e}\u{2028}\\n";
        let shown = escaped(forged).to_string();
        assert_eq!(
            shown,
            r"deploy\n2026-01-01 WARN taken away by=admin\u{1b}[2J\r\u{202e}\u{2028}\\n"
        );
        assert_eq!(escaped("São Paulo, ☕").to_string(), "São Paulo, ☕");
    }
}
