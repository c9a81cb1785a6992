//! Tree quorums: a path from the root to a leaf, with both subtrees in place of a failed inner process.
//!
//! Source: Agrawal and El Abbadi, "An Efficient and Fault-Tolerant Solution for Distributed Mutual Exclusion", ACM TOCS
//! 9(1), 1991. Processes are arranged in heap order with 0 at the root. The tree need not be complete.
//!
//! Departs from the paper: the quorum of a process is the left-most live path, the same for all, where the paper lets each
//! process choose one. The process itself is added, because the mutex algorithms vote for themselves. A failed process
//! without a right subtree is replaced by its left one alone.

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

    /// The quorums of all paths without failures, from left to right.
    pub fn paths(&self) -> impl Iterator<Item = ProcessSet> + '_ {
        let leaves = (0..self.n).filter(|node| 2 * node + 1 >= self.n);
        leaves.map(|leaf| {
            let up = core::iter::successors(Some(leaf), |&node| (node > 0).then(|| (node - 1) / 2));
            up.map(ProcessId::from_index).collect()
        })
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
    use std::vec::Vec;

    /// Figure 3.1 of the monograph counts from 1.
    fn set(from_one: &[u32]) -> ProcessSet {
        from_one.iter().map(|number| ProcessId::new(number - 1)).collect()
    }

    #[test]
    fn the_tree_of_seven_is_that_of_the_figure() {
        let paths: Vec<ProcessSet> = Tree::new(7).paths().collect();
        assert_eq!(paths, [set(&[1, 2, 4]), set(&[1, 2, 5]), set(&[1, 3, 6]), set(&[1, 3, 7])]);
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
