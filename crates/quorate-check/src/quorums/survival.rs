//! Number of failures that leave a quorum, and failures that do not.

use quorate_core::quorum::QuorumSystem;
use quorate_core::{ProcessId, ProcessSet};
use serde::Serialize;

use super::every_view::{EveryView, set};
use super::numbers;
use super::sample::ViewSampler;

/// Failures that a system survives: a process is alive, and every live process has a quorum.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Survival {
    /// Largest number of failures that it survives, whichever they are; an upper bound if not exact.
    pub every: usize,
    /// The same if it is sufficient that some live process has a quorum; `None` if not exact.
    pub some: Option<usize>,
    /// Whether all sets of failures were examined.
    pub exact: bool,
    /// Failures that it does not survive: a smallest such set, or the smallest one found.
    pub killing_set: Vec<u32>,
    /// Number of sets of failures that it survives, by size.
    pub by_size: Vec<SurvivalBySize>,
}

/// Number of sets of failures of one size that are survived.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct SurvivalBySize {
    /// Number of processes that fail.
    pub failures: usize,
    /// Number of sets that are survived.
    pub survived: u64,
    /// Number of sets examined, either all or a sample.
    pub of: u64,
}

/// Examines all sets of failures.
pub(super) fn exact_survival(every: &EveryView) -> Survival {
    let n = every.n;
    let mut by_size: Vec<SurvivalBySize> =
        (0..=n).map(|failures| SurvivalBySize { failures, survived: 0, of: 0 }).collect();
    // Nothing survives without a live process, so the set of all processes is always a killing set.
    let (mut kills_one, mut kills_all) = (n, n);
    let mut killing_set = ProcessSet::all(n);
    for view in every.views() {
        let failures = view.count_ones() as usize;
        let with = every.quorums(view).iter().filter(|quorum| **quorum != 0).count();
        let survived = failures < n && with == n - failures;
        by_size[failures].of += 1;
        by_size[failures].survived += u64::from(survived);
        if !survived && failures < kills_one {
            (kills_one, killing_set) = (failures, set(view));
        }
        if with == 0 {
            kills_all = kills_all.min(failures);
        }
    }
    Survival {
        every: kills_one.saturating_sub(1),
        some: Some(kills_all.saturating_sub(1)),
        exact: true,
        killing_set: numbers(&killing_set),
        by_size,
    }
}

/// Finds one killing set, and samples sets of a few sizes.
pub(super) fn estimated_survival(sampler: &mut ViewSampler<'_, impl QuorumSystem>) -> Survival {
    let killing_set = find_killing_set(sampler.system);
    let n = sampler.system.processes();
    let mut sizes = vec![1, 2, 3, n / 8, n / 4, n / 2, n / 4 * 3, n - 1];
    sizes.sort_unstable();
    sizes.dedup();
    let of = (sampler.rounds() / sizes.len()).clamp(16, 1_000) as u64;
    let by_size = sizes.into_iter().map(|failures| {
        let survived = (0..of).filter(|_| sampler.survives(failures)).count() as u64;
        SurvivalBySize { failures, survived, of }
    });
    let by_size = by_size.collect();
    let every = killing_set.len().saturating_sub(1);
    Survival { every, some: None, exact: false, killing_set: numbers(&killing_set), by_size }
}

/// Maximum size of a killing set that is shrunk. A larger one would take too long.
const SHRUNKEN_MOST: usize = 1 << 10;

/// Lets one quorum after the other fail until a live process has none. Then restores the processes that need not fail.
fn find_killing_set(system: &impl QuorumSystem) -> ProcessSet {
    let n = system.processes();
    // Only the first live process is checked. If it has no quorum, that is sufficient.
    let quorum = |failed: &ProcessSet| {
        ProcessId::all(n)
            .find(|process| !failed.contains(*process))
            .and_then(|process| system.quorum(process, failed))
    };
    let mut failed = ProcessSet::new();
    while let Some(quorum) = quorum(&failed) {
        failed.union_with(&quorum);
    }
    if failed.len() <= SHRUNKEN_MOST {
        for process in failed.clone().iter() {
            failed.remove(process);
            if quorum(&failed).is_some() {
                failed.insert(process);
            }
        }
    }
    failed
}
