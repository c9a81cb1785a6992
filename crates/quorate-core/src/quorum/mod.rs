//! Quorum systems: sets of processes whose permission is sufficient.
//!
//! There are two kinds, distinguished by type. In a **fixed coterie** any two quorums intersect, whatever their owners
//! believe about failures ([`Coterie`]). In a **view-dependent** system only quorums of the same view intersect
//! ([`PerView`]), and an algorithm over such a system has to agree on views first. Both are [`QuorumSystem`]s. Some
//! view-dependent systems are [`Monotone`]: then it is sufficient to agree on the crashes that matter.
//!
//! A new system is one file with one type. Implement [`QuorumSystem`] and one of the markers, state the proof in the
//! header, and add a line to the lists in `any.rs` to give the system a name on the command line.

mod any;
mod given;
mod grid;
mod majority;
mod plane;
mod tree;
mod vcube;
mod wall;

use core::fmt::Debug;
use core::hash::Hash;

use crate::{ProcessId, ProcessSet};

pub use any::{AnyCoterie, AnyMonotone, AnyPerView, AnySystem};
pub use given::{Given, GivenMonotone, GivenPerView, NotMonotone};
pub use grid::{FixedGrid, Grid, RebuiltGrid, columns_and_rows};
pub use majority::{LiveMajority, Majority};
pub use plane::Plane;
pub use tree::Tree;
pub use vcube::VCubeHalves;
pub use wall::Wall;

/// Assigns quorums to processes, given the set of failed processes.
pub trait QuorumSystem: Clone + Eq + Hash + Debug {
    /// The name of the system on the command line.
    fn name(&self) -> &'static str;

    /// Number of processes in the system.
    fn processes(&self) -> usize;

    /// A quorum for `process` without failed members. Whether it includes `process` depends on the system. `None` if
    /// no quorum is left.
    fn quorum(&self, process: ProcessId, failed: &ProcessSet) -> Option<ProcessSet>;
}

/// A system whose quorums intersect across all views.
pub trait Coterie: QuorumSystem {}

/// A system whose quorums intersect only if they belong to the same view.
pub trait PerView: QuorumSystem {}

/// A view-dependent system whose quorums do not change more than failures force them to.
///
/// Let Q(p, F) be the quorum of process p if the processes F have failed. Two conditions must hold for all F, for all
/// sets G of further failures, and for all p and q that have not failed:
///
/// - any two quorums of one view intersect: Q(p, F) and Q(q, F) have a common member;
/// - if Q(p, F) contains no process of G, then Q(p, F ∪ G) is a subset of Q(p, F).
///
/// It follows that Q(p, F) and Q(q, G) intersect if neither contains a process of F ∪ G: both then contain a quorum of
/// the view F ∪ G. The second condition holds for all G if it holds for single processes, by induction. It holds for
/// every system whose quorums are unions of the first k live processes of fixed sequences, where k does not grow when
/// processes fail.
pub trait Monotone: PerView {}

