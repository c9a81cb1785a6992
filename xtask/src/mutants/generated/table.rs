//! The table of the tried mutants, in Markdown, and the reasons of those that survive.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::list::Mutant;
use super::suite::Fate;

/// Mutants that no quick test can notice: a line for each, with the file, the change, and the reason. A change that a file
/// contains several times has one reason for all of them.
const REASONS: &str = include_str!("reasons.txt");

/// Numbers of mutants of a file.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    caught: usize,
    survived: usize,
    explained: usize,
    unviable: usize,
    left_out: usize,
}

impl Counts {
    fn add(&mut self, mutant: &Mutant, fate: &Fate) {
        let explained = reason(mutant).is_some();
        match fate {
            Fate::Caught(_) | Fate::TimedOut => self.caught += 1,
            Fate::Survived | Fate::NotReached => {
                self.survived += 1;
                self.explained += usize::from(explained);
            }
            Fate::DoesNotCompile => self.unviable += 1,
            Fate::LeftOut => self.left_out += 1,
        }
    }

    fn row(&self, name: &str) -> String {
        let Self { caught, survived, explained, unviable, left_out } = *self;
        let viable = caught + survived;
        let share = (caught * 100).checked_div(viable).unwrap_or(100);
        format!(
            "| {name} | {viable} | {caught} | {share} % | {survived} | {explained} | {unviable} | {left_out} |\n"
        )
    }
}

/// The table: a row for each file, then the mutants that survive.
pub(super) fn table(tried: &[(Mutant, Fate)], every: usize) -> String {
    let (mut files, mut total) = (BTreeMap::<&str, Counts>::new(), Counts::default());
    for (mutant, fate) in tried {
        files.entry(&mutant.file).or_default().add(mutant, fate);
        total.add(mutant, fate);
    }
    let mut text = String::new();
    if every > 1 {
        let _ = writeln!(text, "A sample: every mutant whose number is divisible by {every}.\n");
    }
    text.push_str(
        "| file | viable | caught | share | survive | with a reason | do not compile | in constants |\n\
         |---|---|---|---|---|---|---|---|\n",
    );
    for (file, counts) in &files {
        text.push_str(&counts.row(shown(file)));
    }
    text.push_str(&total.row("all"));
    let survivors =
        tried.iter().filter(|(_, fate)| matches!(fate, Fate::Survived | Fate::NotReached));
    let mut list = String::new();
    for (mutant, fate) in survivors {
        let Mutant { file, line, change, .. } = mutant;
        let reason = reason(mutant).unwrap_or(match fate {
            Fate::NotReached => "not reached",
            _ => "not noticed",
        });
        let _ = writeln!(list, "- `{}:{line}`: `{change}`: {reason}", shown(file));
    }
    if !list.is_empty() {
        let _ = write!(text, "\nMutants that survive:\n\n{list}");
    }
    text
}

/// Number of mutants that survive without a reason.
pub(super) fn unexplained(tried: &[(Mutant, Fate)]) -> usize {
    let survive = |fate: &Fate| matches!(fate, Fate::Survived | Fate::NotReached);
    tried.iter().filter(|(mutant, fate)| survive(fate) && reason(mutant).is_none()).count()
}

/// A file as the table shows it.
fn shown(file: &str) -> &str {
    file.strip_prefix("crates/").unwrap_or(file)
}

fn reason(mutant: &Mutant) -> Option<&'static str> {
    let lines = REASONS.lines().filter(|line| !line.starts_with('#'));
    let mut rows = lines.filter_map(|line| line.split_once(" | "));
    rows.find_map(|(file, rest)| {
        let (change, reason) = rest.split_once(" | ")?;
        (mutant.file.ends_with(file) && mutant.change == change).then_some(reason)
    })
}

impl Fate {
    pub(super) fn text(&self) -> String {
        match self {
            Self::Caught(test) => format!("caught by {test}"),
            Self::TimedOut => "exceeds the timeout".to_owned(),
            Self::Survived => "SURVIVES".to_owned(),
            Self::NotReached => "NOT REACHED".to_owned(),
            Self::DoesNotCompile => "does not compile".to_owned(),
            Self::LeftOut => "left out".to_owned(),
        }
    }
}
