//! The VCube: a virtual hypercube that organises processes in clusters of doubling size.
//!
//! Source: Duarte, Bona and Ruoso, "VCube: A Provably Scalable Distributed Diagnosis Algorithm", ScalA 2014; Rodrigues,
//! Arantes and Duarte, "An Autonomic Implementation of Reliable Broadcast Based on Dynamic Spanning Trees", EDCC 2014.
//!
//! Cluster s of process i is c(i, s) = (i xor 2^(s-1), c(i xor 2^(s-1), 1), .., c(i xor 2^(s-1), s-1)). In closed form,
//! its k-th member is i xor (2^(s-1) + k), so nothing has to be stored. If n is not a power of two, the identifiers
//! from n on do not exist and are skipped, as if these processes had failed forever.

use crate::{ProcessId, ProcessSet};

/// The VCube topology over n processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct VCube {
    n: usize,
}

impl VCube {
    /// Creates the topology over n processes.
    pub const fn new(n: usize) -> Self {
        Self { n }
    }

    /// Number of processes in the topology.
    pub const fn processes(self) -> usize {
        self.n
    }

    /// Number of clusters of each process: the base-2 logarithm of n, rounded up.
    pub const fn dimension(self) -> u32 {
        if self.n <= 1 { 0 } else { usize::BITS - (self.n - 1).leading_zeros() }
    }

    /// The numbers of the clusters, from the smallest cluster on.
    pub fn clusters(self) -> impl DoubleEndedIterator<Item = u32> {
        1..=self.dimension()
    }

    /// The members of cluster `s` of process `i`, in the order in which the process tests them.
    pub fn cluster(self, i: ProcessId, s: u32) -> impl Iterator<Item = ProcessId> {
        let places = if s == 0 { 0..0 } else { 1usize << (s - 1)..1usize << s };
        places
            .map(move |place| i.index() ^ place)
            .filter(move |&member| member < self.n)
            .map(ProcessId::from_index)
    }

    /// The cluster of `i` that contains `j`. It is also the cluster of `j` that contains `i`. The two must differ.
    pub const fn cluster_of(self, i: ProcessId, j: ProcessId) -> u32 {
        u32::BITS - (i.number() ^ j.number()).leading_zeros()
    }

    /// The first member of cluster `s` of process `i` that has not failed.
    pub fn first_live(self, i: ProcessId, s: u32, failed: &ProcessSet) -> Option<ProcessId> {
        let end = if s == 0 { 0 } else { 1usize << s };
        let mut place = end / 2;
        while place < end {
            let member = i.index() ^ place;
            if member >= self.n {
                place += self.missing(member, place);
            } else if failed.contains(ProcessId::from_index(member)) {
                place += 1;
            } else {
                return Some(ProcessId::from_index(member));
            }
        }
        None
    }

    /// A number of positions, starting at this one, without existing members: the largest aligned block for which
    /// one comparison shows this.
    fn missing(self, member: usize, place: usize) -> usize {
        let mut block = 1;
        // Members of an aligned block differ only in their lowest bits, and these are all zero in the least member.
        while place.is_multiple_of(2 * block) && member & !(2 * block - 1) >= self.n {
            block *= 2;
        }
        block
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    /// The recursive definition as published, for powers of two.
    fn by_recursion(i: usize, s: u32) -> Vec<usize> {
        let first = i ^ (1 << (s - 1));
        let mut cluster = Vec::from([first]);
        (1..s).for_each(|smaller| cluster.extend(by_recursion(first, smaller)));
        cluster
    }

    fn numbers(vcube: VCube, i: usize, s: u32) -> Vec<usize> {
        vcube.cluster(ProcessId::from_index(i), s).map(ProcessId::index).collect()
    }

    #[test]
    fn clusters_are_those_of_figure_4_1() {
        let table: [[&[usize]; 3]; 8] = [
            [&[1], &[2, 3], &[4, 5, 6, 7]],
            [&[0], &[3, 2], &[5, 4, 7, 6]],
            [&[3], &[0, 1], &[6, 7, 4, 5]],
            [&[2], &[1, 0], &[7, 6, 5, 4]],
            [&[5], &[6, 7], &[0, 1, 2, 3]],
            [&[4], &[7, 6], &[1, 0, 3, 2]],
            [&[7], &[4, 5], &[2, 3, 0, 1]],
            [&[6], &[5, 4], &[3, 2, 1, 0]],
        ];
        for (i, row) in table.iter().enumerate() {
            for (s, cluster) in (1..).zip(row) {
                assert_eq!(numbers(VCube::new(8), i, s), *cluster, "c({i}, {s})");
            }
        }
    }

    #[test]
    fn the_closed_form_is_the_definition() {
        for i in 0..64 {
            for s in 1..=6 {
                assert_eq!(numbers(VCube::new(64), i, s), by_recursion(i, s), "c({i}, {s})");
            }
        }
    }

    #[test]
    fn missing_identifiers_are_left_out_and_everyone_else_is_in_one_cluster() {
        for n in 1..=40 {
            let vcube = VCube::new(n);
            for i in ProcessId::all(n) {
                let mut all = ProcessSet::from_iter([i]);
                for s in vcube.clusters() {
                    for j in vcube.cluster(i, s) {
                        assert!(all.insert(j), "n = {n}: {j} is in two clusters of {i}");
                        assert_eq!((vcube.cluster_of(i, j), vcube.cluster_of(j, i)), (s, s));
                    }
                }
                assert_eq!(all, ProcessSet::all(n));
            }
        }
    }

    #[test]
    fn the_first_live_one_is_the_first_in_order_whoever_is_missing() {
        for n in 1..=40 {
            let vcube = VCube::new(n);
            for pattern in 0..32_u32 {
                let failed = |id: &ProcessId| {
                    pattern.wrapping_mul(0x9E37_79B9) >> (id.number() % 29) & 1 == 1
                };
                let failed: ProcessSet = ProcessId::all(n).filter(failed).collect();
                for i in ProcessId::all(n) {
                    for s in vcube.clusters() {
                        let naive = vcube.cluster(i, s).find(|member| !failed.contains(*member));
                        assert_eq!(vcube.first_live(i, s, &failed), naive, "n = {n}, c({i}, {s})");
                    }
                }
            }
        }
    }

    #[test]
    fn the_largest_cluster_of_many_is_not_built_to_find_its_first() {
        let vcube = VCube::new(65_536);
        let first = vcube.first_live(ProcessId::new(3), 16, &ProcessSet::new());
        assert_eq!((vcube.dimension(), first), (16, Some(ProcessId::new(3 ^ 32_768))));
    }
}
