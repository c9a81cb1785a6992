//! Causal order: if one multicast happened before another, no
//! member delivers the second without having delivered the first.
//!
//! Multicast a happened before multicast b if the sender of b had multicast or delivered a, or had delivered a message
//! that a happened before. What counts is the knowledge of users, not messages that processes received on lower layers.
//! The relation is decided with vector clocks that tick at multicasts. A member that has been down has missed messages
//! and is no longer judged. Cost: O(n) for each multicast and delivery.

use quorate_core::definition::multicast::CausalPast;
use quorate_core::multicast::Group;
use quorate_core::{ProcessId, Property, SortedMap};

use super::backlog::Backlog;
use super::violation::{Evidence, Violation};
use crate::engine::observer::Moment;

/// Monitor of causal order.
#[derive(Clone, Debug)]
pub(crate) struct CausalOrder {
    backlog: Backlog,
    /// The multicasts that happened before the next one of each process.
    known: Vec<CausalPast>,
    /// The multicasts that happened before each message, including the message itself.
    past: SortedMap<(ProcessId, usize), CausalPast>,
    violation: Option<Violation>,
}

impl CausalOrder {
    pub(crate) fn new(n: usize) -> Self {
        Self {
            backlog: Backlog::default(),
            known: vec![CausalPast::default(); n],
            past: SortedMap::new(),
            violation: None,
        }
    }

    pub(crate) fn sent(&mut self, at: Moment, id: u64, to: Group) {
        let rank = self.backlog.sent(at, id, to);
        let past = self.known[at.process.index()].on_multicast(at.process);
        self.past.insert((at.process, rank), past);
    }

    pub(crate) fn delivered(&mut self, at: Moment, origin: ProcessId, id: u64) {
        let Some(rank) = self.backlog.rank(origin, id) else { return };
        self.backlog.delivered(at.process, origin, rank);
        let past = &self.past[&(origin, rank)];
        self.known[at.process.index()].on_delivery(past);
        if self.violation.is_some() {
            return;
        }
        let lacks = |(sender, count): (ProcessId, usize)| {
            self.backlog.missing(at.process, sender, count).map(|first| (sender, first))
        };
        let Some((sender, first)) = past.iter().find_map(lacks) else { return };
        let second = self.backlog.message(origin, rank);
        self.violation = Some(Violation {
            property: Property::CausalOrder,
            time: at.time,
            detail: format!(
                "{} delivered message {id} of {origin} at {} without message {} of {sender}, which happened before",
                at.process, at.time, first.id
            ),
            events: vec![
                Evidence::new(first.at, format!("multicast message {}", first.id)),
                Evidence::new(second.at, format!("multicast message {id}, knowing of that")),
                Evidence::new(at, format!("delivered message {id} of {origin} first")),
            ],
        });
    }

    pub(crate) fn violation(&self) -> Option<&Violation> {
        self.violation.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quorate_core::Time;

    fn at(event: u64, process: u32) -> Moment {
        Moment { event, time: Time(event), process: ProcessId::new(process) }
    }

    fn question(order: &mut CausalOrder) {
        order.sent(at(1, 0), 0, Group::All);
        order.delivered(at(1, 0), ProcessId::new(0), 0);
    }

    #[test]
    fn an_answer_before_the_question_is_a_violation() {
        let mut order = CausalOrder::new(3);
        question(&mut order);
        order.delivered(at(2, 1), ProcessId::new(0), 0);
        order.sent(at(3, 1), 0, Group::All);
        order.delivered(at(4, 2), ProcessId::new(1), 0);
        let found = order.violation().expect("p2 has the answer without the question");
        assert_eq!(
            found.detail,
            "p2 delivered message 0 of p1 at 4ns without message 0 of p0, which happened before"
        );
    }

    #[test]
    fn what_is_concurrent_may_come_in_any_order() {
        let mut order = CausalOrder::new(3);
        question(&mut order);
        order.sent(at(3, 1), 0, Group::All);
        order.delivered(at(4, 2), ProcessId::new(1), 0);
        assert_eq!(order.violation(), None);
    }

    #[test]
    fn what_came_through_a_third_counts_as_well() {
        let mut order = CausalOrder::new(4);
        question(&mut order);
        order.delivered(at(2, 1), ProcessId::new(0), 0);
        order.sent(at(3, 1), 0, Group::All);
        order.delivered(at(4, 2), ProcessId::new(0), 0);
        order.delivered(at(5, 2), ProcessId::new(1), 0);
        order.sent(at(6, 2), 0, Group::All);
        assert_eq!(order.violation(), None);
        order.delivered(at(7, 3), ProcessId::new(1), 0);
        let found = order.violation().expect("p3 has p1's answer and not p0's question");
        assert!(found.detail.contains("without message 0 of p0"), "{}", found.detail);
    }
}
