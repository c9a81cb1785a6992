//! Selection of the messages to draw: the important ones, and an even selection of the others.

use std::collections::{BTreeMap, BTreeSet};

use super::plot::Plot;
use super::timeline::{DeliveryStatus, Timeline, TracedMessage};

/// Selected messages, and counts of the omitted ones.
#[derive(Debug, Default)]
pub(super) struct MessageSelection<'s> {
    pub(super) drawn: Vec<&'s TracedMessage>,
    /// Number of messages in the window between drawn processes.
    pub(super) all: usize,
    /// Number of messages of processes to themselves that take no time.
    pub(super) to_self: usize,
    /// Number of messages to or from processes that are not drawn.
    pub(super) hidden: usize,
}

/// Selects at most `most` messages of the window.
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
        let takes_no_room = || message.end_column(plot) == Some(plot.x(message.sent));
        if message.from == message.to && takes_no_room() {
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
        // Messages that would look identical are drawn once.
        let column = |x: f64| (x * 2.0).round() as i64;
        let arrival = message.end_column(plot).unwrap_or_else(|| plot.x_of_time(end));
        let key =
            (column(plot.x(message.sent)), column(arrival), message.from, message.to, message.kind);
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

/// Selects at most `most` messages, balanced over the kinds: all of the rare kinds, and an equal share of the others.
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
        // Kinds may use the same routes. Each kind starts at a different phase, so that one does not hide another.
        let share = left / (count - index);
        let phase = kind.len() / share.max(1) * index / count;
        let some = evenly_spaced(kind, share, phase);
        left -= some.len();
        chosen.extend(some);
    }
    chosen
}

/// Selects at most `most` items at equal distances, shifted by `phase`. Multicasts are not kept whole: a few
/// arrows of each show more than all arrows of some.
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
