//! Losses of the long holders, and whether faults excuse them.

use std::time::Duration;

use crate::clients::{ALLOWANCE, ETCD_TTL, Kind};
use crate::history::{Beat, Claim};
use crate::outages::Outage;

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
    outages: &[Outage],
    stalls: &[(u64, u64)],
    beats: &[Beat],
    nodes: usize,
) -> Loss {
    let ttl = kind.kept_for(crate::holder::TTL).as_micros() as u64;
    let from = claim.end.saturating_sub(ttl + BEFORE_US);
    let near = |it: &&Outage| it.from < claim.end && it.well > from;
    let near: Vec<&Outage> = outages.iter().filter(near).collect();
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
        _ if kind.is_proxied() && !is_owed(claim, from, outages, beats) => {
            Some("the client asked no well node in time".to_owned())
        }
        _ => None,
    };
    let faults = near.iter().map(|it| {
        format!(
            "{} (node {} {}, from {}, undone {}, well {})",
            it.fault,
            it.node,
            it.trouble,
            seconds(it.from, claim.end),
            seconds(it.undone, claim.end),
            seconds(it.well, claim.end)
        )
    });
    let faults = faults.collect();
    Loss { kind, token: claim.token, at: claim.end, excuse, faults }
}

/// Whether a client was owed an answer with which it would not have lost its lock: it sent a keep-alive to a node that was well,
/// half a second before the end or earlier, was not told the whole TTL within half a second, and neither was it later.
///
/// Only answers from before the end count. The log goes on after a loss, and keep-alives of the next lease are answered too.
fn is_owed(claim: &Claim, from: u64, outages: &[Outage], beats: &[Beat]) -> bool {
    let (allowance, ttl) = (ALLOWANCE.as_micros() as u64, ETCD_TTL.as_secs());
    let in_time = |beat: &&Beat| beat.sent >= from && beat.sent + allowance <= claim.end;
    let kept = |beat: &Beat| {
        beat.told.is_some_and(|(at, told)| at <= beat.sent + allowance && told >= ttl)
    };
    let disturbed =
        |beat: &Beat| outages.iter().any(|it| it.disturbs(beat.node, beat.sent, allowance));
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
    use crate::outages::Trouble;

    /// Nodes that are down until then, and well a tenth of a second later.
    fn down(nodes: &[usize], from: u64, undone: u64) -> Vec<Outage> {
        let (fault, trouble, well) = (String::new(), Trouble::Down, undone + 100_000);
        let down = |node: &usize| Outage {
            node: *node,
            trouble,
            fault: fault.clone(),
            from,
            undone,
            well,
        };
        nodes.iter().map(down).collect()
    }

    fn excused(outages: &[Outage], stalls: &[(u64, u64)]) -> bool {
        let (asked, start, end) = (0, 1, 10_000_000);
        let claim =
            Claim { worker: 0, token: 1, asked, start, end, acted: end, ending: Ending::Lost };
        judge(Kind::Direct, &claim, outages, stalls, &[], 5).excuse.is_some()
    }

    #[test]
    fn a_minority_excuses_nothing_whichever_nodes_it_is_in_turn() {
        assert!(!excused(&[], &[]));
        assert!(!excused(&down(&[0, 1], 7_000_000, 11_000_000), &[]));
        let rolling = [0, 1, 2, 3, 4].map(|node| {
            let from = 7_600_000 + 500_000 * node as u64;
            down(&[node], from, from + 350_000)
        });
        assert!(!excused(&rolling.concat(), &[]));
    }

    #[test]
    fn a_majority_for_long_enough_excuses() {
        let two = || down(&[0, 1], 7_000_000, 11_000_000);
        let and = |more: Vec<Outage>| [two(), more].concat();
        assert!(excused(&and(down(&[2], 8_000_000, 8_450_000)), &[]));
        assert!(!excused(&and(down(&[2], 8_000_000, 8_100_000)), &[]), "too short");
        assert!(!excused(&and(down(&[1], 8_000_000, 9_000_000)), &[]), "the same nodes");
        assert!(!excused(&down(&[0, 1, 2], 1_000_000, 7_000_000), &[]), "too long ago");
    }

    #[test]
    fn a_client_that_stays_at_a_node_is_owed_answers_of_nodes_that_are_well() {
        let (asked, start, end) = (0, 1, 10_000_000);
        let claim =
            Claim { worker: 0, token: 1, asked, start, end, acted: end, ending: Ending::Lost };
        let faults = down(&[2], 8_500_000, 11_000_000);
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
