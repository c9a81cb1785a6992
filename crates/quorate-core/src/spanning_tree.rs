//! Spanning trees over the processes, for algorithms that communicate along a tree.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use crate::ProcessId;

/// A tree over the processes 0 to n - 1, rooted at process 0.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub enum SpanningTree {
    /// The path 0 - 1 - 2 - .. - n - 1.
    Chain,
    /// Every process is a neighbour of process 0.
    Star,
    /// A binary tree in heap order: the children of i are 2i + 1 and 2i + 2.
    #[default]
    Binary,
    /// A tree given by its edges.
    Edges(Vec<(ProcessId, ProcessId)>),
}

impl SpanningTree {
    /// The neighbour of `process` in the direction of process 0. For process 0 it is process 0 itself.
    pub fn towards_root(&self, n: usize, process: ProcessId) -> ProcessId {
        let index = process.index();
        match self {
            _ if index == 0 => process,
            Self::Chain => ProcessId::from_index(index - 1),
            Self::Star => ProcessId::from_index(0),
            Self::Binary => ProcessId::from_index((index - 1) / 2),
            Self::Edges(edges) => self.parents(n, edges)[index].unwrap_or(process),
        }
    }

    /// Checks that it is a tree over exactly the processes 0 to n - 1. Returns the reason if it is not.
    pub fn check(&self, n: usize) -> Result<(), &'static str> {
        let Self::Edges(edges) = self else { return Ok(()) };
        if edges.iter().any(|(a, b)| a.index() >= n || b.index() >= n) {
            return Err("an edge names a process that does not exist");
        }
        if edges.len() + 1 != n {
            return Err("a tree of n processes has n - 1 edges");
        }
        let reached = self.parents(n, edges).iter().flatten().count();
        if reached + 1 == n { Ok(()) } else { Err("the edges do not connect all processes") }
    }

    /// Number of edges on the longest path of the tree.
    pub fn longest_path(&self, n: usize) -> usize {
        let farthest = |from: usize, neighbours: &[Vec<usize>]| {
            let depths = depths(from, neighbours);
            depths
                .into_iter()
                .enumerate()
                .filter_map(|(i, d)| d.map(|d| (d, i)))
                .max()
                .unwrap_or((0, from))
        };
        let neighbours = self.neighbours(n);
        let (_, end) = farthest(0, &neighbours);
        farthest(end, &neighbours).0
    }

    /// Number of edges between two processes.
    pub fn distance(&self, n: usize, one: ProcessId, other: ProcessId) -> usize {
        let path = |from: ProcessId| -> Vec<ProcessId> {
            let above = |here: &ProcessId| (here.index() > 0).then(|| self.towards_root(n, *here));
            core::iter::successors(Some(from), above).collect()
        };
        let (one, other) = (path(one), path(other));
        let shared = one.iter().rev().zip(other.iter().rev()).take_while(|(a, b)| a == b).count();
        one.len() + other.len() - 2 * shared
    }

    fn neighbours(&self, n: usize) -> Vec<Vec<usize>> {
        let mut neighbours = alloc::vec![Vec::new(); n];
        for process in ProcessId::all(n).skip(1) {
            let (child, parent) = (process.index(), self.towards_root(n, process).index());
            neighbours[child].push(parent);
            neighbours[parent].push(child);
        }
        neighbours
    }

    fn parents(&self, n: usize, edges: &[(ProcessId, ProcessId)]) -> Vec<Option<ProcessId>> {
        let mut parents = alloc::vec![None; n];
        let mut reached = VecDeque::from([ProcessId::from_index(0)]);
        while let Some(here) = reached.pop_front() {
            for &(a, b) in edges {
                let other = if a == here {
                    b
                } else if b == here {
                    a
                } else {
                    continue;
                };
                if other.index() != 0 && parents[other.index()].is_none() {
                    parents[other.index()] = Some(here);
                    reached.push_back(other);
                }
            }
        }
        parents
    }
}

fn depths(from: usize, neighbours: &[Vec<usize>]) -> Vec<Option<usize>> {
    let mut depths = alloc::vec![None; neighbours.len()];
    depths[from] = Some(0);
    let mut reached = VecDeque::from([from]);
    while let Some(here) = reached.pop_front() {
        for &next in &neighbours[here] {
            if depths[next].is_none() {
                depths[next] = depths[here].map(|depth| depth + 1);
                reached.push_back(next);
            }
        }
    }
    depths
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn longest_paths_are_those_of_the_shapes() {
        assert_eq!(SpanningTree::Chain.longest_path(8), 7);
        assert_eq!(SpanningTree::Star.longest_path(8), 2);
        assert_eq!(SpanningTree::Binary.longest_path(7), 4);
        assert_eq!(SpanningTree::Binary.longest_path(1), 0);
    }

    #[test]
    fn distances_are_those_of_the_shapes() {
        let distance =
            |tree: &SpanningTree, a, b| tree.distance(8, ProcessId::new(a), ProcessId::new(b));
        assert_eq!(distance(&SpanningTree::Chain, 1, 6), 5);
        assert_eq!(distance(&SpanningTree::Star, 1, 6), 2);
        assert_eq!(distance(&SpanningTree::Star, 0, 6), 1);
        assert_eq!(distance(&SpanningTree::Binary, 3, 4), 2);
        assert_eq!(distance(&SpanningTree::Binary, 7, 6), 5);
        assert_eq!(distance(&SpanningTree::Binary, 5, 5), 0);
    }

    #[test]
    fn edges_must_make_a_tree() {
        let id = ProcessId::new;
        let tree = |edges: &[(u32, u32)]| {
            SpanningTree::Edges(edges.iter().map(|&(a, b)| (id(a), id(b))).collect())
        };
        let good = tree(&[(0, 1), (2, 1), (1, 3)]);
        assert_eq!(good.check(4), Ok(()));
        assert_eq!(good.towards_root(4, id(3)), id(1));
        assert_eq!(good.longest_path(4), 2);
        assert!(tree(&[(0, 1), (0, 1), (2, 3)]).check(4).is_err());
        assert!(tree(&[(0, 1)]).check(4).is_err());
        assert!(tree(&[(0, 1), (1, 2), (2, 9)]).check(4).is_err());
    }
}
