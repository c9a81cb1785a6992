//! Periods in which nodes did not work because of faults. They are kept per node, since a later fault may undo a part of an
//! earlier one: a rolling restart starts nodes that another fault has killed.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use quorate_client::Moment;

/// Cause that keeps a node from working.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OutageCause {
    Down,
    Stopped,
    Stutters,
    CutOff,
    FullDisk,
    /// The node is down, and has lost its folder.
    Lost,
}

impl OutageCause {
    /// Time that links need to reconnect after a cut, in microseconds.
    fn settles_us(self) -> u64 {
        if self == Self::CutOff { 1_000_000 } else { 0 }
    }
}

impl fmt::Display for OutageCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Down => "down",
            Self::Stopped => "stopped",
            Self::Stutters => "stutters",
            Self::CutOff => "cut off",
            Self::FullDisk => "without room on its disk",
            Self::Lost => "without its folder",
        })
    }
}

/// A period in which a node did not work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Outage {
    pub(crate) node: usize,
    pub(crate) cause: OutageCause,
    /// The fault that caused it.
    pub(crate) fault: String,
    pub(crate) from: u64,
    /// When the cause was undone; `u64::MAX` if it never was.
    pub(crate) undone: u64,
    /// When the node was well again: the first time at which it reported ready to a poll that was sent after the cause was
    /// undone.
    pub(crate) well: u64,
}

impl Outage {
    /// Whether the node is affected at this time.
    pub(crate) fn affects(&self, time: u64) -> bool {
        (self.from..self.well).contains(&time)
    }

    /// A copy in which a node that was stopped or cut off stays affected for at least `ttl_us` after the cause was undone.
    /// Calls and messages that were delayed until then look recent to the node, so that for up to one ttl its votes may
    /// belong to clients that no longer exist. A restarted node reports itself when it is ready.
    pub(crate) fn with_late_news(&self, ttl_us: u64) -> Self {
        let is_late = matches!(self.cause, OutageCause::Stopped | OutageCause::CutOff);
        let settled = if is_late { self.undone.saturating_add(ttl_us) } else { 0 };
        Self { well: self.well.max(settled), ..self.clone() }
    }

    /// Whether a call that is sent to a node at `sent`, and takes at most `timeout`, may fail. After a cut, TCP retransmits
    /// lost data only after a backoff pause, which has become as long as the cut.
    pub(crate) fn disturbs(&self, node: usize, sent: u64, timeout: u64) -> bool {
        let cut = if self.cause == OutageCause::CutOff { self.undone - self.from } else { 0 };
        let well = self.well.saturating_add(cut);
        self.node == node && self.from < sent + timeout && sent < well
    }
}

/// All outages of a run.
#[derive(Debug, Default)]
pub(crate) struct Outages {
    fault: String,
    all: Vec<Outage>,
}

impl Outages {
    /// Sets the fault that causes outages from now on.
    pub(crate) fn set_current_fault(&mut self, fault: String) {
        self.fault = fault;
    }

    /// Begins an outage of a node, unless this cause already affects it.
    pub(crate) fn begin(&mut self, node: usize, cause: OutageCause) {
        self.begin_at(node, cause, Moment::now().0);
    }

    /// Ends an outage of a node.
    pub(crate) fn end(&mut self, node: usize, cause: OutageCause) {
        self.end_at(node, cause, Moment::now().0);
    }

    fn begin_at(&mut self, node: usize, cause: OutageCause, from: u64) {
        if self.open(node, cause).is_none() {
            let (fault, undone, well) = (self.fault.clone(), u64::MAX, u64::MAX);
            self.all.push(Outage { node, cause, fault, from, undone, well });
        }
    }

    fn end_at(&mut self, node: usize, cause: OutageCause, undone: u64) {
        self.open(node, cause).into_iter().for_each(|it| it.undone = undone);
    }

    fn open(&mut self, node: usize, cause: OutageCause) -> Option<&mut Outage> {
        let is_open = |it: &&mut Outage| (it.node, it.cause, it.undone) == (node, cause, u64::MAX);
        self.all.iter_mut().find(is_open)
    }

