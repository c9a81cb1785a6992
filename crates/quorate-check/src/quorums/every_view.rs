//! All views of a small system, as bit masks: 2^n views with n quorums each.

use quorate_core::quorum::QuorumSystem;
use quorate_core::{ProcessId, ProcessSet};

use super::disjoint::{DisjointQuorums, ViewQuorum};
use super::monotone::NonMonotoneStep;
use super::{EVERY_VIEW_MOST, Intersections};

/// A set of at most sixteen processes, one bit each.
type Mask = u32;

/// The quorums of every process under every view.
pub(super) struct EveryView {
    pub(super) n: usize,
    /// Indexed by view * n + process; 0 where there is no quorum.
    quorums: Vec<Mask>,
}

impl EveryView {
    pub(super) fn new(system: &impl QuorumSystem) -> Self {
        let n = system.processes();
        assert!(n <= EVERY_VIEW_MOST, "2^{n} views are too many");
        let mut quorums = Vec::with_capacity(n << n);
        for view in 0..1 << n {
            let failed = set(view);
            for process in ProcessId::all(n) {
                let quorum =
                    if failed.contains(process) { None } else { system.quorum(process, &failed) };
                quorums.push(quorum.map_or(0, |quorum| mask(&quorum)));
            }
        }
        Self { n, quorums }
    }

    pub(super) fn views(&self) -> impl Iterator<Item = Mask> + use<> {
        0..1 << self.n
    }

    /// Quorums of a view by process; 0 where there is none.
    pub(super) fn quorums(&self, view: Mask) -> &[Mask] {
        &self.quorums[view as usize * self.n..][..self.n]
    }

    pub(super) fn intersections(&self) -> Intersections {
        let disjoint_across = self.disjoint_across();
        // If all quorums intersect, so do those of live processes.
        let (disjoint_of_live, disjoint_after_crashes) = match &disjoint_across {
            Some(_) => (self.disjoint_of_live(), self.disjoint_after_crashes()),
            None => (None, None),
        };
        Intersections {
            views: 1 << self.n,
            disjoint_within: self.disjoint_within(),
            disjoint_across,
            disjoint_of_live,
            disjoint_after_crashes,
            non_monotone_step: self.non_monotone_step(),
        }
    }

    /// Two quorums of the same view that do not intersect, with as few failures as possible.
    fn disjoint_within(&self) -> Option<DisjointQuorums> {
        let pair = |view: Mask| {
            let quorums = self.quorums(view);
            let others = |p: usize| (p + 1..self.n).map(move |q| (p, q));
            let mut pairs = (0..self.n).flat_map(others);
            pairs.find(|&(p, q)| quorums[p] != 0 && quorums[q] != 0 && quorums[p] & quorums[q] == 0)
        };
        let disjoint = self.views().filter_map(|view| pair(view).map(|pair| (view, pair)));
        let (view, (p, q)) = disjoint.min_by_key(|(view, _)| view.count_ones())?;
        Some(DisjointQuorums::new(
            self.view_quorum(QuorumIndex { view, process: p }),
            self.view_quorum(QuorumIndex { view, process: q }),
        ))
    }

    /// Two quorums of any two views that do not intersect, with as few failures in both views together as possible.
    fn disjoint_across(&self) -> Option<DisjointQuorums> {
        let all: Vec<QuorumIndex> = self
            .views()
            .flat_map(|view| (0..self.n).map(move |process| QuorumIndex { view, process }))
            .collect();
        self.closest_disjoint(&all, &all).map(|(_, pair)| self.disjoint_pair(pair))
    }

    /// The same for two different processes, neither of which has failed in either view.
    fn disjoint_of_live(&self) -> Option<DisjointQuorums> {
        let others = |p: usize| (p + 1..self.n).map(move |q| (p, q));
        let of_pair = |(p, q): (usize, usize)| {
            let both_live = |view: &Mask| view & (1 << p | 1 << q) == 0;
            let of = |process: usize| -> Vec<QuorumIndex> {
                self.views().filter(both_live).map(|view| QuorumIndex { view, process }).collect()
            };
            self.closest_disjoint(&of(p), &of(q))
        };
        let disjoint = (0..self.n).flat_map(others).filter_map(of_pair);
        disjoint.min_by_key(|(failures, _)| *failures).map(|(_, pair)| self.disjoint_pair(pair))
    }

    /// A quorum taken before any failure and another taken later, of two processes that are still alive.
    fn disjoint_after_crashes(&self) -> Option<DisjointQuorums> {
        let before = self.quorums(0);
        let pair = |view: Mask| {
            let after = self.quorums(view);
            let live = move |process: &usize| view >> process & 1 == 0;
            let pairs = (0..self.n)
                .filter(live)
                .flat_map(|p| (0..self.n).filter(live).map(move |q| (p, q)));
            let disjoint = |&(p, q): &(usize, usize)| {
                p != q && before[p] != 0 && after[q] != 0 && before[p] & after[q] == 0
            };
            pairs.into_iter().find(disjoint)
        };
        let disjoint = self.views().filter_map(|view| pair(view).map(|pair| (view, pair)));
        let (view, (p, q)) = disjoint.min_by_key(|(view, _)| view.count_ones())?;
        Some(
            self.disjoint_pair((
                QuorumIndex { view: 0, process: p },
                QuorumIndex { view, process: q },
            )),
        )
    }

