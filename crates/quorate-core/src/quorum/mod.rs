//! Quorum systems: whose permission is enough.
//!
//! There are two kinds, and the types keep them apart. In a **fixed coterie** any two quorums meet, whatever
//! their owners believe about failures ([`Coterie`]). In a **view-dependent** system only quorums of the same
//! view meet, and an algorithm over one has to agree on views first. Both are [`QuorumSystem`]s.
//!
//! A new system is one file with one type: implement [`QuorumSystem`], and [`Coterie`] if its quorums meet
//! across views.

mod grid;
mod majority;
mod plane;
mod tree;

use core::fmt::Debug;
use core::hash::Hash;

use crate::{ProcessId, ProcessSet};

pub use grid::FixedGrid;
pub use majority::Majority;
pub use plane::Plane;
pub use tree::Tree;

/// Who belongs to whose quorum, given who has failed.
pub trait QuorumSystem: Clone + Eq + Hash + Debug {
    /// Its name on the command line.
    fn name(&self) -> &'static str;

    /// How many processes it is over.
    fn processes(&self) -> usize;

    /// A quorum for `process` without any of the failed, itself included where the system says so; none if
    /// there is none left.
    fn quorum(&self, process: ProcessId, failed: &ProcessSet) -> Option<ProcessSet>;
}

/// A system whose quorums meet whatever the views.
pub trait Coterie: QuorumSystem {}

/// One of the fixed coteries, chosen when the program runs.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum AnyCoterie {
    /// More than half of the processes.
    Majority(Majority),
    /// A row and a column.
    FixedGrid(FixedGrid),
    /// A line of a projective plane.
    Plane(Plane),
    /// A path from the root to a leaf.
    Tree(Tree),
    /// Given sets, one for each process; they are trusted to meet.
    Given(Given),
}

/// Quorums that somebody wrote down, one for each process.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Given(pub alloc::vec::Vec<ProcessSet>);

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

impl AnyCoterie {
    /// The names of the systems that can be asked for.
    pub const NAMES: [&'static str; 4] = ["majority", "grid-fixed", "plane", "tree"];

    /// The system of that name over n processes.
    pub fn by_name(name: &str, n: usize) -> Option<Self> {
        match name {
            "majority" => Some(Self::Majority(Majority::new(n))),
            "grid-fixed" => Some(Self::FixedGrid(FixedGrid::new(n))),
            "plane" => Some(Self::Plane(Plane::new(n))),
            "tree" => Some(Self::Tree(Tree::new(n))),
            _ => None,
        }
    }
}

macro_rules! whichever {
    ($any:ident, $system:ident => $call:expr) => {
        match $any {
            AnyCoterie::Majority($system) => $call,
            AnyCoterie::FixedGrid($system) => $call,
            AnyCoterie::Plane($system) => $call,
            AnyCoterie::Tree($system) => $call,
            AnyCoterie::Given($system) => $call,
        }
    };
}

impl QuorumSystem for AnyCoterie {
    fn name(&self) -> &'static str {
        whichever!(self, system => system.name())
    }

    fn processes(&self) -> usize {
        whichever!(self, system => system.processes())
    }

    fn quorum(&self, process: ProcessId, failed: &ProcessSet) -> Option<ProcessSet> {
        whichever!(self, system => system.quorum(process, failed))
    }
}

impl Coterie for AnyCoterie {}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    /// All quorums that any process may use under any view of at most 2^n.
    fn all_quorums(system: &impl QuorumSystem) -> Vec<ProcessSet> {
        let n = system.processes();
        let mut all = Vec::new();
        for view in 0u32..1 << n {
            let failed: ProcessSet =
                ProcessId::all(n).filter(|p| view >> p.index() & 1 == 1).collect();
            for process in ProcessId::all(n).filter(|process| !failed.contains(*process)) {
                if let Some(quorum) = system.quorum(process, &failed) {
                    assert!(quorum.is_disjoint(&failed), "{} {process} {failed}", system.name());
                    if !all.contains(&quorum) {
                        all.push(quorum);
                    }
                }
            }
        }
        all
    }

    #[test]
    fn quorums_of_fixed_coteries_meet_across_all_views() {
        for n in 1..=9 {
            let systems = [
                AnyCoterie::Majority(Majority::new(n)),
                AnyCoterie::FixedGrid(FixedGrid::new(n)),
                AnyCoterie::Plane(Plane::new(n)),
                AnyCoterie::Tree(Tree::new(n)),
            ];
            for system in systems {
                let all = all_quorums(&system);
                assert!(!all.is_empty());
                for (place, a) in all.iter().enumerate() {
                    for b in &all[place..] {
                        assert!(!a.is_disjoint(b), "{} n = {n}: {a} {b}", system.name());
                    }
                }
            }
        }
    }
}
