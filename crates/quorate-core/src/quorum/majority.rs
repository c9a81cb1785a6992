//! Majorities: more than half.
//!
//! Of all processes they are a fixed coterie. Of the live ones they meet only within a view, but are never used up.

use alloc::vec::Vec;

use super::{Coterie, PerView, QuorumSystem};
use crate::{ProcessId, ProcessSet};

/// Majorities of n.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Majority {
    n: usize,
}

impl Majority {
    /// Of n processes.
    pub const fn new(n: usize) -> Self {
        Self { n }
    }
}

impl QuorumSystem for Majority {
    fn name(&self) -> &'static str {
        "majority"
    }

    fn processes(&self) -> usize {
        self.n
    }

    /// The next live processes from oneself on: starting at oneself spreads the load evenly.
    fn quorum(&self, process: ProcessId, failed: &ProcessSet) -> Option<ProcessSet> {
        let needed = self.n / 2 + 1;
        let round =
            (0..self.n).map(|step| ProcessId::from_index((process.index() + step) % self.n));
        let quorum: ProcessSet =
            round.filter(|member| !failed.contains(*member)).take(needed).collect();
        (quorum.len() == needed).then_some(quorum)
    }
}

impl Coterie for Majority {}

/// Majorities of those of n that are alive, the same for all but for oneself: the greatest identifiers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LiveMajority {
    n: usize,
}

impl LiveMajority {
    /// Of n processes.
    pub const fn new(n: usize) -> Self {
        Self { n }
    }
}

impl QuorumSystem for LiveMajority {
    fn name(&self) -> &'static str {
        "majority-live"
    }

    fn processes(&self) -> usize {
        self.n
    }

    /// Oneself and the greatest of the live. The failed have no quorum.
    fn quorum(&self, process: ProcessId, failed: &ProcessSet) -> Option<ProcessSet> {
        if failed.contains(process) {
            return None;
        }
        let live = ProcessId::all(self.n).filter(|member| !failed.contains(*member));
        let others: Vec<ProcessId> = live.filter(|member| *member != process).collect();
        let greatest = others.iter().rev().take(others.len().div_ceil(2));
        Some(greatest.copied().chain([process]).collect())
    }
}

impl PerView for LiveMajority {}
