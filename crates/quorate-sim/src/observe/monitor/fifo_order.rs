//! FIFO order: if a process multicasts one message and then another, no member delivers the second without having
//! delivered the first. A member that has been down has missed messages and is no longer judged.

use quorate_core::multicast::Group;
use quorate_core::{ProcessId, Property};

use super::backlog::Backlog;
use super::violation::{Evidence, Violation};
use crate::engine::observer::Moment;

/// Monitor of FIFO order.
#[derive(Clone, Debug, Default)]
pub(crate) struct FifoOrder {
    backlog: Backlog,
    violation: Option<Violation>,
}

impl FifoOrder {
    pub(crate) fn sent(&mut self, at: Moment, id: u64, to: Group) {
        self.backlog.sent(at, id, to);
    }

    pub(crate) fn delivered(&mut self, at: Moment, origin: ProcessId, id: u64) {
        let Some(rank) = self.backlog.rank(origin, id) else { return };
        if let Some(first) = self.backlog.missing(at.process, origin, rank)
            && self.violation.is_none()
        {
            let second = self.backlog.message(origin, rank);
            self.violation = Some(Violation {
                property: Property::FifoOrder,
                time: at.time,
                detail: format!(
                    "{} delivered message {id} of {origin} at {} without message {}, which {origin} had multicast \
                     before",
                    at.process, at.time, first.id
                ),
                events: vec![
                    Evidence::new(first.at, format!("multicast message {}", first.id)),
                    Evidence::new(second.at, format!("multicast message {id}")),
                    Evidence::new(at, format!("delivered message {id} of {origin} first")),
                ],
            });
        }
        self.backlog.delivered(at.process, origin, rank);
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

    fn two_sent() -> FifoOrder {
        let mut order = FifoOrder::default();
        order.sent(at(1, 0), 0, Group::All);
        order.sent(at(2, 0), 1, Group::All);
        order
    }

    #[test]
    fn the_second_before_the_first_is_a_violation() {
        let (mut order, p0) = (two_sent(), ProcessId::new(0));
        order.delivered(at(3, 1), p0, 1);
        let found = order.violation().expect("p1 delivered the second first");
        assert_eq!(
            found.detail,
            "p1 delivered message 1 of p0 at 3ns without message 0, which p0 had multicast before"
        );
        assert_eq!(found.events.iter().map(|event| event.event).collect::<Vec<_>>(), [1, 2, 3]);
    }

    #[test]
    fn in_order_and_for_others_only_is_none() {
        let (mut order, p0) = (two_sent(), ProcessId::new(0));
        order.delivered(at(3, 1), p0, 0);
        order.delivered(at(4, 1), p0, 1);
        order.sent(at(5, 0), 2, Group::Only([ProcessId::new(2)].into_iter().collect()));
        order.sent(at(6, 0), 3, Group::All);
        order.delivered(at(7, 1), p0, 3);
        assert_eq!(order.violation(), None);
    }
}
