//! Majorities: more than half of the processes.
//!
//! Majorities of all processes are a fixed coterie. Majorities of the live processes intersect only within a view, but
//! exist as long as a process is alive.

use alloc::vec::Vec;

use super::{Coterie, Monotone, PerView, QuorumSystem};
use crate::{ProcessId, ProcessSet};

/// Majorities of n processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Majority {
    n: usize,
}

impl Majority {
    /// Creates the system over n processes.
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

    /// The next live processes, starting with `process` itself, which spreads the load evenly.
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

/// Majorities of the live processes: the greatest live identifiers and the process itself. Up to the process itself
/// they are the same for all processes.
///
/// With m live processes a quorum has 1 + ceil((m - 1) / 2) members, more than half of them, so any two intersect. The
/// system is monotone: the members other than the process itself are the first of a fixed sequence, and there are not
/// more of them when fewer processes are alive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LiveMajority {
    n: usize,
}

impl LiveMajority {
    /// Creates the system over n processes.
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

    /// The process itself and the greatest live processes. A failed process has no quorum.
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
impl Monotone for LiveMajority {}