    /// All outages, with the times at which nodes were well again. `ready` contains the times of polls that found a node
    /// ready.
    pub(crate) fn judged(&self, ready: &[(u64, usize)]) -> Vec<Outage> {
        let mut times = BTreeMap::<usize, Vec<u64>>::new();
        ready.iter().for_each(|(sent, node)| times.entry(*node).or_default().push(*sent));
        times.values_mut().for_each(|times| times.sort_unstable());
        let well = |it: &Outage| {
            let times = times.get(&it.node).map_or(&[][..], Vec::as_slice);
            let first = times.get(times.partition_point(|sent| *sent < it.undone)).copied();
            first.unwrap_or(u64::MAX).max(it.undone.saturating_add(it.cause.settles_us()))
        };
        self.all.iter().map(|it| Outage { well: well(it), ..it.clone() }).collect()
    }
}

/// Periods in which more than a minority of nodes was affected at the same time, in order and disjoint.
pub(crate) fn without_majority(outages: &[Outage], nodes: usize) -> Vec<(u64, u64)> {
    let mut changes: Vec<(u64, usize, i32)> =
        outages.iter().flat_map(|it| [(it.from, it.node, 1), (it.well, it.node, -1)]).collect();
    changes.sort_unstable();
    let (mut causes, mut since, mut times) = (vec![0; nodes], None, Vec::new());
    for (time, node, change) in changes {
        causes[node] += change;
        let too_many = causes.iter().filter(|causes| **causes > 0).count() > (nodes - 1) / 2;
        match since {
            None if too_many => since = Some(time),
            Some(from) if !too_many => {
                times.push((from, time));
                since = None;
            }
            _ => {}
        }
    }
    times.extend(since.map(|from| (from, u64::MAX)));
    merged(times)
}

/// Sorts periods and merges adjacent or overlapping ones. Drops empty ones.
pub(crate) fn merged(mut times: Vec<(u64, u64)>) -> Vec<(u64, u64)> {
    times.retain(|(from, to)| from < to);
    times.sort_unstable();
    let mut merged = Vec::<(u64, u64)>::new();
    for (from, to) in times {
        match merged.last_mut() {
            Some(last) if from <= last.1 => last.1 = last.1.max(to),
            _ => merged.push((from, to)),
        }
    }
    merged
}

