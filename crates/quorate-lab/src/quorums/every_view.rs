//! All views of a small system, as bit masks: 2^n views with n quorums each.

use quorate_core::quorum::QuorumSystem;
use quorate_core::{ProcessId, ProcessSet};

use super::apart::{Apart, Take};
use super::{EVERY_VIEW_MOST, Meetings};

/// A set of at most sixteen processes, one bit each.
type Mask = u32;

/// The quorums of every process under every view.
pub(super) struct EveryView {
    pub(super) n: usize,
    /// At view * n + process; empty where there is no quorum.
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

    /// The quorums of a view by process, empty where there is none.
    pub(super) fn quorums(&self, view: Mask) -> &[Mask] {
        &self.quorums[view as usize * self.n..][..self.n]
    }

    pub(super) fn meetings(&self) -> Meetings {
        let apart_across = self.apart_across();
        // If all quorums meet, so do those of the living.
        let (apart_of_live, apart_after_crashes) = match &apart_across {
            Some(_) => (self.apart_of_live(), self.apart_after_crashes()),
            None => (None, None),
        };
        Meetings {
            views: 1 << self.n,
            apart_within: self.apart_within(),
            apart_across,
            apart_of_live,
            apart_after_crashes,
        }
    }

    /// Two quorums of the same view that do not meet, with as few failures as possible.
    fn apart_within(&self) -> Option<Apart> {
        let pair = |view: Mask| {
            let quorums = self.quorums(view);
            let others = |p: usize| (p + 1..self.n).map(move |q| (p, q));
            let mut pairs = (0..self.n).flat_map(others);
            pairs.find(|&(p, q)| quorums[p] != 0 && quorums[q] != 0 && quorums[p] & quorums[q] == 0)
        };
        let apart = self.views().filter_map(|view| pair(view).map(|pair| (view, pair)));
        let (view, (p, q)) = apart.min_by_key(|(view, _)| view.count_ones())?;
        Some(Apart::new(
            self.take(Found { view, process: p }),
            self.take(Found { view, process: q }),
        ))
    }

    /// Two quorums of any two views that do not meet, with as few failures in both views together as possible.
    fn apart_across(&self) -> Option<Apart> {
        let all: Vec<Found> = self
            .views()
            .flat_map(|view| (0..self.n).map(move |process| Found { view, process }))
            .collect();
        self.nearest_apart(&all, &all).map(|(_, pair)| self.apart(pair))
    }

    /// The same for two different processes, neither of which has failed in either view.
    fn apart_of_live(&self) -> Option<Apart> {
        let others = |p: usize| (p + 1..self.n).map(move |q| (p, q));
        let of_pair = |(p, q): (usize, usize)| {
            let both_live = |view: &Mask| view & (1 << p | 1 << q) == 0;
            let of = |process: usize| -> Vec<Found> {
                self.views().filter(both_live).map(|view| Found { view, process }).collect()
            };
            self.nearest_apart(&of(p), &of(q))
        };
        let apart = (0..self.n).flat_map(others).filter_map(of_pair);
        apart.min_by_key(|(failures, _)| *failures).map(|(_, pair)| self.apart(pair))
    }

    /// A quorum taken when nobody had failed and one taken later, both processes being alive still.
    fn apart_after_crashes(&self) -> Option<Apart> {
        let before = self.quorums(0);
        let pair = |view: Mask| {
            let after = self.quorums(view);
            let live = move |process: &usize| view >> process & 1 == 0;
            let pairs = (0..self.n)
                .filter(live)
                .flat_map(|p| (0..self.n).filter(live).map(move |q| (p, q)));
            let apart = |&(p, q): &(usize, usize)| {
                p != q && before[p] != 0 && after[q] != 0 && before[p] & after[q] == 0
            };
            pairs.into_iter().find(apart)
        };
        let apart = self.views().filter_map(|view| pair(view).map(|pair| (view, pair)));
        let (view, (p, q)) = apart.min_by_key(|(view, _)| view.count_ones())?;
        Some(self.apart((Found { view: 0, process: p }, Found { view, process: q })))
    }

    /// One quorum of each family that do not meet, with the fewest failures in the views of both, and how many.
    ///
    /// Not pair by pair: for each set of processes the cheapest quorum of the second family inside it is
    /// worked out, smaller sets first; a quorum of the first is then looked up by whom it leaves.
    fn nearest_apart(&self, first: &[Found], second: &[Found]) -> Option<(u32, (Found, Found))> {
        let everyone = (1 << self.n) - 1;
        let mut inside = vec![u32::MAX; 1 << self.n];
        for found in second.iter().filter(|found| self.members(**found) != 0) {
            let place = &mut inside[self.members(*found) as usize];
            *place = found.packed().min(*place);
        }
        for bit in 0..self.n {
            for set in (0..1 << self.n).filter(|set| set >> bit & 1 == 1) {
                inside[set] = inside[set].min(inside[set ^ 1 << bit]);
            }
        }
        let partner = |found: &Found| {
            let members = self.members(*found);
            let partner = inside[(everyone & !members) as usize];
            let apart = members != 0 && partner != u32::MAX;
            apart.then(|| (*found, Found::unpacked(partner)))
        };
        let failures = |(a, b): &(Found, Found)| a.view.count_ones() + b.view.count_ones();
        let pair = first.iter().filter_map(partner).min_by_key(failures)?;
        Some((failures(&pair), pair))
    }

    fn members(&self, found: Found) -> Mask {
        self.quorums(found.view)[found.process]
    }

    fn apart(&self, (a, b): (Found, Found)) -> Apart {
        Apart::new(self.take(a), self.take(b))
    }

    fn take(&self, found: Found) -> Take {
        Take {
            process: ProcessId::from_index(found.process),
            failed: set(found.view),
            members: set(self.members(found)),
        }
    }
}

/// Where a quorum was found.
#[derive(Clone, Copy)]
struct Found {
    view: Mask,
    process: usize,
}

impl Found {
    /// As one number, by which fewer failures come first.
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
