//! Quorum systems that are listed explicitly.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::fmt;

use super::{Coterie, Monotone, PerView, QuorumSystem};
use crate::{ProcessId, ProcessSet};

/// One quorum for each process. The caller must ensure that they intersect.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Given(pub Vec<ProcessSet>);

impl QuorumSystem for Given {
    fn name(&self) -> &'static str {
        "given"
    }

    fn processes(&self) -> usize {
        self.0.len()
    }

    fn quorum(&self, process: ProcessId, failed: &ProcessSet) -> Option<ProcessSet> {
        self.0.get(process.index()).filter(|quorum| quorum.is_disjoint(failed)).cloned()
    }
}

impl Coterie for Given {}

/// Single quorums, each for one process under one view. A quorum that is not listed does not exist.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct GivenPerView {
    n: usize,
    quorums: BTreeMap<(ProcessSet, ProcessId), ProcessSet>,
}

impl GivenPerView {
    /// Creates a system over n processes from tuples of failed processes, owner of the quorum, and members of the quorum.
    pub fn new(
        n: usize,
        quorums: impl IntoIterator<Item = (ProcessSet, ProcessId, ProcessSet)>,
    ) -> Self {
        let quorums = quorums.into_iter().map(|(failed, process, set)| ((failed, process), set));
        Self { n, quorums: quorums.collect() }
    }
}

impl QuorumSystem for GivenPerView {
    fn name(&self) -> &'static str {
        "given"
    }

    fn processes(&self) -> usize {
        self.n
    }

    fn quorum(&self, process: ProcessId, failed: &ProcessSet) -> Option<ProcessSet> {
        self.quorums.get(&(failed.clone(), process)).cloned()
    }
}

impl PerView for GivenPerView {}

/// Listed quorums that satisfy the conditions of [`Monotone`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct GivenMonotone(GivenPerView);

/// The reason why listed quorums are not [`Monotone`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotMonotone {
    /// Two quorums do not intersect, although neither contains a process that has failed in either view.
    Disjoint {
        /// The owners of the two quorums.
        processes: [ProcessId; 2],
        /// The failures of the two views.
        failed: [ProcessSet; 2],
    },
    /// A quorum has a new member after failures, although none of its members has failed.
    Grows {
        /// The owner of the quorum.
        process: ProcessId,
        /// The failures of the view before.
        before: ProcessSet,
        /// The failures of the view after.
        after: ProcessSet,
    },
}

impl GivenMonotone {
    /// Checks the conditions for each pair of listed quorums. The view of the failures of both need not be listed, so
    /// what follows from the conditions is checked instead of the first one: quorums that contain no process of either
    /// view intersect.
    pub fn new(given: GivenPerView) -> Result<Self, NotMonotone> {
        for ((failed, process), quorum) in &given.quorums {
            for ((other_failed, other), other_quorum) in &given.quorums {
                let either = failed | other_failed;
                let avoids = |owner: &ProcessId, quorum: &ProcessSet| {
                    !either.contains(*owner) && quorum.is_disjoint(&either)
                };
                let avoid = avoids(process, quorum) && avoids(other, other_quorum);
                if avoid && quorum.is_disjoint(other_quorum) {
                    let processes = [*process, *other];
                    let failed = [failed.clone(), other_failed.clone()];
                    return Err(NotMonotone::Disjoint { processes, failed });
                }
                let further = process == other
                    && failed.is_subset(other_failed)
                    && quorum.is_disjoint(other_failed);
                if further && !other_quorum.is_subset(quorum) {
                    let (process, before) = (*process, failed.clone());
                    return Err(NotMonotone::Grows {
                        process,
                        before,
                        after: other_failed.clone(),
                    });
                }
            }
        }
        Ok(Self(given))
    }
}

impl QuorumSystem for GivenMonotone {
    fn name(&self) -> &'static str {
        self.0.name()
    }

    fn processes(&self) -> usize {
        self.0.processes()
    }

    fn quorum(&self, process: ProcessId, failed: &ProcessSet) -> Option<ProcessSet> {
        self.0.quorum(process, failed)
    }
}

impl PerView for GivenMonotone {}
impl Monotone for GivenMonotone {}

impl fmt::Display for NotMonotone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Disjoint { processes: [one, other], failed: [before, after] } => write!(
                f,
                "the quorum of {one} if {before} have failed and that of {other} if {after} have failed do not \
                 intersect, and contain none of these"
            ),
            Self::Grows { process, before, after } => write!(
                f,
                "the quorum of {process} if {before} have failed contains none of {after}, but is not a superset of its \
                 quorum if {after} have failed"
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::quorum::tests::set;

    fn given(quorums: &[(&[u32], u32, &[u32])]) -> GivenPerView {
        let quorum = |&(failed, process, members): &(&[u32], u32, &[u32])| {
            (set(failed), ProcessId::new(process), set(members))
        };
        GivenPerView::new(4, quorums.iter().map(quorum))
    }

    #[test]
    fn listed_quorums_are_monotone_if_they_intersect_and_shrink() {
        let (p0, p1) = (ProcessId::new(0), ProcessId::new(1));
        let shrinks = given(&[(&[], 0, &[0, 1, 2]), (&[], 1, &[1]), (&[3], 0, &[0, 1])]);
        assert!(GivenMonotone::new(shrinks).is_ok());
        let replaces = given(&[(&[], 0, &[0, 1]), (&[1], 0, &[0, 2, 3])]);
        assert!(GivenMonotone::new(replaces).is_ok());
        let disjoint = given(&[(&[3], 0, &[0, 2]), (&[3], 1, &[1])]);
        let found = GivenMonotone::new(disjoint);
        let failed = [set(&[3]), set(&[3])];
        assert_eq!(found, Err(NotMonotone::Disjoint { processes: [p0, p1], failed }));
        // The view {2, 3} is not listed.
        let of_two_views = given(&[(&[2], 0, &[0]), (&[3], 1, &[1])]);
        let failed = [set(&[2]), set(&[3])];
        assert_eq!(
            GivenMonotone::new(of_two_views),
            Err(NotMonotone::Disjoint { processes: [p0, p1], failed })
        );
        let grows = given(&[(&[], 0, &[0, 1]), (&[3], 0, &[0, 2])]);
        let (before, after) = (set(&[]), set(&[3]));
        assert_eq!(
            GivenMonotone::new(grows),
            Err(NotMonotone::Grows { process: p0, before, after })
        );
    }
}
