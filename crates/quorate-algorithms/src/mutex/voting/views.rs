//! Acknowledged failures: which crashes everyone is known to have taken note of.
//!
//! A set F of crashed processes is settled at a process when every process outside F has acknowledged a superset of
//! F to it. Settled sets are closed under union, so there is a greatest one; it only grows.

use alloc::vec::Vec;

use quorate_core::{ProcessId, ProcessSet};

/// What one process knows of the others' acknowledgements.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(in crate::mutex) struct Views {
    n: usize,
    /// What each process has acknowledged so far; empty until somebody acknowledges anything.
    acknowledged: Vec<ProcessSet>,
    settled: ProcessSet,
}

impl Views {
    /// Among n processes, of whom nobody has crashed.
    pub(in crate::mutex) fn new(n: usize) -> Self {
        Self { n, acknowledged: Vec::new(), settled: ProcessSet::new() }
    }

    /// The crashes that everyone left has acknowledged.
    pub(in crate::mutex) const fn settled(&self) -> &ProcessSet {
        &self.settled
    }

    /// Whether the process has acknowledged exactly this.
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

    /// A process acknowledges crashes. Tells whether more is settled now.
    pub(in crate::mutex) fn acknowledge(
        &mut self,
        process: ProcessId,
        crashed: &ProcessSet,
    ) -> bool {
        // Nobody honest speaks of processes that do not exist.
        if process.index() >= self.n || crashed.last().is_some_and(|last| last.index() >= self.n) {
            return false;
        }
        if self.acknowledged.is_empty() {
            self.acknowledged.resize_with(self.n, ProcessSet::new);
        }
        self.acknowledged[process.index()].union_with(crashed);
        let settled = self.greatest_settled();
        let more = settled != self.settled;
        self.settled = settled;
        more
    }

    /// Shrinks what anybody has acknowledged until everyone outside it has acknowledged all of it.
    fn greatest_settled(&self) -> ProcessSet {
        let mut candidate = ProcessSet::new();
        self.acknowledged.iter().for_each(|set| candidate.union_with(set));
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

    fn set(members: &[u32]) -> ProcessSet {
        members.iter().copied().map(ProcessId::new).collect()
    }

    fn told(views: &mut Views, process: u32, crashed: &[u32]) -> bool {
        views.acknowledge(ProcessId::new(process), &set(crashed))
    }

    #[test]
    fn a_crash_is_settled_when_everyone_else_has_acknowledged_it() {
        let mut views = Views::new(4);
        assert!(!told(&mut views, 0, &[3]));
        assert!(!told(&mut views, 1, &[3]));
        assert!(told(&mut views, 2, &[3]));
        assert_eq!(views.settled(), &set(&[3]));
    }

    #[test]
    fn what_is_settled_stays_so_while_more_crash() {
        let mut views = Views::new(4);
        (0..3).for_each(|process| {
            told(&mut views, process, &[3]);
        });
        assert!(!told(&mut views, 0, &[2, 3]));
        assert_eq!(views.settled(), &set(&[3]), "1 has not acknowledged 2");
        assert!(told(&mut views, 1, &[2, 3]));
        assert_eq!(views.settled(), &set(&[2, 3]));
    }

    #[test]
    fn processes_that_do_not_exist_settle_nothing() {
        let mut views = Views::new(3);
        assert!(!told(&mut views, 1, &[0, 1, 2, 3]));
        assert!(!told(&mut views, 3, &[0, 1, 2]));
        assert!(views.settled().is_empty());
    }

    #[test]
    fn the_only_one_left_settles_alone() {
        let mut views = Views::new(3);
        assert!(told(&mut views, 0, &[1, 2]));
        assert_eq!(views.settled(), &set(&[1, 2]));
    }
}
