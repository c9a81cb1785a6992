//! Acknowledged failures: the crashes that all live processes are known to have acknowledged.
//!
//! A set F of crashed processes is settled at a process when every process outside F has acknowledged a superset of F
//! to it. Settled sets are closed under union, so there is a greatest one. It only grows.

use alloc::vec::Vec;

use quorate_core::{ProcessId, ProcessSet};

/// The acknowledgements that one process has received.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(in crate::mutex) struct Views {
    n: usize,
    /// The crashes that each process has acknowledged so far. Empty until the first acknowledgement.
    acknowledged: Vec<ProcessSet>,
    /// The crashes that any process has acknowledged. No other crash can be settled.
    known: ProcessSet,
    settled: ProcessSet,
}

impl Views {
    /// Creates the views of n processes, none of which has crashed.
    pub(in crate::mutex) fn new(n: usize) -> Self {
        let (known, settled) = (ProcessSet::new(), ProcessSet::new());
        Self { n, acknowledged: Vec::new(), known, settled }
    }

    /// The crashes that all remaining processes have acknowledged.
    pub(in crate::mutex) const fn settled(&self) -> &ProcessSet {
        &self.settled
    }

    /// The crashes that a process has acknowledged.
    pub(in crate::mutex) fn acknowledged_by(&self, process: ProcessId) -> ProcessSet {
        self.acknowledged.get(process.index()).cloned().unwrap_or_default()
    }

    /// Returns `true` if the process has acknowledged exactly these crashes.
    pub(in crate::mutex) fn has_acknowledged(
        &self,
        process: ProcessId,
        crashed: &ProcessSet,
    ) -> bool {
        match self.acknowledged.get(process.index()) {
            Some(set) => set == crashed,
            None => crashed.is_empty(),
        }
    }

    /// Records that a process acknowledges crashes. Returns `true` if more crashes are settled now.
    pub(in crate::mutex) fn acknowledge(
        &mut self,
        process: ProcessId,
        crashed: &ProcessSet,
    ) -> bool {
        // An honest process does not name processes that do not exist.
        if process.index() >= self.n || crashed.last().is_some_and(|last| last.index() >= self.n) {
            return false;
        }
        if self.acknowledged.is_empty() {
            self.acknowledged.resize_with(self.n, ProcessSet::new);
        }
        let news = crashed - &self.acknowledged[process.index()];
        self.acknowledged[process.index()].union_with(&news);
        self.known.union_with(&news);
        if !self.may_settle(news) {
            return false;
        }
        let settled = self.greatest_settled();
        let more = settled != self.settled;
        self.settled = settled;
        more
    }

    /// Returns `true` if every process that would have to has acknowledged some of the news. A newly settled set
    /// contains some of them: without them it would have been settled before. Finding the greatest settled set costs n
    /// times as much, and is needless for all but the last of n acknowledgements.
    fn may_settle(&self, mut news: ProcessSet) -> bool {
        for (set, process) in self.acknowledged.iter().zip(ProcessId::all(self.n)).rev() {
            if !self.known.contains(process) {
                news.intersect_with(set);
            }
            if news.is_empty() {
                return false;
            }
        }
        true
    }

    /// Shrinks the set of known crashes until every process outside it has acknowledged all of it.
    fn greatest_settled(&self) -> ProcessSet {
        let mut candidate = self.known.clone();
        loop {
            let size = candidate.len();
            for process in ProcessId::all(self.n) {
                if candidate.is_empty() {
                    return candidate;
                }
                if !candidate.contains(process) {
                    candidate.intersect_with(&self.acknowledged[process.index()]);
                }
            }
            if candidate.len() == size {
                return candidate;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::vec;

    fn set(members: &[u32]) -> ProcessSet {
        members.iter().copied().map(ProcessId::new).collect()
    }

    fn settles(views: &mut Views, process: u32, crashed: &[u32]) -> bool {
        views.acknowledge(ProcessId::new(process), &set(crashed))
    }

    #[test]
    fn a_crash_is_settled_when_everyone_else_has_acknowledged_it() {
        let mut views = Views::new(4);
        assert!(!settles(&mut views, 0, &[3]));
        assert!(!settles(&mut views, 1, &[3]));
        assert!(settles(&mut views, 2, &[3]));
        assert_eq!(views.settled(), &set(&[3]));
    }

    #[test]
    fn what_is_settled_stays_so_while_more_crash() {
        let mut views = Views::new(4);
        (0..3).for_each(|process| {
            settles(&mut views, process, &[3]);
        });
        assert!(!settles(&mut views, 0, &[2, 3]));
        assert_eq!(views.settled(), &set(&[3]), "1 has not acknowledged 2");
        assert!(settles(&mut views, 1, &[2, 3]));
        assert_eq!(views.settled(), &set(&[2, 3]));
    }

    #[test]
    fn processes_that_do_not_exist_settle_nothing() {
        let mut views = Views::new(3);
        assert!(!settles(&mut views, 1, &[0, 1, 2, 3]));
        assert!(!settles(&mut views, 3, &[0, 1, 2]));
        assert!(views.settled().is_empty());
    }

    #[test]
    fn the_only_one_left_settles_alone() {
        let mut views = Views::new(3);
        assert!(settles(&mut views, 0, &[1, 2]));
        assert_eq!(views.settled(), &set(&[1, 2]));
    }

    /// The union of all sets of known crashes that are settled by definition.
    fn settled_by_definition(acknowledged: &[ProcessSet]) -> ProcessSet {
        let n = acknowledged.len();
        let known = acknowledged.iter().fold(ProcessSet::new(), |known, set| &known | set);
        let is_settled = |candidate: &ProcessSet| {
            ProcessId::all(n)
                .filter(|process| !candidate.contains(*process))
                .all(|process| candidate.is_subset(&acknowledged[process.index()]))
        };
        let subset = |bits: u32| -> ProcessSet {
            ProcessId::all(n).filter(|process| bits >> process.index() & 1 == 1).collect()
        };
        let candidates = (0..1 << n).map(subset).filter(|candidate| candidate.is_subset(&known));
        candidates.filter(is_settled).fold(ProcessSet::new(), |settled, more| &settled | &more)
    }

    proptest! {
        #[test]
        fn what_is_settled_is_what_the_definition_says(
            acknowledgements in prop::collection::vec((0usize..5, 0u32..32), 1..40)
        ) {
            let mut views = Views::new(5);
            let mut acknowledged = vec![ProcessSet::new(); 5];
            for (process, bits) in acknowledgements {
                // A process does not acknowledge its own crash.
                let bits = bits & !(1 << process);
                let crashed: ProcessSet =
                    ProcessId::all(5).filter(|other| bits >> other.index() & 1 == 1).collect();
                let before = views.settled().clone();
                let more = views.acknowledge(ProcessId::from_index(process), &crashed);
                acknowledged[process].union_with(&crashed);
                prop_assert_eq!(views.settled(), &settled_by_definition(&acknowledged));
                prop_assert_eq!(more, views.settled() != &before);
            }
        }
    }
}
