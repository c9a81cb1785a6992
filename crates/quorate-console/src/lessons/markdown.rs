//! The part of Markdown that lessons use, as blocks that the page turns into elements. Nothing of it is HTML: markup in a
//! text stays text.

use serde::Serialize;

/// Block of the text of a lesson.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Block {
    /// Heading within the lesson.
    Heading {
        /// Parts of the heading in order.
        spans: Vec<Span>,
    },
    /// Paragraph between empty lines.
    Paragraph {
        /// Contents of the paragraph.
        spans: Vec<Span>,
    },
    /// List, numbered or not.
    List {
        /// Whether the items are numbered.
        numbered: bool,
        /// Contents of the items in order.
        items: Vec<Vec<Span>>,
    },
    /// Lines between two fences, as they are.
    Code {
        /// The lines, each with its line break.
        text: String,
    },
}

/// Part of a line in one style.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Span {
    /// Style of the part.
    pub style: Style,
    /// The part without its delimiters.
    pub text: String,
}

/// Style of a part of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Style {
    /// Text without a style.
    Plain,
    /// Text between single asterisks.
    Emphasis,
    /// Text between double asterisks.
    Strong,
    /// Text between backticks, such as a name.
    Code,
}

/// Delimiters in the order in which they are tried: the longer one first.
const DELIMITERS: [(&str, Style); 3] =
    [("`", Style::Code), ("**", Style::Strong), ("*", Style::Emphasis)];

/// Reads a text. An error is the index of a line and the problem there.
pub(super) fn blocks(text: &str) -> Result<Vec<Block>, (usize, String)> {
    let mut blocks = Vec::new();
    let mut lines = text.lines().enumerate().peekable();
    while let Some((index, line)) = lines.next() {
        let trimmed = line.trim();
        if trimmed.is_empty() {
            continue;
        }
        if trimmed.starts_with("```") {
            let mut code = String::new();
            loop {
                let Some((_, line)) = lines.next() else {
                    return Err((index, "the code has no closing ```".to_owned()));
                };
                if line.trim() == "```" {
                    break;
                }
                code.push_str(line);
                code.push('\n');
            }
            blocks.push(Block::Code { text: code });
        } else if let Some(heading) = heading(trimmed) {
            blocks.push(Block::Heading { spans: spans(heading) });
        } else {
            let begins_block = |line: &str| {
                let line = line.trim();
                line.is_empty() || line.starts_with("```") || heading(line).is_some()
            };
            let (numbered, first) = match item(trimmed) {
                Some((numbered, text)) => (Some(numbered), text),
                None => (None, trimmed),
            };
            let mut parts = vec![first.to_owned()];
            while let Some((_, line)) = lines.next_if(|(_, line)| !begins_block(line)) {
                match (numbered, item(line.trim())) {
                    (Some(_), Some((_, text))) => parts.push(text.to_owned()),
                    _ => {
                        // A line break within a paragraph or an item is a space.
                        let last = parts.len() - 1;
                        parts[last].push(' ');
                        parts[last].push_str(line.trim());
                    }
                }
            }
            blocks.push(match numbered {
                Some(numbered) => {
                    Block::List { numbered, items: parts.iter().map(|it| spans(it)).collect() }
                }
                None => Block::Paragraph { spans: spans(&parts[0]) },
            });
        }
    }
    Ok(blocks)
}

fn heading(line: &str) -> Option<&str> {
    let text = line.trim_start_matches('#');
    let level = line.len() - text.len();
    (1..=6).contains(&level).then(|| text.strip_prefix(' ')).flatten().map(str::trim)
}

/// Returns whether an item is numbered, and its text.
fn item(line: &str) -> Option<(bool, &str)> {
    if let Some(text) = line.strip_prefix("- ").or_else(|| line.strip_prefix("* ")) {
        return Some((false, text.trim()));
    }
    let (number, text) = line.split_once(". ")?;
    let is_number = !number.is_empty() && number.chars().all(|c| c.is_ascii_digit());
    is_number.then(|| (true, text.trim()))
}

/// Splits a line into parts by style. A delimiter without its partner is plain text.
fn spans(line: &str) -> Vec<Span> {
    let mut spans = Vec::new();
    let mut plain = String::new();
    let mut rest = line;
    while let Some(next) = rest.chars().next() {
        let styled = DELIMITERS.iter().find_map(|(delimiter, style)| {
            let (inner, after) = rest.strip_prefix(delimiter)?.split_once(delimiter)?;
            let is_text =
                !inner.is_empty() && (*style == Style::Code || inner.trim().len() == inner.len());
            is_text.then_some((*style, inner, after))
        });
        if let Some((style, inner, after)) = styled {
            push_plain(&mut spans, &mut plain);
            spans.push(Span { style, text: inner.to_owned() });
            rest = after;
        } else {
            plain.push(next);
            rest = &rest[next.len_utf8()..];
        }
    }
    push_plain(&mut spans, &mut plain);
    spans
}

fn push_plain(spans: &mut Vec<Span>, plain: &mut String) {
    if !plain.is_empty() {
        spans.push(Span { style: Style::Plain, text: std::mem::take(plain) });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(text: &str) -> Span {
        Span { style: Style::Plain, text: text.to_owned() }
    }

    #[test]
    fn blocks_are_told_apart() {
        let text = "# Title\n\nOne *two*\nthree **four** `5*6*7`.\n\n- a\n- b\n  c\n\n1. d\n2. e\n```\nx < y\n```\n";
        let styled = |style, text: &str| Span { style, text: text.to_owned() };
        let expected = vec![
            Block::Heading { spans: vec![plain("Title")] },
            Block::Paragraph {
                spans: vec![
                    plain("One "),
                    styled(Style::Emphasis, "two"),
                    plain(" three "),
                    styled(Style::Strong, "four"),
                    plain(" "),
                    styled(Style::Code, "5*6*7"),
                    plain("."),
                ],
            },
            Block::List { numbered: false, items: vec![vec![plain("a")], vec![plain("b c")]] },
            Block::List { numbered: true, items: vec![vec![plain("d")], vec![plain("e")]] },
            Block::Code { text: "x < y\n".to_owned() },
        ];
        assert_eq!(blocks(text), Ok(expected));
    }

    #[test]
    fn markup_and_lone_delimiters_stay_text() {
        for text in ["<b>x</b> <script>", "2 * 3 * 4", "a ` b", "**", "****", "é*"] {
            assert_eq!(blocks(text), Ok(vec![Block::Paragraph { spans: vec![plain(text)] }]));
        }
        assert_eq!(blocks("a\n```\nb").map_err(|(line, _)| line), Err(1));
    }
}
