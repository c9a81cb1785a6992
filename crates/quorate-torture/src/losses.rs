//! Losses of the long holders, and whether faults excuse them.

use std::time::Duration;

use crate::clients::{ALLOWANCE, ETCD_TTL, Kind};
use crate::history::{Beat, Claim};

/// A fault that affected nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Affected {
    pub(crate) fault: String,
    pub(crate) nodes: Vec<usize>,
    pub(crate) from: u64,
    /// When the fault was undone.
    pub(crate) undone: u64,
    /// Links need this long after a cut until they are connected again.
    pub(crate) settles_us: u64,
    /// When each of the nodes was well again: the first time at which it said that it was ready to a question that was sent
    /// after the fault was undone.
    pub(crate) well: Vec<u64>,
}

impl Affected {
    /// Finds when the nodes were well again. `ready` has the times at which nodes that were ready were asked, in order.
    pub(crate) fn find_well(&mut self, ready: &[(u64, usize)]) {
        let undone = self.undone;
        let first = |node: &usize| {
            let mut after = ready.iter().filter(|(sent, of)| *sent >= undone && of == node);
            after.next().map_or(u64::MAX, |(sent, _)| *sent)
        };
        let settled = undone.saturating_add(self.settles_us);
        self.well = self.nodes.iter().map(|node| first(node).max(settled)).collect();
    }

    fn affects(&self, node: usize, time: u64) -> bool {
        let mut nodes = self.nodes.iter().zip(&self.well);
        nodes.any(|(of, well)| *of == node && (self.from..*well).contains(&time))
    }

    /// Whether a call that is sent to a node then may be in vain. After a cut, a connection sends again what was lost only
    /// after a pause, which has become as long as the cut.
    fn disturbs(&self, beat: &Beat, patience: u64) -> bool {
        let cut = if self.settles_us > 0 { self.undone - self.from } else { 0 };
        let mut nodes = self.nodes.iter().zip(&self.well);
        nodes.any(|(of, well)| {
            let well = well.saturating_add(cut);
            *of == beat.node && self.from < beat.sent + patience && beat.sent < well
        })
    }
}

/// A long holder that lost its lock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Loss {
    pub(crate) kind: Kind,
    pub(crate) token: u64,
    pub(crate) at: u64,
    /// Why the loss is permitted; `None` is a violation.
    pub(crate) excuse: Option<String>,
    /// Faults around it.
    pub(crate) faults: Vec<String>,
}

/// Step in which times are looked at.
const STEP_US: u64 = 5_000;

/// A loss is looked at together with the ttl before it and this much more.
const BEFORE_US: u64 = 500_000;

/// Judges a loss. It is permitted if, within one ttl and half a second before it, more nodes than a minority were affected
/// at the same time for a quarter of the ttl in total, or if the holder's own process did not run. etcdctl and Go's package do
/// not leave a node that is silent; for them it is permitted as well if no node failed that they asked.
pub(crate) fn judge(
    kind: Kind,
    claim: &Claim,
    affected: &[Affected],
    stalls: &[(u64, u64)],
    beats: &[Beat],
    nodes: usize,
) -> Loss {
    let ttl = kind.kept_for(crate::holder::TTL).as_micros() as u64;
    let from = claim.end.saturating_sub(ttl + BEFORE_US);
    let near = |it: &&Affected| it.from < claim.end && it.well.iter().any(|well| *well > from);
    let near: Vec<&Affected> = affected.iter().filter(near).collect();
    let minority = (nodes - 1) / 2;
    let too_many = |time: &u64| {
        let count =
            (0..nodes).filter(|node| near.iter().any(|it| it.affects(*node, *time))).count();
        count > minority
    };
    let times = (from..claim.end).step_by(STEP_US as usize);
    let without_quorum = times.filter(too_many).count() as u64 * STEP_US;
    let stall = stalls.iter().find(|stall| stall.0 < claim.end + BEFORE_US && stall.1 > from);
    let excuse = match (without_quorum >= ttl / 4, stall) {
        (true, _) => Some(format!(
            "more than {minority} nodes were affected for {:?}",
            Duration::from_micros(without_quorum)
        )),
        (_, Some((from, to))) => {
            Some(format!("the client did not run for {:?}", Duration::from_micros(to - from)))
        }
        _ if kind.is_proxied() && !is_owed(claim, from, affected, beats) => {
            Some("the client asked no well node in time".to_owned())
        }
        _ => None,
    };
    let faults = near.iter().map(|it| {
        let times = it.well.iter().map(|well| seconds(*well, claim.end)).collect::<Vec<_>>();
        format!(
            "{} (nodes {:?}, from {}, undone {}, well {})",
            it.fault,
            it.nodes,
            seconds(it.from, claim.end),
            seconds(it.undone, claim.end),
            times.join(" ")
        )
    });
    let faults = faults.collect();
    Loss { kind, token: claim.token, at: claim.end, excuse, faults }
}

