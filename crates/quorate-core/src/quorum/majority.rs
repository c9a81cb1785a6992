//! Majorities: more than half of all processes, starting with oneself and going round.

use super::{Coterie, QuorumSystem};
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
