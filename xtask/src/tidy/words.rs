//! Markers of wording that readers have to translate. Comments use the field's terms and name the actor.

use super::Problem;
use crate::tree::TextFile;

/// Phrases with a plain equivalent. They are split so that this file passes its own rule.
const PHRASES: [(&str, &str); 8] = [
    (concat!("who", "ever"), "name the actor"),
    (concat!("some", "body"), "name the actor"),
    (concat!("no", "body"), "name the actor: no client, no process"),
    (concat!("every", "body"), "name the actor: every client, all processes"),
    (concat!("so ", "many"), "write `at most N` or `this number of`"),
    (concat!("so ", "much"), "write `at most N` or `this amount of`"),
    (concat!("if not", " said"), "write `default:`"),
    (concat!("for", " ever"), "write `forever`"),
];

/// Words that begin a sentence without naming its subject.
const SUBJECTS: [&str; 5] = ["Who", "Whose", "Whom", "What", "Which"];

/// Doc comments with at most this number of words repeat the name of their item.
const WORDS_FEW: usize = 3;

/// Files whose doc comments may be short, and the reason.
const SHORT_TEXTS: [(&str, &str); 4] = [
    ("crates/quorate/src/arguments", "help texts"),
    ("crates/quorate-service/src/http/", "texts of the OpenAPI description"),
    ("crates/quorate-torture/src/main.rs", "help texts"),
    ("crates/quorate-torture/src/clients.rs", "help texts"),
];

/// Checks the comments of a Rust file. Generated files have the comments of their sources.
pub(super) fn problems(file: &TextFile) -> Vec<Problem> {
    if file.path.contains("/generated/") {
        return Vec::new();
    }
    let may_be_short = SHORT_TEXTS.iter().any(|(path, _)| file.path.starts_with(path));
    let mut problems = Vec::new();
    let mut in_code = false;
    let mut before = "";
    let lines: Vec<(usize, &str)> = file.lines().collect();
    for (index, (number, line)) in lines.iter().enumerate() {
        let Some(comment) = comment(line) else {
            (in_code, before) = (false, "");
            continue;
        };
        if comment.text.starts_with("```") {
            in_code = !in_code;
        } else if !in_code {
            let text = without_code(comment.text);
            let next = lines.get(index + 1).and_then(|(_, line)| self::comment(line));
            let alone = comment.is_doc && !may_be_short && before.is_empty() && next.is_none();
            if alone && comment.text.split_whitespace().count() <= WORDS_FEW && !text.is_empty() {
                let rule = "a doc comment of three words or fewer; say more, or delete it";
                problems.push(Problem::at(file, *number, rule));
            }
            problems.extend(marker(&text, before).map(|rule| Problem::at(file, *number, rule)));
        }
        before = comment.text;
    }
    problems
}

/// A line that is a comment and nothing else.
struct Comment<'a> {
    text: &'a str,
    is_doc: bool,
}

fn comment(line: &str) -> Option<Comment<'_>> {
    let text = line.trim_start().strip_prefix("//")?;
    let doc = text.strip_prefix('/');
    Some(Comment {
        text: doc.or(text.strip_prefix('!')).unwrap_or(text).trim(),
        is_doc: doc.is_some(),
    })
}

/// The text with every `code` span replaced by one word.
fn without_code(text: &str) -> String {
    let parts = text.split('`').enumerate();
    parts.map(|(index, part)| if index % 2 == 0 { part } else { "code" }).collect()
}

fn marker(text: &str, before: &str) -> Option<String> {
    let lower = text.to_lowercase();
    let phrase = PHRASES.iter().find(|(phrase, _)| super::has_word(&lower, phrase));
    if let Some((phrase, instead)) = phrase {
        return Some(format!("\"{phrase}\": {instead}"));
    }
    let begins = before.is_empty() || before.ends_with(['.', ':', '?']);
    let first = text.split_whitespace().next().filter(|_| begins)?;
    let is_question = text.ends_with('?');
    let subject =
        SUBJECTS.iter().find(|subject| **subject == first.trim_end_matches('.') && !is_question)?;
    Some(format!("a sentence that begins with \"{subject}\"; name its subject"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(text: &str) -> Vec<usize> {
        let file = TextFile { path: "a.rs".to_owned(), text: text.to_owned() };
        problems(&file).into_iter().filter_map(|problem| problem.line).collect()
    }

    #[test]
    fn phrases_and_sentences_without_a_subject_are_found() {
        let dialect =
            format!("// {}\n// Plain words.\n/// {}\nfn a() {{}}\n", PHRASES[0].0, "What it has.");
        assert_eq!(rules(&dialect), [1, 3]);
        assert_eq!(rules("/// Which.\nfn a() {}\n").len(), 2, "short, and without a subject");
        assert_eq!(rules("// What is it?\n"), []);
        assert_eq!(
            rules("/// Returns the process, and tells\n/// Which one it is.\nfn a() {}\n"),
            []
        );
    }

    #[test]
    fn short_doc_comments_are_found_unless_they_continue() {
        assert_eq!(rules("/// The name.\nfn a() {}\n"), [1]);
        assert_eq!(rules("/// The name of a lock.\nfn a() {}\n"), []);
        assert_eq!(
            rules("/// Returns the name of a lock, or nothing\n/// if unnamed.\nfn a() {}\n"),
            []
        );
        assert_eq!(rules("// A test.\n"), [], "not a doc comment");
    }

    #[test]
    fn code_is_not_wording() {
        let text = format!(
            "/// ```\n/// let {} = 1;\n/// ```\n/// Calls `{}` until it ends.\nfn a() {{}}\n",
            PHRASES[2].0, PHRASES[2].0
        );
        assert_eq!(rules(&text), []);
    }
}