/// Nodes that were not ready within the limit after the cause was undone, according to logs that reach until `end`. A node
/// needs the others, so the time restarts when a majority is well again. A later outage of the same node is judged
/// separately, with the greatest limit among the causes from which it is not well again. No node counts as affecting the
/// others for longer than the limit, so that nodes do not excuse each other forever.
pub(crate) fn late_recoveries(
    outages: &[Outage],
    nodes: usize,
    limit: impl Fn(OutageCause) -> Duration,
    end: u64,
) -> Vec<String> {
    let limit_of = |it: &Outage| {
        let is_open = |other: &&Outage| {
            other.node == it.node && other.from <= it.undone && it.undone < other.well
        };
        let causes = outages.iter().filter(is_open).map(|other| limit(other.cause));
        causes.fold(limit(it.cause), Duration::max)
    };
    let limit_us = |it: &Outage| limit_of(it).as_micros() as u64;
    let bounded = |it: &Outage| {
        let well = it.well.min(it.undone.saturating_add(limit_us(it)));
        Outage { well, ..it.clone() }
    };
    let bounded: Vec<Outage> = outages.iter().map(bounded).collect();
    let without_majority = without_majority(&bounded, nodes);
    let mut late = Vec::new();
    for it in outages.iter().filter(|it| it.undone < u64::MAX) {
        let limit_us = limit_us(it);
        let mut due = it.undone + limit_us;
        for (from, to) in &without_majority {
            if *from < due && *to > it.undone {
                due = due.max(to.saturating_add(limit_us));
            }
        }
        let again =
            |other: &Outage| other.node == it.node && other.from < due && other.undone > it.undone;
        if it.well > due && due < end && !outages.iter().any(again) {
            late.push(format!(
                "node {} was {} until {} ({}), and not ready within {:?}",
                it.node,
                it.cause,
                it.undone,
                it.fault,
                limit_of(it)
            ));
        }
    }
    late
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_that_another_fault_has_started_is_well_again() {
        let mut outages = Outages::default();
        outages.set_current_fault("kill -9 of a majority less one".to_owned());
        outages.begin_at(0, OutageCause::Down, 1_000);
        outages.begin_at(1, OutageCause::Down, 1_000);
        // A rolling restart starts node 0. The remedies of the first fault come later and find it running.
        outages.end_at(0, OutageCause::Down, 2_000);
        outages.end_at(0, OutageCause::Down, 9_000);
        outages.end_at(1, OutageCause::Down, 9_000);
        let judged = outages.judged(&[(1_500, 1), (2_100, 0), (500, 0), (9_100, 1)]);
        assert_eq!(judged.iter().map(|it| it.well).collect::<Vec<_>>(), [2_100, 9_100]);
        assert!(judged[0].affects(2_000) && !judged[0].affects(5_000));
    }

    #[test]
    fn a_cut_takes_a_second_to_settle_and_a_node_that_is_never_ready_is_never_well() {
        let mut outages = Outages::default();
        outages.begin_at(0, OutageCause::CutOff, 1_000);
        outages.begin_at(0, OutageCause::CutOff, 1_500);
        outages.end_at(0, OutageCause::CutOff, 2_000);
        outages.begin_at(1, OutageCause::Stopped, 1_000);
        let judged = outages.judged(&[(3_000, 0), (3_000, 1)]);
        let times = judged.iter().map(|it| (it.from, it.well)).collect::<Vec<_>>();
        assert_eq!(times, [(1_000, 1_002_000), (1_000, u64::MAX)]);
    }

    #[test]
    fn a_node_that_was_stopped_takes_old_news_for_new_and_one_that_was_down_does_not() {
        let stopped = Outage { cause: OutageCause::Stopped, ..outage(0, 10, 20, 25) };
        assert_eq!(stopped.with_late_news(100).well, 120);
        assert_eq!(stopped.with_late_news(1).well, 25);
        assert_eq!(outage(0, 10, 20, 25).with_late_news(100).well, 25);
    }

    fn outage(node: usize, from: u64, undone: u64, well: u64) -> Outage {
        Outage { node, cause: OutageCause::Down, fault: String::new(), from, undone, well }
    }

    #[test]
    fn a_majority_is_missing_while_enough_different_nodes_are_affected() {
        let two = [outage(0, 10, 0, 50), outage(1, 20, 0, 60), outage(1, 15, 0, 30)];
        assert_eq!(without_majority(&two, 5), []);
        let third = [outage(2, 25, 0, 40), outage(2, 40, 0, 45), outage(2, 55, 0, 70)];
        assert_eq!(without_majority(&[&two[..], &third[..]].concat(), 5), [(25, 45)]);
        let never = [outage(0, 10, 0, u64::MAX), outage(1, 20, 0, u64::MAX)];
        assert_eq!(without_majority(&never, 3), [(20, u64::MAX)]);
    }

    #[test]
    fn a_node_that_is_not_ready_in_time_is_named() {
        let limit =
            |cause| Duration::from_micros(if cause == OutageCause::Lost { 300 } else { 100 });
        let late = |outages: &[Outage], end: u64| late_recoveries(outages, 3, limit, end).len();
        assert_eq!(late(&[outage(0, 10, 20, 120)], 1_000), 0);
        assert_eq!(late(&[outage(0, 10, 20, 121)], 1_000), 1);
        assert_eq!(late(&[outage(0, 10, 20, u64::MAX)], 1_000), 1);
        assert_eq!(late(&[outage(0, 10, 20, u64::MAX)], 120), 0, "the run ended before");
        let again = [outage(0, 10, 20, 240), outage(0, 110, 150, 240)];
        assert_eq!(late(&again, 1_000), 0, "it was hit again, and ready in time after that");
        let others = [outage(0, 10, 20, 180), outage(1, 30, 80, 90), outage(2, 30, 70, 75)];
        assert_eq!(late(&others, 1_000), 0, "there was no majority until 90");
        let nobody = [0, 1, 2].map(|node| outage(node, 10, 20, u64::MAX));
        assert_eq!(late(&nobody, 1_000), 3, "they do not excuse each other forever");
        let lost = Outage { cause: OutageCause::Lost, ..outage(0, 10, 20, 350) };
        let down = outage(0, 30, 60, 350);
        assert_eq!(
            late(&[lost.clone(), down.clone()], 1_000),
            0,
            "a node without its folder takes longer"
        );
        let late_ones = [Outage { well: 400, ..lost }, Outage { well: 400, ..down }];
        assert_eq!(late(&late_ones, 1_000), 1);
    }
}
