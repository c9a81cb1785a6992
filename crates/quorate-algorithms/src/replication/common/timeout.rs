//! Timeouts that differ between processes, without randomness inside of a process.

use quorate_core::{ProcessId, Span};

/// Number of different timeouts among which a process draws.
const CHOICES: u64 = 10;

/// The timeouts of a process, as functions of a seed, the process and a number that grows with each attempt to lead.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Timeouts {
    /// Assumed maximum delay of a message.
    bound: Span,
    seed: u64,
}

impl Timeouts {
    pub(crate) const fn new(bound: Span, seed: u64) -> Self {
        Self { bound, seed }
    }

    /// Interval between two heartbeats of a leader. It is longer than a round trip, so that answered messages are not repeated.
    pub(crate) const fn heartbeat(self) -> Span {
        Span(self.bound.0.saturating_mul(3))
    }

    /// Time without a leader after which a process tries to lead, in attempt or term `number`. Several round trips fit into it,
    /// and a tenth of it or more separates two processes that draw differently. It grows with each attempt, because the
    /// true bound on delays may be greater than the assumed one.
    pub(crate) fn election(self, process: ProcessId, number: u64) -> Span {
        let drawn = hash(self.seed, u64::from(process.number()), number) % (CHOICES + 1);
        let bounds = CHOICES.saturating_add(2 * drawn).saturating_add(number);
        Span(self.bound.0.saturating_mul(bounds))
    }

    /// Time within which a view has to make progress. It grows with each view for the same reason.
    pub(crate) const fn view(self, number: u64) -> Span {
        Span(self.bound.0.saturating_mul(number.saturating_mul(5).saturating_add(15)))
    }
}

/// A hash of three numbers (the finaliser of SplitMix64).
fn hash(seed: u64, process: u64, number: u64) -> u64 {
    let mut bits = seed;
    for number in [process, number] {
        bits = bits.wrapping_add(number).wrapping_add(0x9e37_79b9_7f4a_7c15);
        bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^= bits >> 31;
    }
    bits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timeouts_differ_between_processes_and_attempts_and_leave_time_for_heartbeats() {
        let timeouts = Timeouts::new(Span::from_millis(1), 7);
        let all: std::vec::Vec<Span> = ProcessId::all(5)
            .flat_map(|id| (0..5).map(move |term| timeouts.election(id, term)))
            .collect();
        assert!(all.iter().all(|timeout| timeout.0 >= 3 * timeouts.heartbeat().0));
        assert!(all.iter().any(|timeout| *timeout != all[0]));
        assert_eq!(
            timeouts.election(ProcessId::new(0), 3),
            timeouts.election(ProcessId::new(0), 3)
        );
    }
}