/// Whether a client was owed an answer with which it would not have lost its lock: it sent a keep-alive to a node that was well,
/// half a second before the end or earlier, was not told the whole TTL within half a second, and neither was it later.
///
/// Only answers from before the end count. The log goes on after a loss, and keep-alives of the next lease are answered too.
fn is_owed(claim: &Claim, from: u64, affected: &[Affected], beats: &[Beat]) -> bool {
    let (allowance, ttl) = (ALLOWANCE.as_micros() as u64, ETCD_TTL.as_secs());
    let in_time = |beat: &&Beat| beat.sent >= from && beat.sent + allowance <= claim.end;
    let kept = |beat: &Beat| {
        beat.told.is_some_and(|(at, told)| at <= beat.sent + allowance && told >= ttl)
    };
    let disturbed = |beat: &Beat| affected.iter().any(|it| it.disturbs(beat, allowance));
    let before_end = beats.iter().filter(|beat| beat.told.is_some_and(|(at, _)| at < claim.end));
    let last = before_end.filter(|beat| kept(beat)).map(|beat| beat.sent).max().unwrap_or(0);
    beats.iter().filter(in_time).any(|beat| beat.sent > last && !disturbed(beat))
}

/// A time relative to another one, in seconds.
fn seconds(time: u64, to: u64) -> String {
    match time {
        u64::MAX => "never".to_owned(),
        _ => format!("{:+.2} s", (time as f64 - to as f64) / 1e6),
    }
}

impl Loss {
    pub(crate) fn describe(&self) -> String {
        let excuse = self.excuse.as_deref().unwrap_or("not permitted");
        let faults =
            if self.faults.is_empty() { "no fault".to_owned() } else { self.faults.join("; ") };
        format!(
            "the {} holder lost token {} at {}: {excuse}; around it: {faults}",
            self.kind, self.token, self.at
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::Ending;

    fn affected(nodes: &[usize], from: u64, undone: u64) -> Affected {
        let (fault, nodes) = ("cut".to_owned(), nodes.to_vec());
        let mut it = Affected { fault, nodes, from, undone, settles_us: 0, well: Vec::new() };
        let ready: Vec<(u64, usize)> = (0..5).map(|node| (undone + 100_000, node)).collect();
        it.find_well(&ready);
        it
    }

    fn excused(affected: &[Affected], stalls: &[(u64, u64)]) -> bool {
        let (asked, start, end) = (0, 1, 10_000_000);
        let claim =
            Claim { worker: 0, token: 1, asked, start, end, acted: end, ending: Ending::Lost };
        judge(Kind::Direct, &claim, affected, stalls, &[], 5).excuse.is_some()
    }

    #[test]
    fn a_minority_excuses_nothing_whichever_nodes_it_is_in_turn() {
        assert!(!excused(&[], &[]));
        assert!(!excused(&[affected(&[0, 1], 7_000_000, 11_000_000)], &[]));
        let rolling = [0, 1, 2, 3, 4].map(|node| {
            let from = 7_600_000 + 500_000 * node as u64;
            affected(&[node], from, from + 350_000)
        });
        assert!(!excused(&rolling, &[]));
    }

    #[test]
    fn a_majority_for_long_enough_excuses() {
        let (two, one) =
            (affected(&[0, 1], 7_000_000, 11_000_000), affected(&[2], 8_000_000, 8_450_000));
        assert!(excused(&[two.clone(), one], &[]));
        assert!(!excused(&[two.clone(), affected(&[2], 8_000_000, 8_100_000)], &[]), "too short");
        assert!(!excused(&[two, affected(&[1], 8_000_000, 9_000_000)], &[]), "the same nodes");
        assert!(!excused(&[affected(&[0, 1, 2], 1_000_000, 7_000_000)], &[]), "too long ago");
    }

    #[test]
    fn a_client_that_stays_at_a_node_is_owed_answers_of_nodes_that_are_well() {
        let (asked, start, end) = (0, 1, 10_000_000);
        let claim =
            Claim { worker: 0, token: 1, asked, start, end, acted: end, ending: Ending::Lost };
        let faults = [affected(&[2], 8_500_000, 11_000_000)];
        let excused = |beats: &[Beat]| {
            let lost = judge(Kind::Go, &claim, &faults, &[], beats, 5);
            lost.excuse.is_some()
        };
        let beat = |node, sent, told| Beat { node, sent, told };
        let last = beat(2, 8_000_000, Some((8_000_500, 2)));
        assert!(excused(&[last, beat(2, 9_000_000, None)]), "that node was stopped");
        assert!(!excused(&[last, beat(1, 9_000_000, None)]), "this one was well");
        assert!(excused(&[last, beat(1, 9_600_000, None)]), "too late");
        assert!(!excused(&[beat(2, 7_900_000, Some((7_900_500, 1)))]), "it was told less");
        assert!(!excused(&[last, beat(1, 9_000_000, Some((9_000_500, 0)))]), "it was told to stop");
        let next_lease = beat(1, 10_100_000, Some((10_100_500, 2)));
        assert!(!excused(&[last, beat(1, 9_000_000, None), next_lease]), "answered after the loss");
    }

    #[test]
    fn a_client_that_did_not_run_is_excused() {
        assert!(excused(&[], &[(9_000_000, 9_400_000)]));
        assert!(!excused(&[], &[(6_000_000, 6_400_000)]));
    }
}
