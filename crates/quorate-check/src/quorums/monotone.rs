//! A failure outside a quorum that changes the quorum, as evidence that a system is not monotone.

use quorate_core::quorum::QuorumSystem;
use quorate_core::{ProcessId, ProcessSet};
use serde::Serialize;

use super::disjoint::ViewQuorum;
use super::numbers;

/// A further failure after which a process has another quorum that is not a subset of the first one, although no member
/// of the first one has failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NonMonotoneStep {
    /// Process that owns both quorums. It has not failed.
    pub process: u32,
    /// Processes that have failed before the step.
    pub failed: Vec<u32>,
    /// Members of the quorum before the step.
    pub quorum: Vec<u32>,
    /// Process that fails in addition. It is not in that quorum.
    pub further: u32,
    /// Members of the quorum after the step; `None` if the process has no quorum then.
    pub after: Option<Vec<u32>>,
}

impl NonMonotoneStep {
    /// Checks the step from this quorum with one more failure.
    pub(super) fn check(
        system: &impl QuorumSystem,
        before: &ViewQuorum,
        further: ProcessId,
    ) -> Option<Self> {
        assert!(!before.members.contains(further), "a member fails");
        let mut failed = before.failed.clone();
        failed.insert(further);
        let after = system.quorum(before.process, &failed);
        let shrinks = after.as_ref().is_some_and(|after| after.is_subset(&before.members));
        (!shrinks).then(|| Self::new(before, further, after.as_ref()))
    }

    pub(super) fn new(before: &ViewQuorum, further: ProcessId, after: Option<&ProcessSet>) -> Self {
        Self {
            process: before.process.number(),
            failed: numbers(&before.failed),
            quorum: numbers(&before.members),
            further: further.number(),
            after: after.map(numbers),
        }
    }
}
