//! Which of many messages are drawn: those that matter, and an even choice of the others.

use std::collections::{BTreeMap, BTreeSet};

use super::plot::Plot;
use super::timeline::{DeliveryStatus, Timeline, TracedMessage};

/// The messages of a picture.
#[derive(Debug, Default)]
pub(super) struct MessageSelection<'s> {
    pub(super) drawn: Vec<&'s TracedMessage>,
    /// How many there are in the window between processes that are drawn.
    pub(super) all: usize,
    /// How many are messages to oneself that take no time.
    pub(super) to_self: usize,
    /// How many go to or come from processes that are not drawn.
    pub(super) hidden: usize,
}

/// Chooses at most so many messages of the window.
pub(super) fn select_messages<'s>(
    timeline: &'s Timeline,
    plot: &Plot,
    violation_events: &BTreeSet<u64>,
    most: usize,
) -> MessageSelection<'s> {
    let mut selection = MessageSelection::default();
    let (mut first, mut rest) = (Vec::new(), Vec::new());
    let mut seen = BTreeSet::new();
    for message in &timeline.messages {
        let end = message.end().unwrap_or(match message.delivery {
            DeliveryStatus::InFlight => u64::MAX,
            _ => message.sent.time.saturating_add(timeline.median_delay),
        });
        if !plot.overlaps(message.sent.time, end) {
            continue;
        }
        if message.from == message.to && end == message.sent.time {
            selection.to_self += 1;
            continue;
        }
        if plot.y(message.from).is_none() || plot.y(message.to).is_none() {
            selection.hidden += 1;
            continue;
        }
        selection.all += 1;
        let led_to_violation = |event| violation_events.contains(&event);
        let arrives = match &message.delivery {
            DeliveryStatus::Arrives(at) => led_to_violation(at.event),
            _ => false,
        };
        if led_to_violation(message.sent.event)
            || arrives
            || matches!(message.delivery, DeliveryStatus::Lost { .. })
        {
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
    let first = evenly_spaced(first, most, 0);
    let rest = evenly_by_kind(rest, most - first.len());
    selection.drawn = first;
    selection.drawn.extend(rest);
    selection
        .drawn
        .sort_by_key(|message| (message.sent.time, message.message, message.is_duplicate));
    selection
}

/// At most so many, of each kind alike: of the rare ones all, and of the others as many as are left.
fn evenly_by_kind(all: Vec<&TracedMessage>, most: usize) -> Vec<&TracedMessage> {
    let mut kinds: BTreeMap<u32, Vec<&TracedMessage>> = BTreeMap::new();
    for message in all {
        kinds.entry(message.kind).or_default().push(message);
    }
    let mut kinds: Vec<Vec<&TracedMessage>> = kinds.into_values().collect();
    kinds.sort_by_key(Vec::len);
    let (mut left, mut chosen) = (most, Vec::new());
    let count = kinds.len();
    for (index, kind) in kinds.into_iter().enumerate() {
        // Where several kinds go the same ways, one must not hide all of another: each begins its choice elsewhere.
        let share = left / (count - index);
        let phase = kind.len() / share.max(1) * index / count;
        let some = evenly_spaced(kind, share, phase);
        left -= some.len();
        chosen.extend(some);
    }
    chosen
}

/// At most so many, at equal distances, beginning so far from the first. Whole multicasts are not kept together: a fan of
/// each is worth more.
fn evenly_spaced<T>(all: Vec<T>, most: usize, phase: usize) -> Vec<T> {
    let count = all.len();
    if count <= most {
        return all;
    }
    let upto = |index: usize| (index + phase) * most / count;
    let chosen = |index: usize| upto(index + 1) > upto(index);
    all.into_iter().enumerate().filter(|(index, _)| chosen(*index)).map(|(_, one)| one).collect()
}

#[cfg(test)]
mod tests {
    use super::evenly_spaced;

    #[test]
    fn a_choice_is_even() {
        assert_eq!(evenly_spaced((0..10).collect(), 5, 0), [1, 3, 5, 7, 9]);
        assert_eq!(evenly_spaced((0..10).collect(), 5, 1), [0, 2, 4, 6, 8]);
        assert_eq!(evenly_spaced((0..3).collect(), 5, 0), [0, 1, 2]);
        assert!(evenly_spaced((0..7).collect::<Vec<_>>(), 0, 0).is_empty());
        for (count, most, phase) in [(1000, 7, 0), (400, 399, 5), (5, 4, 1), (1000, 7, 71)] {
            assert_eq!(evenly_spaced((0..count).collect::<Vec<_>>(), most, phase).len(), most);
        }
    }
}