    /// A further failure after which a process has a quorum that is not a subset of the one before, although no member of
    /// that one has failed, with as few failures before it as possible.
    fn non_monotone_step(&self) -> Option<NonMonotoneStep> {
        let steps = self.views().flat_map(|view| {
            let live = (0..self.n).filter(move |process| view >> process & 1 == 0);
            live.map(move |further| (view, further))
        });
        let not_monotone = steps.filter(|&(view, further)| self.changes(view, further));
        let (view, further) = not_monotone.min_by_key(|(view, _)| view.count_ones())?;
        let (before, after) = (self.quorums(view), self.quorums(view | 1 << further));
        let changed = |process: &usize| is_changed(before[*process], after[*process], further);
        let process = (0..self.n).filter(|process| *process != further).find(changed)?;
        let before = self.view_quorum(QuorumIndex { view, process });
        let after = Some(set(after[process])).filter(|after| !after.is_empty());
        Some(NonMonotoneStep::new(&before, ProcessId::from_index(further), after.as_ref()))
    }

    /// Whether the further failure changes the quorum of a live process although it is not a member.
    fn changes(&self, view: Mask, further: usize) -> bool {
        let (before, after) = (self.quorums(view), self.quorums(view | 1 << further));
        let change = |(process, (before, after)): (usize, (&Mask, &Mask))| {
            process != further && is_changed(*before, *after, further)
        };
        before.iter().zip(after).enumerate().any(change)
    }

    /// Two disjoint quorums, one of each family, with the fewest failures in both views together, and that number.
    ///
    /// It does not compare pair by pair. For each set of processes it computes the cheapest quorum of the second family
    /// inside that set, smaller sets first. A quorum of the first family is then looked up by its complement.
    fn closest_disjoint(
        &self,
        first: &[QuorumIndex],
        second: &[QuorumIndex],
    ) -> Option<(u32, (QuorumIndex, QuorumIndex))> {
        let everyone = (1 << self.n) - 1;
        let mut inside = vec![u32::MAX; 1 << self.n];
        for index in second.iter().filter(|index| self.members(**index) != 0) {
            let place = &mut inside[self.members(*index) as usize];
            *place = index.packed().min(*place);
        }
        for bit in 0..self.n {
            for set in (0..1 << self.n).filter(|set| set >> bit & 1 == 1) {
                inside[set] = inside[set].min(inside[set ^ 1 << bit]);
            }
        }
        let partner = |index: &QuorumIndex| {
            let members = self.members(*index);
            let partner = inside[(everyone & !members) as usize];
            let disjoint = members != 0 && partner != u32::MAX;
            disjoint.then(|| (*index, QuorumIndex::unpacked(partner)))
        };
        let failures =
            |(a, b): &(QuorumIndex, QuorumIndex)| a.view.count_ones() + b.view.count_ones();
        let pair = first.iter().filter_map(partner).min_by_key(failures)?;
        Some((failures(&pair), pair))
    }

    fn members(&self, index: QuorumIndex) -> Mask {
        self.quorums(index.view)[index.process]
    }

    fn disjoint_pair(&self, (a, b): (QuorumIndex, QuorumIndex)) -> DisjointQuorums {
        DisjointQuorums::new(self.view_quorum(a), self.view_quorum(b))
    }

    fn view_quorum(&self, index: QuorumIndex) -> ViewQuorum {
        ViewQuorum {
            process: ProcessId::from_index(index.process),
            failed: set(index.view),
            members: set(self.members(index)),
        }
    }
}

/// Whether a process had a quorum without `further`, and has now none or one with other members.
const fn is_changed(before: Mask, after: Mask, further: usize) -> bool {
    before != 0 && before >> further & 1 == 0 && (after == 0 || after & !before != 0)
}

/// View and process of a quorum.
#[derive(Clone, Copy)]
struct QuorumIndex {
    view: Mask,
    process: usize,
}

impl QuorumIndex {
    /// Packs the index into one number, in which fewer failures sort first.
    fn packed(self) -> u32 {
        self.view.count_ones() << 20 | (self.process as u32) << 16 | self.view
    }

    fn unpacked(packed: u32) -> Self {
        Self { view: packed & 0xffff, process: (packed >> 16 & 0xf) as usize }
    }
}

pub(super) fn set(mask: Mask) -> ProcessSet {
    (0..Mask::BITS).filter(|bit| mask >> bit & 1 == 1).map(ProcessId::new).collect()
}

fn mask(set: &ProcessSet) -> Mask {
    set.iter().fold(0, |mask, member| mask | 1 << member.number())
}
