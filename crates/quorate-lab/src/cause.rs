//! Recognizes violations with the same cause: their descriptions are equal, apart from numbers and the length of lists.

use std::fmt;

/// A property and how it was violated, without names, numbers and times. Runs in which the same thing
/// went wrong have equal causes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cause {
    /// Name of the violated property.
    pub property: String,
    /// Description of the violation, without names, numbers and times.
    pub how: String,
}

impl Cause {
    /// Derives the cause of a violation from its description.
    pub fn of(property: &str, detail: &str) -> Self {
        Self { property: property.to_owned(), how: abstracted(detail) }
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.property, self.how)
    }
}

/// `p1, p2 and p4 wait for ever` and `p3 waits for ever` both become `# wait for ever`.
fn abstracted(detail: &str) -> String {
    let mut words: Vec<String> = Vec::new();
    for word in detail.split_whitespace().map(plain) {
        let listed = matches!(word.trim_end_matches(','), "and" | "more" | "#");
        match listed && words.last().is_some_and(|last| last == "#") {
            true => {}
            false => words.push(word),
        }
    }
    // A phrase that is repeated counts once.
    for length in 2..=LIST_MOST {
        let mut at = 0;
        while at + 2 * length <= words.len() {
            if words[at..at + length] == words[at + length..at + 2 * length] {
                words.drain(at..at + length);
            } else {
                at += 1;
            }
        }
    }
    words.join(" ")
}

/// Maximum number of words of a list item.
const LIST_MOST: usize = 4;

/// A word without the differences between singular and plural, and between one process and another.
fn plain(word: &str) -> String {
    let end = word.trim_end_matches([',', ';', ':', '.']).len();
    let (body, mark) = word.split_at(end);
    let bare = body.trim_matches(['(', ')', '`']);
    let plain = match bare {
        "is" => "are",
        "was" => "were",
        "has" => "have",
        "-" => "#",
        _ if bare.contains(|c: char| c.is_ascii_digit()) => "#",
        _ if bare.len() > 3 && !bare.ends_with("ss") => bare.strip_suffix('s').unwrap_or(bare),
        _ => bare,
    };
    // Names in a list are separated by commas.
    format!("{plain}{}", if plain == "#" { mark.trim_end_matches(',') } else { mark })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_and_many_are_alike_and_other_words_are_not() {
        let how = |detail: &str| Cause::of("ME2", detail).how;
        let one = how("p3 waits for ever; nothing is left to happen after 3.5ms");
        assert_eq!(one, "# wait for ever; nothing are left to happen after #");
        for alike in [
            "p1 and p2 wait for ever; nothing is left to happen after 4s",
            "p1, p2 and p12 wait for ever; nothing is left to happen after 12us",
            "p1, p2, p3, p4, p5, p6, p7, p8 and 3 more wait for ever; nothing is left to happen after 1ms",
        ] {
            assert_eq!(how(alike), one);
        }
        let circle = how("p1 waits because of a circle: p1 waits for p2, p2 for p0, p0 for p1");
        let longer = how(
            "p0 and p1 wait because of a circle: p1 waits for p2, p2 for p0, p0 for p3, p3 for p1",
        );
        assert_eq!(circle, longer);
        let before =
            |whom: &str| how(&format!("p1 entered before {whom}, whose request was first"));
        assert_eq!(before("p2, p3 and 1 more"), before("p4"));
        assert_ne!(circle, one);
        assert_ne!(Cause::of("ME1", "p1 entered"), Cause::of("ME3", "p1 entered"));
    }
}
