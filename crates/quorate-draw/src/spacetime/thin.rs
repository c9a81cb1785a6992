//! Which of many messages are drawn: those that matter, and an even choice of the others.

use std::collections::{BTreeMap, BTreeSet};

use super::plot::Plot;
use super::story::{Fate, Passage, Story};

/// The messages of a picture.
#[derive(Debug, Default)]
pub(super) struct Thinned<'s> {
    pub(super) drawn: Vec<&'s Passage>,
    /// How many there are in the window between processes that are drawn.
    pub(super) all: usize,
    /// How many are messages to oneself that take no time.
    pub(super) to_self: usize,
    /// How many go to or come from processes that are not drawn.
    pub(super) hidden: usize,
}

/// Chooses at most so many messages of the window.
pub(super) fn thin<'s>(
    story: &'s Story,
    plot: &Plot,
    culprits: &BTreeSet<u64>,
    most: usize,
) -> Thinned<'s> {
    let mut thinned = Thinned::default();
    let (mut first, mut rest) = (Vec::new(), Vec::new());
    let mut seen = BTreeSet::new();
    for message in &story.messages {
        let end = message.end().unwrap_or(match message.fate {
            Fate::UnderWay => u64::MAX,
            _ => message.sent.time.saturating_add(story.usual),
        });
        if !plot.meets(message.sent.time, end) {
            continue;
        }
        if message.from == message.to && end == message.sent.time {
            thinned.to_self += 1;
            continue;
        }
        if plot.y(message.from).is_none() || plot.y(message.to).is_none() {
            thinned.hidden += 1;
            continue;
        }
        thinned.all += 1;
        let at_an_end = |event| culprits.contains(&event);
        let arrives = match &message.fate {
            Fate::Arrives(at) => at_an_end(at.event),
            _ => false,
        };
        if at_an_end(message.sent.event) || arrives || matches!(message.fate, Fate::Lost { .. }) {
            first.push(message);
            continue;
        }
        // Two that nobody could tell apart are drawn as one.
        let column = |time: u64| (plot.x(time) * 2.0).round() as i64;
        let key = (column(message.sent.time), column(end), message.from, message.to, message.kind);
        if seen.insert(key) {
            rest.push(message);
        }
    }
    let first = evenly(first, most, 0);
    let rest = by_kind(rest, most - first.len());
    thinned.drawn = first;
    thinned.drawn.extend(rest);
    thinned.drawn.sort_by_key(|message| (message.sent.time, message.message, message.again));
    thinned
}

/// At most so many, of each kind alike: of the rare ones all, and of the others as many as are left.
fn by_kind(all: Vec<&Passage>, most: usize) -> Vec<&Passage> {
    let mut kinds: BTreeMap<u32, Vec<&Passage>> = BTreeMap::new();
    for message in all {
        kinds.entry(message.kind).or_default().push(message);
    }
    let mut kinds: Vec<Vec<&Passage>> = kinds.into_values().collect();
    kinds.sort_by_key(Vec::len);
    let (mut left, mut chosen) = (most, Vec::new());
    let count = kinds.len();
    for (place, kind) in kinds.into_iter().enumerate() {
        // Where several kinds go the same ways, one must not hide all of another: each begins its choice elsewhere.
        let share = left / (count - place);
        let phase = kind.len() / share.max(1) * place / count;
        let some = evenly(kind, share, phase);
        left -= some.len();
        chosen.extend(some);
    }
    chosen
}

/// At most so many, at equal distances, beginning so far from the first. Whole multicasts are not kept together: a fan of
/// each is worth more.
fn evenly<T>(all: Vec<T>, most: usize, phase: usize) -> Vec<T> {
    let count = all.len();
    if count <= most {
        return all;
    }
    let upto = |place: usize| (place + phase) * most / count;
    let chosen = |place: usize| upto(place + 1) > upto(place);
    all.into_iter().enumerate().filter(|(place, _)| chosen(*place)).map(|(_, one)| one).collect()
}

#[cfg(test)]
mod tests {
    use super::evenly;

    #[test]
    fn a_choice_is_even() {
        assert_eq!(evenly((0..10).collect(), 5, 0), [1, 3, 5, 7, 9]);
        assert_eq!(evenly((0..10).collect(), 5, 1), [0, 2, 4, 6, 8]);
        assert_eq!(evenly((0..3).collect(), 5, 0), [0, 1, 2]);
        assert!(evenly((0..7).collect::<Vec<_>>(), 0, 0).is_empty());
        for (count, most, phase) in [(1000, 7, 0), (400, 399, 5), (5, 4, 1), (1000, 7, 71)] {
            assert_eq!(evenly((0..count).collect::<Vec<_>>(), most, phase).len(), most);
        }
    }
}
