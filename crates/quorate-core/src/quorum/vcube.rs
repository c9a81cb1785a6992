//! VCube quorums: the process itself and the first half of the live members of each cluster.
//!
//! Source: Rodrigues, Duarte and Arantes, "Uma Solução Autonômica para a Criação de Quóruns Majoritários", WTF 2014.
//! Any two of these quorums intersect within one view, but not always across different views.
//!
//! Within a view: let j be in cluster s of i. The processes of that cluster are j and the clusters 1 to s - 1 of j. Let L
//! of them be alive. The quorum of i contains ceil(L / 2) of them. The quorum of j contains j and half of each of its
//! clusters, so at least 1 + (L - 1) / 2 of them. Together these are more than L, so one process is in both.
//!
//! The system is monotone: the members from a cluster are the first half of its live processes. If another process of the
//! cluster fails, they are the first half of fewer processes in the same order, a subset.

use super::{Monotone, PerView, QuorumSystem};
use crate::{ProcessId, ProcessSet, VCube};

/// The quorums of the VCube over n processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct VCubeHalves {
    vcube: VCube,
}

impl VCubeHalves {
    /// Creates the quorums over n processes.
    pub const fn new(n: usize) -> Self {
        Self { vcube: VCube::new(n) }
    }
}

impl QuorumSystem for VCubeHalves {
    fn name(&self) -> &'static str {
        "vcube"
    }

    fn processes(&self) -> usize {
        self.vcube.processes()
    }

    /// Half is rounded up. A failed process has no quorum. The quorum of the last live process is the process alone.
    fn quorum(&self, process: ProcessId, failed: &ProcessSet) -> Option<ProcessSet> {
        if failed.contains(process) {
            return None;
        }
        let mut quorum = ProcessSet::from_iter([process]);
        for s in self.vcube.clusters() {
            let live = || self.vcube.cluster(process, s).filter(|member| !failed.contains(*member));
            let half = live().count().div_ceil(2);
            live().take(half).for_each(|member| {
                quorum.insert(member);
            });
        }
        Some(quorum)
    }
}

impl PerView for VCubeHalves {}
impl Monotone for VCubeHalves {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::quorum::tests::set;

    #[test]
    fn failures_of_2_and_5_are_replaced_as_in_figure_4_2() {
        let vcube = VCubeHalves::new(8);
        let p0 = ProcessId::new(0);
        assert_eq!(vcube.quorum(p0, &ProcessSet::new()), Some(set(&[0, 1, 2, 4, 5])));
        assert_eq!(vcube.quorum(p0, &set(&[2, 5])), Some(set(&[0, 1, 3, 4, 6])));
    }

    #[test]
    fn the_last_one_alive_is_a_quorum() {
        let vcube = VCubeHalves::new(8);
        let all_but_6 = set(&[0, 1, 2, 3, 4, 5, 7]);
        assert_eq!(vcube.quorum(ProcessId::new(6), &all_but_6), Some(set(&[6])));
        assert_eq!(vcube.quorum(ProcessId::new(5), &all_but_6), None);
    }
}
