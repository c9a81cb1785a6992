//! Total order: if a member delivers one message before another, no
//! other member delivers the second without having delivered the first.
//!
//! As in the literature, only members count that do not crash in the whole run. A member that crashes may have
//! delivered a message that no other member ever delivers. The common beginning of all logs is dropped. Cost: O(1)
//! amortised for each delivery. At the end of a run with different orders, all pairs of members are compared.

use std::collections::VecDeque;

use quorate_core::definition::multicast as definition;
use quorate_core::{ProcessId, ProcessSet, Property, SortedMap};

use super::violation::{Evidence, Violation};
use crate::engine::observer::Moment;

/// Monitor of total order.
#[derive(Clone, Debug)]
pub(crate) struct TotalOrder {
    /// Deliveries of each live member, without the common beginning of all logs.
    logs: SortedMap<ProcessId, VecDeque<Delivery>>,
    /// Number of empty logs.
    empty: usize,
    violation: Option<Violation>,
}

#[derive(Clone, Copy, Debug)]
struct Delivery {
    origin: ProcessId,
    id: u64,
    at: Moment,
}

impl Delivery {
    fn message(&self) -> (ProcessId, u64) {
        (self.origin, self.id)
    }
}

impl TotalOrder {
    /// Creates a monitor for these members.
    pub(crate) fn new(members: &ProcessSet) -> Self {
        let logs: SortedMap<_, _> =
            members.iter().map(|member| (member, VecDeque::new())).collect();
        Self { empty: logs.len(), logs, violation: None }
    }

    pub(crate) fn delivered(&mut self, at: Moment, origin: ProcessId, id: u64) {
        let Some(log) = self.logs.get_mut(&at.process) else { return };
        log.push_back(Delivery { origin, id, at });
        if log.len() == 1 {
            self.empty -= 1;
            self.forget();
        }
    }

    pub(crate) fn crashed(&mut self, process: ProcessId) {
        if let Some(log) = self.logs.remove(&process) {
            self.empty -= usize::from(log.is_empty());
            self.forget();
        }
    }

    /// Judges the end of the run. All remaining members count.
    pub(crate) fn end(&mut self) {
        let pairs = || {
            let logs = || self.logs.values();
            logs()
                .enumerate()
                .flat_map(move |(place, a)| logs().skip(place + 1).map(move |b| (a, b)))
        };
        self.violation = pairs().find_map(|(a, b)| disorder(a, b));
    }

    pub(crate) fn violation(&self) -> Option<&Violation> {
        self.violation.as_ref()
    }

    /// Drops deliveries from the front of all logs as long as all logs begin with the same message.
    fn forget(&mut self) {
        while self.empty == 0 {
            let Some((_, first)) = self.logs.first_key_value() else { return };
            let first = first[0].message();
            if self.logs.values().any(|log| log[0].message() != first) {
                return;
            }
            for log in self.logs.values_mut() {
                log.pop_front();
                self.empty += usize::from(log.is_empty());
            }
        }
    }
}

/// Finds two messages that one member delivered in an order that the other did not keep.
fn disorder(a: &VecDeque<Delivery>, b: &VecDeque<Delivery>) -> Option<Violation> {
    // Most pairs agree as far as the shorter log goes.
    if a.iter().zip(b).all(|(a, b)| a.message() == b.message()) {
        return None;
    }
    broken(a, b).or_else(|| broken(b, a))
}

/// Finds a message that `first` delivered before another message, which `second` delivered without it.
fn broken(first: &VecDeque<Delivery>, second: &VecDeque<Delivery>) -> Option<Violation> {
    let mut positions: SortedMap<(ProcessId, u64), (usize, Delivery)> = SortedMap::new();
    for (position, delivery) in second.iter().enumerate() {
        positions.entry(delivery.message()).or_insert((position, *delivery));
    }
    let there = |delivery: &Delivery| positions.get(&delivery.message());
    let deliveries =
        first.iter().map(|delivery| (delivery, there(delivery).map(|(position, _)| *position)));
    let (early, late) = definition::disorder(deliveries)?;
    let (_, there) = there(late)?;
    Some(violation(*early, *late, *there))
}

fn violation(early: Delivery, late: Delivery, there: Delivery) -> Violation {
    let name = |delivery: Delivery| format!("message {} of {}", delivery.id, delivery.origin);
    let (one, other) = (early.at.process, there.at.process);
    let mut events = vec![
        Evidence::new(early.at, format!("delivered {}", name(early))),
        Evidence::new(late.at, format!("delivered {} after it", name(late))),
        Evidence::new(there.at, format!("delivered {} without it", name(there))),
    ];
    events.sort_by_key(|evidence| evidence.event);
    Violation {
        property: Property::TotalOrder,
        time: there.at.time.max(late.at.time),
        detail: format!(
            "{one} delivered {} before {}, and {other} delivered {} at {} without having delivered {}",
            name(early),
            name(late),
            name(there),
            there.at.time,
            name(early),
        ),
        events,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quorate_core::Time;

    fn watched(deliveries: &[(u32, u32)]) -> TotalOrder {
        let mut order = TotalOrder::new(&ProcessSet::all(3));
        for (event, &(process, origin)) in deliveries.iter().enumerate() {
            let event = event as u64;
            let at = Moment { event, time: Time(event), process: ProcessId::new(process) };
            order.delivered(at, ProcessId::new(origin), 0);
        }
        order
    }

    fn judged(mut order: TotalOrder) -> Option<String> {
        order.end();
        order.violation().map(|violation| violation.detail.clone())
    }

    #[test]
    fn two_orders_are_a_violation() {
        let found = judged(watched(&[(0, 0), (0, 1), (1, 1), (1, 0)]));
        assert_eq!(
            found.as_deref(),
            Some(
                "p0 delivered message 0 of p0 before message 0 of p1, and p1 delivered message 0 of p1 at 2ns without \
                 having delivered message 0 of p0"
            )
        );
    }

    #[test]
    fn one_who_leaves_a_message_out_breaks_it_and_one_who_is_behind_does_not() {
        assert!(judged(watched(&[(0, 0), (0, 1), (1, 1)])).is_some());
        assert_eq!(judged(watched(&[(0, 0), (0, 1), (1, 0)])), None);
    }

    #[test]
    fn different_messages_are_no_different_order() {
        assert_eq!(judged(watched(&[(0, 0), (1, 1)])), None, "agreement breaks, not order");
    }

    #[test]
    fn the_crashed_do_not_count() {
        let mut order = watched(&[(0, 0), (0, 1), (1, 1), (1, 0), (2, 0), (2, 1)]);
        order.crashed(ProcessId::new(1));
        assert!(order.logs.values().all(VecDeque::is_empty), "what all have is forgotten");
        assert_eq!(judged(order), None);
    }
}
