//! Times in which nodes did not work because of faults. They are kept for each node, since a later fault may undo a part of
//! an earlier one: a rolling restart starts nodes that another fault has killed.

use std::collections::BTreeMap;
use std::fmt;

use quorate_client::Moment;

/// What keeps a node from working.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trouble {
    Down,
    Stopped,
    Stutters,
    CutOff,
    FullDisk,
}

impl Trouble {
    /// Links need this long after a cut until they are connected again.
    fn settles_us(self) -> u64 {
        if self == Self::CutOff { 1_000_000 } else { 0 }
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Down => "down",
            Self::Stopped => "stopped",
            Self::Stutters => "stutters",
            Self::CutOff => "cut off",
            Self::FullDisk => "without room on its disk",
        })
    }
}

/// A time in which a node did not work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Outage {
    pub(crate) node: usize,
    pub(crate) trouble: Trouble,
    /// The fault that caused it.
    pub(crate) fault: String,
    pub(crate) from: u64,
    /// When the cause was undone; the greatest number if it never was.
    pub(crate) undone: u64,
    /// When the node was well again: the first time at which it said that it was ready to a question that was sent after the
    /// cause was undone.
    pub(crate) well: u64,
}

impl Outage {
    /// Whether the node is affected then.
    pub(crate) fn affects(&self, node: usize, time: u64) -> bool {
        self.node == node && (self.from..self.well).contains(&time)
    }

    /// Whether a call that is sent to a node then may be in vain, if an answer takes `patience` at most. After a cut, a
    /// connection sends again what was lost only after a pause, which has become as long as the cut.
    pub(crate) fn disturbs(&self, node: usize, sent: u64, patience: u64) -> bool {
        let cut = if self.trouble == Trouble::CutOff { self.undone - self.from } else { 0 };
        let well = self.well.saturating_add(cut);
        self.node == node && self.from < sent + patience && sent < well
    }
}

/// All outages of a run.
#[derive(Debug, Default)]
pub(crate) struct Outages {
    fault: String,
    all: Vec<Outage>,
}

impl Outages {
    /// What begins from now on is caused by this fault.
    pub(crate) fn blame(&mut self, fault: String) {
        self.fault = fault;
    }

    /// A node is in trouble from now on, unless it is already in the same trouble.
    pub(crate) fn begin(&mut self, node: usize, trouble: Trouble) {
        self.begin_at(node, trouble, Moment::now().0);
    }

    /// A trouble of a node is undone now, if it is in that trouble.
    pub(crate) fn end(&mut self, node: usize, trouble: Trouble) {
        self.end_at(node, trouble, Moment::now().0);
    }

    fn begin_at(&mut self, node: usize, trouble: Trouble, from: u64) {
        if self.open(node, trouble).is_none() {
            let (fault, undone, well) = (self.fault.clone(), u64::MAX, u64::MAX);
            self.all.push(Outage { node, trouble, fault, from, undone, well });
        }
    }

    fn end_at(&mut self, node: usize, trouble: Trouble, undone: u64) {
        self.open(node, trouble).into_iter().for_each(|it| it.undone = undone);
    }

    fn open(&mut self, node: usize, trouble: Trouble) -> Option<&mut Outage> {
        let is_open =
            |it: &&mut Outage| (it.node, it.trouble, it.undone) == (node, trouble, u64::MAX);
        self.all.iter_mut().find(is_open)
    }

    /// All outages with the times at which nodes were well again. `ready` has the times at which nodes that were ready were
    /// asked.
    pub(crate) fn judged(&self, ready: &[(u64, usize)]) -> Vec<Outage> {
        let mut times = BTreeMap::<usize, Vec<u64>>::new();
        ready.iter().for_each(|(sent, node)| times.entry(*node).or_default().push(*sent));
        times.values_mut().for_each(|times| times.sort_unstable());
        let well = |it: &Outage| {
            let times = times.get(&it.node).map_or(&[][..], Vec::as_slice);
            let first = times.get(times.partition_point(|sent| *sent < it.undone)).copied();
            first.unwrap_or(u64::MAX).max(it.undone.saturating_add(it.trouble.settles_us()))
        };
        self.all.iter().map(|it| Outage { well: well(it), ..it.clone() }).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_that_another_fault_has_started_is_well_again() {
        let mut outages = Outages::default();
        outages.blame("kill -9 of a majority less one".to_owned());
        outages.begin_at(0, Trouble::Down, 1_000);
        outages.begin_at(1, Trouble::Down, 1_000);
        // A rolling restart starts node 0; the remedies of the first fault come later and find it running.
        outages.end_at(0, Trouble::Down, 2_000);
        outages.end_at(0, Trouble::Down, 9_000);
        outages.end_at(1, Trouble::Down, 9_000);
        let judged = outages.judged(&[(1_500, 1), (2_100, 0), (500, 0), (9_100, 1)]);
        assert_eq!(judged.iter().map(|it| it.well).collect::<Vec<_>>(), [2_100, 9_100]);
        assert!(judged[0].affects(0, 2_000) && !judged[0].affects(0, 5_000));
    }

    #[test]
    fn a_cut_takes_a_second_to_settle_and_a_node_that_is_never_ready_is_never_well() {
        let mut outages = Outages::default();
        outages.begin_at(0, Trouble::CutOff, 1_000);
        outages.begin_at(0, Trouble::CutOff, 1_500);
        outages.end_at(0, Trouble::CutOff, 2_000);
        outages.begin_at(1, Trouble::Stopped, 1_000);
        let judged = outages.judged(&[(3_000, 0), (3_000, 1)]);
        let times = judged.iter().map(|it| (it.from, it.well)).collect::<Vec<_>>();
        assert_eq!(times, [(1_000, 1_002_000), (1_000, u64::MAX)]);
    }
}
