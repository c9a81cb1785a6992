//! Two disjoint quorums, as evidence.

use quorate_core::{ProcessId, ProcessSet};
use serde::Serialize;

use super::numbers;

/// Two quorums without a common member, the one with fewer failures first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DisjointQuorums {
    /// Quorum whose view has fewer failures.
    pub first: ViewQuorumReport,
    /// Quorum whose view has at least as many failures.
    pub second: ViewQuorumReport,
    /// Members of the first quorum that have not failed in the second view. A holder of the first quorum still has them.
    pub left_of_first: Vec<u32>,
}

/// A quorum, its owner, and the view in which it was taken.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ViewQuorumReport {
    /// Process that took the quorum.
    pub process: u32,
    /// Processes that had failed, as far as that process knew.
    pub failed: Vec<u32>,
    /// Members of the quorum.
    pub members: Vec<u32>,
}

/// A quorum taken in some view.
#[derive(Clone, Debug)]
pub(super) struct ViewQuorum {
    pub(super) process: ProcessId,
    pub(super) failed: ProcessSet,
    pub(super) members: ProcessSet,
}

impl DisjointQuorums {
    pub(super) fn new(a: ViewQuorum, b: ViewQuorum) -> Self {
        assert!(a.members.is_disjoint(&b.members), "the quorums meet");
        let (first, second) = if a.failed.len() <= b.failed.len() { (a, b) } else { (b, a) };
        let left_of_first = numbers(&(&first.members - &second.failed));
        Self { first: first.into(), second: second.into(), left_of_first }
    }
}

impl From<ViewQuorum> for ViewQuorumReport {
    fn from(quorum: ViewQuorum) -> Self {
        Self {
            process: quorum.process.number(),
            failed: numbers(&quorum.failed),
            members: numbers(&quorum.members),
        }
    }
}
