//! Terms of a cluster: values that must be equal on all nodes, compared by both sides of every handshake.
//!
//! Nodes with different terms would each follow their own configuration and violate safety together: with different leases
//! two holders overlap, with different quorum systems quorums do not intersect. Such nodes refuse each other, and the
//! refusal names both values.

use std::collections::BTreeMap;
use std::fmt::Write;

use quorate_core::ProcessId;
use sha2::{Digest, Sha256};

/// Maximum length of the text sent with a digest. The text is truncated; the digest covers all of it.
pub(crate) const LONGEST_TERMS: usize = 700;

/// Maximum length of the description of a difference, so that it fits into a refusal.
const LONGEST_DIFFERENCE: usize = 360;

/// The terms of this node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Terms {
    values: Vec<(&'static str, String)>,
    members: BTreeMap<ProcessId, String>,
}

/// Terms as they are sent: a digest of all values, and as much readable text as fits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatedTerms {
    pub(crate) digest: [u8; 32],
    pub(crate) text: String,
}

impl Terms {
    /// Adds a named value.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: impl ToString) -> Self {
        self.values.push((name, value.to_string()));
        self
    }

    /// Adds the address of each member. Two nodes compare the addresses of all *other* members: if they reached different
    /// processes under one number, their quorums would not intersect. Their own addresses may be written differently on
    /// each side (a node may listen on `0.0.0.0`).
    #[must_use]
    pub fn with_members(mut self, members: BTreeMap<ProcessId, String>) -> Self {
        self.members = members;
        self
    }

    /// Terms that two nodes compare; `None` if no terms are configured.
    pub(crate) fn between(&self, one: ProcessId, other: ProcessId) -> Option<StatedTerms> {
        if *self == Self::default() {
            return None;
        }
        let mut text = String::new();
        let members = self.members.iter().filter(|(id, _)| ![one, other].contains(id));
        let members = members.map(|(id, address)| (format!("peer {}", id.number()), address));
        let values = self.values.iter().map(|(name, value)| ((*name).to_owned(), value));
        for (name, value) in values.chain(members) {
            let value: String = value.chars().map(printable).collect();
            writeln!(text, "{name}={value}").expect("writing to a string cannot fail");
        }
        let digest = Sha256::digest(text.as_bytes()).into();
        let mut end = text.len().min(LONGEST_TERMS);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        text.truncate(end);
        Some(StatedTerms { digest, text })
    }
}

impl StatedTerms {
    /// Decodes the terms of a peer. Control characters other than newlines are replaced.
    pub(crate) fn from_wire(digest: [u8; 32], text: &[u8]) -> Self {
        let text = String::from_utf8_lossy(&text[..text.len().min(LONGEST_TERMS)]);
        let clean = text.chars().map(|c| if c == '\n' { c } else { printable(c) }).collect();
        Self { digest, text: clean }
    }

    fn values(&self) -> BTreeMap<&str, &str> {
        self.text.lines().filter_map(|line| line.split_once('=')).collect()
    }
}

/// Describes how terms differ, with both values; `None` if they are equal.
pub(crate) fn difference(
    (me, mine): (ProcessId, Option<&StatedTerms>),
    (peer, theirs): (ProcessId, Option<&StatedTerms>),
) -> Option<String> {
    let (mine, theirs) = match (mine, theirs) {
        (None, None) => return None,
        (Some(mine), Some(theirs)) if mine.digest == theirs.digest => return None,
        (Some(mine), Some(theirs)) => (mine, theirs),
        (Some(_), None) => {
            return Some(format!("terms differ: {peer} states none, {me} does; upgrade {peer}"));
        }
        (None, Some(_)) => {
            return Some(format!("terms differ: {me} states none, {peer} does; upgrade {me}"));
        }
    };
    let (ours, others) = (mine.values(), theirs.values());
    let mut names: Vec<&str> = ours.keys().chain(others.keys()).copied().collect();
    names.sort_unstable();
    names.dedup();
    let mut text = "terms differ".to_owned();
    let mut separator = ": ";
    for name in names.into_iter().filter(|name| ours.get(name) != others.get(name)) {
        let shown = |value: Option<&&str>| value.map_or("missing", |value| value).to_owned();
        let (ours, others) = (shown(ours.get(name)), shown(others.get(name)));
        let one = format!("{separator}{name} is {ours} at {me} and {others} at {peer}");
        if text.len() + one.len() > LONGEST_DIFFERENCE {
            text.push_str(&format!("{separator}and more"));
            return Some(text);
        }
        text.push_str(&one);
        separator = "; ";
    }
    if separator == ": " {
        text.push_str(&format!(" between {me} and {peer}: compare their lists of peers"));
    }
    Some(text)
}

