//! Lamport's logical clock and the total order (time, id) that it induces.
//!
//! Source: Lamport, "Time, Clocks, and the Ordering of Events in a Distributed System", CACM 21(7), 1978.

use core::fmt;

use crate::ProcessId;

/// A counter that is never behind any time that its process has received.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LamportClock {
    time: u64,
}

impl LamportClock {
    /// Creates a clock that shows `time`.
    pub const fn at(time: u64) -> Self {
        Self { time }
    }

    /// The present time of the clock.
    pub const fn time(self) -> u64 {
        self.time
    }

    /// Rule 1: a local event advances the clock. Returns the time of the event.
    pub const fn tick(&mut self) -> u64 {
        self.time = self.time.saturating_add(1);
        self.time
    }

    /// Advances the clock to at least `time`, without counting the receipt as an event. This is enough if only ticks of
    /// this clock are ever compared.
    pub fn merge(&mut self, time: u64) {
        self.time = self.time.max(time);
    }

    /// Rule 2: receiving `time` advances the clock past it. Returns the time of the receipt.
    pub fn witness(&mut self, time: u64) -> u64 {
        self.merge(time);
        self.tick()
    }

    /// Shows the time, of which only differences to other times matter; see [`crate::Process::visit_shift_invariant`].
    pub fn visit_shift_invariant(&mut self, visit: &mut dyn FnMut(&mut u64)) {
        visit(&mut self.time);
    }
}

/// A Lamport time made unique by its process. All stamps are totally ordered, and a request that happened before
/// another has the smaller stamp.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Stamp {
    /// The Lamport time, which is compared first.
    pub time: u64,
    /// The owner of the stamp, which breaks ties between equal times.
    pub process: ProcessId,
}

impl fmt::Display for Stamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "({}, {})", self.time, self.process)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_receipt_is_later_than_its_send_and_than_all_before_it() {
        let (mut sender, mut receiver) = (LamportClock::at(41), LamportClock::at(7));
        let sent = sender.tick();
        assert!(receiver.witness(sent) > sent);
        assert_eq!(receiver.witness(3), 44, "an old message does not turn the clock back");
    }

    #[test]
    fn stamps_order_by_time_then_process() {
        let stamp = |time, process| Stamp { time, process: ProcessId::new(process) };
        assert!(stamp(34, 2) < stamp(41, 1));
        assert!(stamp(34, 1) < stamp(34, 2));
    }

    #[test]
    fn a_hostile_time_does_not_overflow() {
        assert_eq!(LamportClock::default().witness(u64::MAX), u64::MAX);
    }
}
