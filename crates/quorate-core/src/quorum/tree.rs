//! Tree quorums: a path from the root to a leaf, with both subtrees in place of a failed inner process.
//!
//! Source: Agrawal and El Abbadi, "An Efficient and Fault-Tolerant Solution for Distributed Mutual Exclusion", ACM TOCS
//! 9(1), 1991. Processes are arranged in heap order with 0 at the root. The tree need not be complete.
//!
//! Departs from the paper: the quorum of a process is the left-most live path, the same for all, where the paper lets each
//! process choose one. The process itself is added, because the mutex algorithms vote for themselves. A failed process
//! without a right subtree is replaced by its left one alone.

use alloc::vec::Vec;

use super::{Coterie, QuorumSystem};
use crate::{ProcessId, ProcessSet};

/// The tree quorums over n processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Tree {
    n: usize,
}

impl Tree {
    /// Creates the tree over n processes.
    pub const fn new(n: usize) -> Self {
        Self { n }
    }

    /// The left-most quorum of the subtree at `root`.
    fn path(&self, root: usize, failed: &ProcessSet) -> Option<ProcessSet> {
        let (left, right) = (2 * root + 1, 2 * root + 2);
        let dead = failed.contains(ProcessId::from_index(root));
        let below = |child: usize| if child < self.n { self.path(child, failed) } else { None };
        if left >= self.n {
            // A leaf must be alive itself.
            return (!dead).then(|| ProcessSet::from_iter([ProcessId::from_index(root)]));
        }
        if dead {
            // Both subtrees replace the failed process. If there is no right subtree, the left one is enough.
            let mut both = below(left)?;
            if right < self.n {
                both.union_with(&below(right)?);
            }
            return Some(both);
        }
        let mut path = below(left).or_else(|| below(right))?;
        path.insert(ProcessId::from_index(root));
        Some(path)
    }

    /// All live paths, from left to right, with every choice of paths in place of a failed process; at most `most` of
    /// them. Each one is sufficient without the process that uses it.
    pub fn alternatives(&self, failed: &ProcessSet, most: usize) -> Vec<ProcessSet> {
        if self.n == 0 { Vec::new() } else { self.alternatives_below(0, failed, most) }
    }

    fn alternatives_below(&self, root: usize, failed: &ProcessSet, most: usize) -> Vec<ProcessSet> {
        let children = [2 * root + 1, 2 * root + 2].into_iter().filter(|child| *child < self.n);
        let below: Vec<Vec<ProcessSet>> =
            children.map(|child| self.alternatives_below(child, failed, most)).collect();
        let process = ProcessId::from_index(root);
        let is_live = !failed.contains(process);
        let mut all: Vec<ProcessSet> = match below.as_slice() {
            [] => is_live.then(|| ProcessSet::from_iter([process])).into_iter().collect(),
            _ if is_live => {
                let mut paths: Vec<ProcessSet> = below.into_iter().flatten().collect();
                paths.iter_mut().for_each(|path| {
                    path.insert(process);
                });
                paths
            }
            [left] => left.clone(),
            [left, right, ..] => {
                let pairs = left.iter().flat_map(|one| right.iter().map(move |other| one | other));
                pairs.take(most).collect()
            }
        };
        all.truncate(most);
        all
    }
}

impl QuorumSystem for Tree {
    fn name(&self) -> &'static str {
        "tree"
    }

    fn processes(&self) -> usize {
        self.n
    }

    /// The same path for every process, and the process itself.
    fn quorum(&self, process: ProcessId, failed: &ProcessSet) -> Option<ProcessSet> {
        let mut quorum = self.path(0, failed)?;
        if !failed.contains(process) {
            quorum.insert(process);
        }
        Some(quorum)
    }
}

impl Coterie for Tree {}

#[cfg(test)]
mod tests {
    use super::*;
    use std::string::ToString;

    /// Figure 3.1 of the monograph counts from 1.
    fn set(from_one: &[u32]) -> ProcessSet {
        from_one.iter().map(|number| ProcessId::new(number - 1)).collect()
    }

    #[test]
    fn the_tree_of_seven_is_that_of_the_figure() {
        let tree = Tree::new(7);
        let paths = tree.alternatives(&ProcessSet::new(), 100);
        assert_eq!(paths, [set(&[1, 2, 4]), set(&[1, 2, 5]), set(&[1, 3, 6]), set(&[1, 3, 7])]);
        let without_3 = tree.alternatives(&set(&[3]), 100);
        assert_eq!(without_3, [set(&[1, 2, 4]), set(&[1, 2, 5]), set(&[1, 6, 7])]);
    }

    #[test]
    fn the_left_most_alternative_is_the_quorum() {
        for n in 1..=12 {
            let tree = Tree::new(n);
            for failed in 0..1u32 << n {
                let failed: ProcessSet =
                    ProcessId::all(n).filter(|it| failed >> it.index() & 1 == 1).collect();
                let first = tree.alternatives(&failed, 1_000).into_iter().next();
                assert_eq!(first, tree.path(0, &failed), "n = {n}, failed: {failed}");
            }
        }
    }

    #[test]
    fn failed_inner_processes_are_replaced_by_both_subtrees() {
        let tree = Tree::new(7);
        assert_eq!(tree.path(0, &set(&[2, 3])), Some(set(&[1, 4, 5])));
        assert_eq!(tree.path(0, &set(&[2, 3, 4])), Some(set(&[1, 6, 7])));
        assert_eq!(tree.path(0, &set(&[2, 3, 5, 7])), None);
    }

    #[test]
    fn a_process_adds_itself_to_the_path() {
        let quorum = Tree::new(7).quorum(ProcessId::new(5), &ProcessSet::new());
        assert_eq!(quorum.map(|quorum| quorum.to_string()), Some("{0, 1, 3, 5}".to_string()));
    }
}