fn printable(c: char) -> char {
    if c.is_control() { '?' } else { c }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn n(number: u32) -> ProcessId {
        ProcessId::new(number)
    }

    fn terms(lease: u64, addresses: [&str; 3]) -> Terms {
        let members = (0..).map(n).zip(addresses.map(str::to_owned)).collect();
        Terms::default().with("lease_ms", lease).with_members(members)
    }

    fn compared(zero: &Terms, one: &Terms) -> Option<String> {
        let (mine, theirs) = (zero.between(n(0), n(1)), one.between(n(1), n(0)));
        difference((n(0), mine.as_ref()), (n(1), theirs.as_ref()))
    }

    #[test]
    fn both_values_are_named() {
        let (long, short) = (terms(8_000, ["a", "b", "c"]), terms(2_000, ["a", "b", "c"]));
        assert_eq!(compared(&long, &long), None);
        let differ = compared(&long, &short).expect("they differ");
        assert_eq!(differ, "terms differ: lease_ms is 8000 at p0 and 2000 at p1");
        let none = compared(&long, &Terms::default()).expect("they differ");
        assert!(none.contains("states none"), "{none}");
    }

    #[test]
    fn addresses_of_third_nodes_count_and_those_of_the_two_do_not() {
        let usual = terms(1, ["a", "b", "c"]);
        assert_eq!(compared(&usual, &terms(1, ["0.0.0.0", "x", "c"])), None);
        let differ = compared(&usual, &terms(1, ["a", "b", "elsewhere"])).expect("they differ");
        assert_eq!(differ, "terms differ: peer 2 is c at p0 and elsewhere at p1");
    }

    #[test]
    fn what_is_cut_from_the_text_counts_all_the_same() {
        let long = |last: &str| {
            let members = (0..64).map(|id| (n(id), format!("host-{id}.example.org:7481")));
            let last = (n(63), last.to_owned());
            Terms::default().with_members(members.chain([last]).collect())
        };
        let differ = compared(&long("a"), &long("b")).expect("they differ");
        assert!(differ.contains("compare their lists"), "{differ}");
        let many = terms(1, ["a", "b", &"\x1b[2J".repeat(400)]);
        let text = many.between(n(0), n(1)).expect("terms").text;
        assert!(text.len() <= LONGEST_TERMS && !text.contains('\x1b'));
        let differ = compared(&many, &usual_with("c")).expect("they differ");
        assert!(differ.len() <= LONGEST_DIFFERENCE + 20, "{differ}");
    }

    fn usual_with(third: &str) -> Terms {
        terms(1, ["a", "b", third])
    }

    #[test]
    fn long_terms_are_cut_between_two_characters() {
        let lengths = ["a", "aa"].map(|name| {
            let terms = Terms::default().with(name, "é".repeat(LONGEST_TERMS));
            terms.between(n(0), n(1)).expect("terms").text.len()
        });
        // With one of the two names the limit is in the middle of a character.
        assert_eq!(lengths.iter().max(), Some(&LONGEST_TERMS));
        assert_eq!(lengths.iter().min(), Some(&(LONGEST_TERMS - 1)));
    }

    #[test]
    fn a_difference_that_just_fits_is_told_in_full() {
        let told = |length: usize| {
            let long = Terms::default().with("a", "x".repeat(length));
            compared(&long, &Terms::default().with("a", "y")).expect("they differ")
        };
        let rest = told(1).len() - 1;
        assert_eq!(told(LONGEST_DIFFERENCE - rest).len(), LONGEST_DIFFERENCE);
        assert_eq!(told(LONGEST_DIFFERENCE - rest + 1), "terms differ: and more");
    }
}
