//! Quorum systems that are listed explicitly.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use super::{Coterie, PerView, QuorumSystem};
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
