//! Vector clocks, which decide happened-before exactly.
//!
//! Source: Fidge, "Timestamps in Message-Passing Systems That Preserve the Partial Ordering", 1988; Mattern, "Virtual
//! Time and Global States of Distributed Systems", 1989.

use alloc::vec::Vec;
use core::cmp::Ordering;

use crate::ProcessId;

/// Number of known events of each process. Entries beyond the end are zero.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct VectorClock {
    /// The last entry is never zero, so that clocks with equal knowledge are equal.
    known: Vec<u64>,
}

impl VectorClock {
    /// Creates a clock that knows no events.
    pub const fn new() -> Self {
        Self { known: Vec::new() }
    }

    /// The counts, starting with process 0, for serialisation.
    #[cfg(feature = "serde")]
    pub(crate) fn counts(&self) -> &[u64] {
        &self.known
    }

    /// Creates a clock from its counts.
    #[cfg(feature = "serde")]
    pub(crate) fn from_counts(mut known: Vec<u64>) -> Self {
        while known.last() == Some(&0) {
            known.pop();
        }
        Self { known }
    }

    /// Number of known events of the process.
    pub fn of(&self, process: ProcessId) -> u64 {
        self.known.get(process.index()).copied().unwrap_or(0)
    }

    /// Counts one more event of the process.
    pub fn tick(&mut self, process: ProcessId) {
        if process.index() >= self.known.len() {
            self.known.resize(process.index() + 1, 0);
        }
        self.known[process.index()] += 1;
    }

    /// Adds the knowledge of `other`. Returns `true` if anything was new.
    pub fn merge(&mut self, other: &Self) -> bool {
        if self.known.len() < other.known.len() {
            self.known.resize(other.known.len(), 0);
        }
        let mut learned = false;
        for (mine, &theirs) in self.known.iter_mut().zip(&other.known) {
            learned |= theirs > *mine;
            *mine = theirs.max(*mine);
        }
        learned
    }

    /// Returns `true` if `other` knows every event that this clock knows.
    pub fn is_within(&self, other: &Self) -> bool {
        self.known.len() <= other.known.len()
            && self.known.iter().zip(&other.known).all(|(mine, theirs)| mine <= theirs)
    }

    /// Returns `true` if the event stamped with this clock happened before the event stamped with `other`.
    pub fn happened_before(&self, other: &Self) -> bool {
        self.partial_cmp(other) == Some(Ordering::Less)
    }

    /// The entries above zero with their processes.
    pub fn iter(&self) -> impl Iterator<Item = (ProcessId, u64)> {
        self.known
            .iter()
            .enumerate()
            .filter(|&(_, &count)| count > 0)
            .map(|(index, &count)| (ProcessId::from_index(index), count))
    }
}

/// The partial order of knowledge. Concurrent clocks are not comparable.
impl PartialOrd for VectorClock {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        match (self.is_within(other), other.is_within(self)) {
            (true, true) => Some(Ordering::Equal),
            (true, false) => Some(Ordering::Less),
            (false, true) => Some(Ordering::Greater),
            (false, false) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Steps of a random run: an event of a process, or a message from one process to another.
    fn steps() -> impl Strategy<Value = Vec<(usize, usize)>> {
        proptest::collection::vec((0usize..4, 0usize..4), 0..24)
    }

    proptest! {
        /// Compares with a naive model that keeps the set of earlier events for every event.
        #[test]
        fn clocks_decide_happened_before(steps in steps()) {
            use std::collections::BTreeSet;
            let mut clocks = std::vec![VectorClock::new(); 4];
            let mut past: Vec<BTreeSet<usize>> = std::vec![BTreeSet::new(); 4];
            let mut events: Vec<(VectorClock, BTreeSet<usize>)> = Vec::new();
            for (from, to) in steps {
                if from != to {
                    let (heard, known) = (clocks[from].clone(), past[from].clone());
                    clocks[to].merge(&heard);
                    past[to].extend(known);
                }
                clocks[to].tick(ProcessId::from_index(to));
                events.push((clocks[to].clone(), past[to].clone()));
                past[to].insert(events.len() - 1);
            }
            for (a, (clock, _)) in events.iter().enumerate() {
                for (later, before) in &events {
                    prop_assert_eq!(clock.happened_before(later), before.contains(&a));
                }
            }
        }
    }

    #[test]
    fn merging_tells_whether_something_was_new() {
        let (mut a, mut b) = (VectorClock::new(), VectorClock::new());
        b.tick(ProcessId::new(1));
        assert!(a.merge(&b));
        assert!(!a.merge(&b));
        assert_eq!(a, b);
    }
}