/// The first process from `start` on, cyclically, that has not failed.
fn next_live(start: usize, n: usize, failed: &ProcessSet) -> Option<ProcessId> {
    let live = |from| Some(failed.next_absent(from)).filter(|found| found.index() < n);
    live(ProcessId::from_index(start)).or_else(|| live(ProcessId::new(0)))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use std::vec::Vec;

    pub(crate) fn set(members: &[u32]) -> ProcessSet {
        members.iter().copied().map(ProcessId::new).collect()
    }

    /// The quorums of each of the 2^n views.
    fn quorums_by_view(system: &impl QuorumSystem) -> Vec<Vec<ProcessSet>> {
        let n = system.processes();
        let of_view = |view: u32| {
            let failed: ProcessSet =
                ProcessId::all(n).filter(|p| view >> p.index() & 1 == 1).collect();
            let mut quorums = Vec::new();
            for process in ProcessId::all(n).filter(|process| !failed.contains(*process)) {
                if let Some(quorum) = system.quorum(process, &failed) {
                    assert!(quorum.is_disjoint(&failed), "{} {process} {failed}", system.name());
                    quorums.push(quorum);
                }
            }
            quorums
        };
        (0u32..1 << n).map(of_view).collect()
    }

    fn disjoint_pair(quorums: &[ProcessSet]) -> Option<(ProcessSet, ProcessSet)> {
        let pairs = quorums.iter().enumerate();
        pairs
            .flat_map(|(place, a)| quorums[place..].iter().map(move |b| (a.clone(), b.clone())))
            .find(|(a, b)| a.is_disjoint(b))
    }

    #[test]
    fn quorums_of_fixed_coteries_meet_across_all_views() {
        for n in 1..=9 {
            for name in AnyCoterie::NAMES {
                let system = AnyCoterie::by_name(name, n).expect("a known name");
                let mut all: Vec<ProcessSet> =
                    quorums_by_view(&system).into_iter().flatten().collect();
                all.sort();
                all.dedup();
                assert!(!all.is_empty());
                assert_eq!(disjoint_pair(&all), None, "{name} n = {n}");
            }
        }
    }

    /// A process, failures, and one further failure outside its quorum after which the quorum is no subset of it.
    fn step_that_is_not_monotone(
        system: &impl QuorumSystem,
    ) -> Option<(ProcessId, ProcessSet, ProcessId)> {
        let n = system.processes();
        for view in 0u32..1 << n {
            let failed: ProcessSet =
                ProcessId::all(n).filter(|p| view >> p.index() & 1 == 1).collect();
            for process in ProcessId::all(n) {
                let Some(before) = system.quorum(process, &failed) else { continue };
                for further in ProcessId::all(n).filter(|it| !before.contains(*it)) {
                    let mut failed = failed.clone();
                    failed.insert(further);
                    let after = system.quorum(process, &failed);
                    if after.is_some_and(|after| !after.is_subset(&before)) {
                        return Some((process, failed, further));
                    }
                }
            }
        }
        None
    }

    #[test]
    fn monotone_systems_meet_within_a_view_and_shrink_unless_a_member_fails() {
        for n in 1..=9 {
            for name in AnyMonotone::NAMES {
                let system = AnyMonotone::by_name(name, n).expect("a known name");
                let views = quorums_by_view(&system);
                assert!(views.iter().all(|quorums| disjoint_pair(quorums).is_none()), "{name} {n}");
                assert_eq!(step_that_is_not_monotone(&system), None, "{name} n = {n}");
                let someone_lives = |view: usize| view + 1 < 1 << n;
                let empty = views.iter().position(Vec::is_empty);
                assert_eq!(empty.filter(|view| someone_lives(*view)), None, "{name} n = {n}");
            }
        }
    }

    #[test]
    fn a_grid_that_is_rebuilt_meets_within_a_view_but_is_not_monotone() {
        let grid = RebuiltGrid::new(6);
        assert!(quorums_by_view(&grid).iter().all(|quorums| disjoint_pair(quorums).is_none()));
        assert!(step_that_is_not_monotone(&grid).is_some());
    }

    #[test]
    fn quorums_of_the_others_meet_within_a_view_but_not_across() {
        // System, process inside, failed processes, the rest of its quorum, entering process, quorum of that process.
        let disjoint_across_views = [
            ("vcube", 2, set(&[0, 3, 6, 7]), set(&[2]), 4, set(&[1, 4, 5])),
            ("grid", 7, set(&[1]), set(&[4, 6, 7]), 2, set(&[0, 2, 5])),
            ("majority-live", 0, set(&[4, 5, 6, 7]), set(&[0]), 1, set(&[1, 2, 3])),
            ("wall", 1, set(&[4]), set(&[1, 2, 3]), 5, set(&[5, 6, 7])),
            ("grid-rebuilt", 7, set(&[1]), set(&[4, 6, 7]), 2, set(&[0, 2, 3, 5])),
        ];
        for (name, inside, failed, left, entering, quorum) in disjoint_across_views {
            let system = AnySystem::by_name(name, 8).expect("a known name");
            let views = quorums_by_view(&system);
            assert!(views.iter().all(|quorums| disjoint_pair(quorums).is_none()), "{name}");
            let first = system.quorum(ProcessId::new(inside), &ProcessSet::new());
            assert_eq!(&first.expect("no process has failed") - &failed, left, "{name}");
            assert_eq!(system.quorum(ProcessId::new(entering), &failed), Some(quorum.clone()));
            assert!(left.is_disjoint(&quorum), "{name}");
        }
    }
}
