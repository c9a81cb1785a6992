//! Random sample of views, where there are too many to enumerate.

use quorate_core::quorum::QuorumSystem;
use quorate_core::{ProcessId, ProcessSet};
use quorate_sim::random::{Random, Stream};

use super::Intersections;
use super::disjoint::{DisjointQuorums, ViewQuorum};
use super::monotone::NonMonotoneStep;

/// Maximum number of steps. A view of n processes takes about n steps.
const STEPS_MOST: usize = 1 << 24;

/// Draws random views of a system.
pub(super) struct ViewSampler<'a, S> {
    pub(super) system: &'a S,
    random: Random,
    order: Vec<ProcessId>,
}

impl<'a, S: QuorumSystem> ViewSampler<'a, S> {
    pub(super) fn new(system: &'a S, seed: u64) -> Self {
        let order = ProcessId::all(system.processes()).collect();
        Self { system, random: Random::new(seed, Stream::Faults), order }
    }

    /// Number of rounds that the limit of steps allows.
    pub(super) fn rounds(&self) -> usize {
        (STEPS_MOST / self.order.len()).clamp(64, 20_000)
    }

    /// Draws the processes that fail, in the order of their failures. The live processes follow after them.
    fn fail(&mut self, failures: usize) -> &[ProcessId] {
        let n = self.order.len();
        for place in 0..failures {
            let other = self.random.between(place as u64, n as u64 - 1) as usize;
            self.order.swap(place, other);
        }
        &self.order
    }

    fn below(&mut self, bound: usize) -> usize {
        self.random.below(bound as u64) as usize
    }

    fn view_quorum(&self, process: ProcessId, failed: &ProcessSet) -> Option<ViewQuorum> {
        let members = self.system.quorum(process, failed)?;
        Some(ViewQuorum { process, failed: failed.clone(), members })
    }

    /// Each round crashes a random number of processes one after the other. Two live processes take a quorum: one early, in
    /// half of the rounds before any crash, and the other after all crashes. Then both take one at the end. One more
    /// process crashes after each of the first two, to see whether this changes the quorum.
    pub(super) fn intersections(&mut self) -> Intersections {
        let n = self.order.len();
        let rounds = self.rounds();
        let mut intersections = Intersections {
            views: 0,
            disjoint_within: None,
            disjoint_across: None,
            disjoint_of_live: None,
            disjoint_after_crashes: None,
            non_monotone_step: None,
        };
        for round in 0..rounds {
            // Disjoint quorums occur mostly among the last few live processes, so such views get their share of the rounds.
            let failures = match round % 4 {
                0 | 1 => self.below(n - 1),
                2 => n - (2 << self.below(n.ilog2() as usize)),
                _ => n - 2 - self.below(7),
            };
            let early = if round % 8 < 4 { 0 } else { self.below(failures + 1) };
            let (p, q) = (failures + self.below(n - failures), failures + self.below(n - failures));
            let order = self.fail(failures);
            let (p, q) = (order[p], order[q]);
            let before: ProcessSet = order[..early].iter().copied().collect();
            let after: ProcessSet = order[..failures].iter().copied().collect();
            let [early, late, other] = [
                self.view_quorum(p, &before),
                self.view_quorum(q, &after),
                self.view_quorum(p, &after),
            ];
            intersections.views += 2;
            for taken in [&early, &late].into_iter().flatten() {
                let known = intersections.non_monotone_step.take();
                intersections.non_monotone_step = self.fewer_failures(known, taken);
            }
            if p != q && before.is_empty() {
                let known = intersections.disjoint_after_crashes;
                intersections.disjoint_after_crashes = fewer(known, early.clone(), late.clone());
            }
            if p != q {
                intersections.disjoint_of_live =
                    fewer(intersections.disjoint_of_live, early, late.clone());
            } else {
                intersections.disjoint_across =
                    fewer(intersections.disjoint_across, early, late.clone());
            }
            intersections.disjoint_within = fewer(intersections.disjoint_within, other, late);
        }
        intersections
    }

    /// The evidence with fewer failures: the known step, or a further failure in the view of this quorum.
    fn fewer_failures(
        &self,
        known: Option<NonMonotoneStep>,
        before: &ViewQuorum,
    ) -> Option<NonMonotoneStep> {
        let failures = before.failed.len();
        if known.as_ref().is_some_and(|known| known.failed.len() <= failures) {
            return known;
        }
        let live = &self.order[failures..];
        let outside =
            |process: &ProcessId| *process != before.process && !before.members.contains(*process);
        let further = live.iter().copied().find(outside);
        let step = further.and_then(|further| NonMonotoneStep::check(self.system, before, further));
        step.or(known)
    }

    /// Whether a random live process still has a quorum after this many random failures.
    pub(super) fn survives(&mut self, failures: usize) -> bool {
        let place = failures + self.below(self.order.len() - failures);
        let order = self.fail(failures);
        let (process, failed) = (order[place], order[..failures].iter().copied().collect());
        self.system.quorum(process, &failed).is_some()
    }
}

/// The evidence with fewer failures: the known pair, or these two quorums if they are disjoint.
fn fewer(
    known: Option<DisjointQuorums>,
    a: Option<ViewQuorum>,
    b: Option<ViewQuorum>,
) -> Option<DisjointQuorums> {
    let failures =
        |disjoint: &DisjointQuorums| disjoint.first.failed.len() + disjoint.second.failed.len();
    match (a, b) {
        (Some(a), Some(b)) if a.members.is_disjoint(&b.members) => {
            let found = a.failed.len() + b.failed.len();
            match known {
                Some(known) if failures(&known) <= found => Some(known),
                _ => Some(DisjointQuorums::new(a, b)),
            }
        }
        _ => known,
    }
}
