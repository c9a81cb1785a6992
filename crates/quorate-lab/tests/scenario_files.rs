//! Scenario files, including hostile ones: every file of the corpus, mangled variants of it, and every possible scenario.

#[path = "checks/any_scenario.rs"]
mod any_scenario;
#[expect(unreachable_pub, reason = "a module here, a library for the fuzz targets")]
mod checks;

use std::path::Path;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use quorate_sim::trace::TraceSink;
use quorate_sim::{Conditions, Outcome, Scenario};

/// Files of the corpus with their names, sorted by name.
fn corpus() -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus");
    let entries = std::fs::read_dir(&folder).expect("the corpus is there");
    let mut files: Vec<(String, String)> = entries
        .map(|entry| {
            let entry = entry.expect("the corpus can be listed");
            let text = std::fs::read_to_string(entry.path()).expect("a file of the corpus is text");
            (entry.file_name().to_string_lossy().into_owned(), text)
        })
        .collect();
    files.sort();
    files
}

/// Runs the algorithm that a scenario names.
fn run(
    scenario: &Scenario,
    conditions: Conditions,
    trace: Option<&mut (dyn TraceSink + '_)>,
) -> Result<Outcome, String> {
    quorate_lab::run(scenario, conditions, trace).map_err(|error| error.to_string())
}

/// Findings of the fuzzer that still fail. A fix removes the file from this list.
const OPEN: [&str; 0] = [];

#[test]
fn every_file_of_the_corpus_passes_the_checks() {
    for (name, text) in corpus() {
        let checked = std::panic::catch_unwind(|| checks::scenario_file(&text, run).is_ok());
        match checked {
            Ok(_) if OPEN.contains(&name.as_str()) => panic!("{name} is mended: it is not open"),
            Ok(good) => assert_eq!(good, name.starts_with("good-"), "{name}"),
            Err(_) => assert!(OPEN.contains(&name.as_str()), "{name} fails, see above"),
        }
    }
}

#[test]
fn a_bad_file_says_where_it_is_wrong_and_what_was_expected() {
    let bad = |(name, text): (String, String)| {
        let closed = !OPEN.contains(&name.as_str());
        quorate_sim::parse(&text, &name).err().filter(|_| closed).map(|error| error.to_string())
    };
    let errors: Vec<String> = corpus().into_iter().filter_map(bad).collect();
    insta::assert_snapshot!(errors.join("\n"));
}

#[test]
fn every_text_in_the_corpus_is_tried_as_every_notation() {
    let files = corpus();
    let texts = files.iter().flat_map(|(_, text)| text.split('"').skip(1).step_by(2));
    let readable: usize = texts.map(checks::notations).sum();
    assert!(readable > 100, "{readable} notations were read");
}

/// A way to mangle a file.
#[derive(Clone, Debug)]
enum Mangling {
    /// Replaces the byte at this position.
    Byte(Index, u8),
    /// Cuts off the end.
    Truncate(Index),
    /// Swaps two lines of the file.
    Swap(Index, Index),
    /// Duplicates one of the lines.
    Repeat(Index),
    /// Continues with the lines of another file from there on.
    Graft(Index, Index),
    /// Replaces a number by another one.
    Number(Index, &'static str),
}

const NUMBERS: [&str; 12] = [
    "0",
    "-1",
    "1e400",
    "nan",
    "0.5",
    "8",
    "16777216",
    "4294967296",
    "9223372036854775808",
    "18446744073709551615",
    "99999999999999999999999999999999999999999",
    "0.0000000000000000000000000000000000000001",
];

fn mangling() -> impl Strategy<Value = Mangling> {
    let place = any::<Index>;
    prop_oneof![
        3 => (place(), any::<u8>()).prop_map(|(at, byte)| Mangling::Byte(at, byte)),
        1 => place().prop_map(Mangling::Truncate),
        2 => (place(), place()).prop_map(|(one, other)| Mangling::Swap(one, other)),
        1 => place().prop_map(Mangling::Repeat),
        2 => (place(), place()).prop_map(|(at, file)| Mangling::Graft(at, file)),
        4 => (place(), select(&NUMBERS)).prop_map(|(at, number)| Mangling::Number(at, number)),
    ]
}

impl Mangling {
    fn apply(&self, text: &str, corpus: &[(String, String)]) -> String {
        let mut lines: Vec<&str> = text.split_inclusive('\n').collect();
        let mut bytes = text.as_bytes().to_vec();
        if bytes.is_empty() {
            return text.to_owned();
        }
        match self {
            Self::Byte(at, byte) => *at.get_mut(&mut bytes) = *byte,
            Self::Truncate(at) => bytes.truncate(at.index(text.len())),
            Self::Swap(one, other) => {
                let count = lines.len();
                lines.swap(one.index(count), other.index(count));
                return lines.concat();
            }
            Self::Repeat(at) => {
                let at = at.index(lines.len());
                lines.insert(at, lines[at]);
                return lines.concat();
            }
            Self::Graft(at, file) => {
                lines.truncate(at.index(lines.len()) + 1);
                return lines.concat() + &file.get(corpus).1;
            }
            Self::Number(at, number) => return with_number(text, *at, number),
        }
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

fn with_number(text: &str, which: Index, number: &str) -> String {
    let starts_number = |&(at, c): &(usize, char)| {
        c.is_ascii_digit() && !text[..at].ends_with(|before: char| before.is_ascii_digit())
    };
    let starts: Vec<usize> = text.char_indices().filter(starts_number).map(|(at, _)| at).collect();
    if starts.is_empty() {
        return text.to_owned();
    }
    let (before, rest) = text.split_at(*which.get(&starts));
    before.to_owned() + number + rest.trim_start_matches(|c: char| c.is_ascii_digit())
}

proptest! {
    #[test]
    fn a_mangled_file_is_a_scenario_or_a_short_line_says_why_not(
        file: Index,
        manglings in vec(mangling(), 1..6),
    ) {
        let corpus = corpus();
        let (_, text) = file.get(&corpus);
        let mangled = manglings.iter().fold(text.clone(), |text, one| one.apply(&text, &corpus));
        // While findings are open, mangled files are only parsed: running them would find the same failures again.
        let run: checks::Run = if OPEN.is_empty() { run } else { |_, _, _| Err("not run".into()) };
        let _ = checks::scenario_file(&mangled, run);
    }

    #[test]
    fn every_scenario_survives_a_file(scenario in any_scenario::scenario()) {
        prop_assert_eq!(scenario.validate(), Ok(()));
        checks::survives_a_file(&scenario);
    }
}
