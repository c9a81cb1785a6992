//! Quorums that somebody wrote down.

use alloc::vec::Vec;

use super::{Coterie, PerView, QuorumSystem};
use crate::{ProcessId, ProcessSet};

/// One quorum for each process, trusted to meet.
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

/// One quorum for each process and each view that is written down. Under any other view nobody has one, and
/// an empty set stands for none.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct GivenPerView {
    n: usize,
    views: Vec<(ProcessSet, Vec<ProcessSet>)>,
}

impl GivenPerView {
    /// Over n processes: who has failed, and everyone's quorum then.
    pub const fn new(n: usize, views: Vec<(ProcessSet, Vec<ProcessSet>)>) -> Self {
        Self { n, views }
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
        let (_, quorums) = self.views.iter().find(|(view, _)| view == failed)?;
        quorums.get(process.index()).filter(|quorum| !quorum.is_empty()).cloned()
    }
}

impl PerView for GivenPerView {}
