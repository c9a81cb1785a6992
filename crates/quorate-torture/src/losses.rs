//! Losses of the long holders, and whether faults excuse them.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::clients::{ALLOWANCE, ClientKind, ETCD_TTL};
use crate::history::{KeepAlive, LockClaim};
use crate::outages::{Outage, merged};

/// A long holder that lost its lock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HolderLoss {
    pub(crate) kind: ClientKind,
    pub(crate) token: u64,
    pub(crate) at: u64,
    /// Reason why the loss is permitted; `None` is a violation.
    pub(crate) excuse: Option<String>,
    /// Outages around the time of the loss.
    pub(crate) faults: Vec<String>,
}

/// Effects of the faults on the nodes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FaultEffects<'a> {
    pub(crate) outages: &'a [Outage],
    /// Periods in which too many nodes were affected at the same time, in order.
    pub(crate) without_majority: &'a [(u64, u64)],
}

impl FaultEffects<'_> {
    /// Number of nodes that are affected at this time.
    fn affected(&self, time: u64) -> usize {
        let affected = self.outages.iter().filter(|it| it.affects(time));
        affected.map(|it| it.node).collect::<BTreeSet<_>>().len()
    }
}

/// Judges a loss. A lease is renewed in time unless the client cannot renew it for longer than its reserve: because more
/// than a minority of nodes is affected, or because its own process does not run. So the loss is permitted if, within the
/// ttl before it, one uninterrupted period of this kind was as long as the reserve. etcdctl and Go's package do not leave a
/// silent node. For these, the loss is also permitted unless a healthy node owed them an answer (see [`is_owed`]).
pub(crate) fn judge(
    kind: ClientKind,
    claim: &LockClaim,
    effects: FaultEffects<'_>,
    stalls: &[(u64, u64)],
    keep_alives: &[KeepAlive],
) -> HolderLoss {
    let renewal = kind.renewal(crate::holder::TTL);
    let from = claim.end.saturating_sub(renewal.voter_ttl.as_micros() as u64);
    let blocked = merged([effects.without_majority, stalls].concat()).into_iter();
    let blocked = blocked.map(|(start, end)| (start.max(from), end.min(claim.end)));
    let enough = |(start, end): &(u64, u64)| {
        let after = if *end < claim.end { effects.affected(*end) } else { 0 };
        let silent = effects.affected(start.saturating_sub(1)).max(after);
        end - start >= renewal.reserve(silent).as_micros() as u64
    };
    let excuse = match blocked.filter(|(start, end)| start < end).find(enough) {
        Some((start, end)) => Some(format!(
            "too many nodes were affected, or the client did not run, for {:?}",
            Duration::from_micros(end - start)
        )),
        None if kind.is_proxied() && !is_owed(claim, from, effects, keep_alives) => {
            Some("the client asked no well node in time".to_owned())
        }
        None => None,
    };
    let near = effects.outages.iter().filter(|it| it.from < claim.end && it.well > from);
    let faults = near.map(|it| {
        format!(
            "{} (node {} {}, from {}, undone {}, well {})",
            it.fault,
            it.node,
            it.cause,
            seconds(it.from, claim.end),
            seconds(it.undone, claim.end),
            seconds(it.well, claim.end)
        )
    });
    let faults = faults.collect();
    HolderLoss { kind, token: claim.token, at: claim.end, excuse, faults }
}

/// Whether a client was owed an answer with which it would not have lost its lock: at least half a second before the end it
/// sent a keep-alive to a healthy node, it did not receive an answer with the full TTL within half a second, and neither
/// for any later keep-alive.
///
/// Only answers before the end count. The log continues after a loss, and keep-alives of the next lease are answered too.
fn is_owed(
    claim: &LockClaim,
    from: u64,
    effects: FaultEffects<'_>,
    keep_alives: &[KeepAlive],
) -> bool {
    let (allowance, ttl) = (ALLOWANCE.as_micros() as u64, ETCD_TTL.as_secs());
    let in_time = |keep_alive: &&KeepAlive| {
        keep_alive.sent >= from && keep_alive.sent + allowance <= claim.end
    };
    let kept = |keep_alive: &KeepAlive| {
        keep_alive
            .answered
            .is_some_and(|(at, ttl_told)| at <= keep_alive.sent + allowance && ttl_told >= ttl)
    };
    let disturbed = |keep_alive: &KeepAlive| {
        let until = keep_alive.sent + allowance;
        // A healthy node cannot answer without the others.
        effects.outages.iter().any(|it| it.disturbs(keep_alive.node, keep_alive.sent, allowance))
            || effects
                .without_majority
                .iter()
                .any(|(from, to)| *from < until && keep_alive.sent < *to)
    };
    let before_end = keep_alives
        .iter()
        .filter(|keep_alive| keep_alive.answered.is_some_and(|(at, _)| at < claim.end));
    let last = before_end
        .filter(|keep_alive| kept(keep_alive))
        .map(|keep_alive| keep_alive.sent)
        .max()
        .unwrap_or(0);
    keep_alives
        .iter()
        .filter(in_time)
        .any(|keep_alive| keep_alive.sent > last && !disturbed(keep_alive))
}

/// A time relative to another one, in seconds.
fn seconds(time: u64, to: u64) -> String {
    match time {
        u64::MAX => "never".to_owned(),
        _ => format!("{:+.2} s", (time as f64 - to as f64) / 1e6),
    }
}

impl HolderLoss {
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
    use crate::history::ClaimEnding;
    use crate::outages::{OutageCause, without_majority};

    /// Nodes that are down until `undone`, and well a tenth of a second later.
    fn down(nodes: &[usize], from: u64, undone: u64) -> Vec<Outage> {
        let (fault, cause, well) = (String::new(), OutageCause::Down, undone + 100_000);
        let down =
            |node: &usize| Outage { node: *node, cause, fault: fault.clone(), from, undone, well };
        nodes.iter().map(down).collect()
    }

    /// Whether a loss at 10 s is permitted, in a cluster of five nodes.
    fn is_permitted(
        kind: ClientKind,
        outages: &[Outage],
        stalls: &[(u64, u64)],
        keep_alives: &[KeepAlive],
    ) -> bool {
        let (asked, start, end) = (0, 1, 10_000_000);
        let claim = LockClaim {
            worker: 0,
            token: 1,
            greatest: 1,
            asked,
            start,
            end,
            assumed: end,
            ending: ClaimEnding::Lost,
        };
        let without_majority = without_majority(outages, 5);
        let effects = FaultEffects { outages, without_majority: &without_majority };
        judge(kind, &claim, effects, stalls, keep_alives).excuse.is_some()
    }

    fn excused(outages: &[Outage], stalls: &[(u64, u64)]) -> bool {
        is_permitted(ClientKind::Direct, outages, stalls, &[])
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
        assert!(excused(&and(down(&[2], 8_500_000, 9_000_000)), &[]));
        assert!(!excused(&and(down(&[2], 8_500_000, 8_900_000)), &[]), "too short");
        let twice = [down(&[2], 8_200_000, 8_500_000), down(&[2], 9_200_000, 9_500_000)];
        assert!(!excused(&and(twice.concat()), &[]), "there was a majority in between");
        assert!(!excused(&and(down(&[1], 8_500_000, 9_500_000)), &[]), "the same nodes");
        assert!(!excused(&down(&[0, 1, 2], 1_000_000, 8_300_000), &[]), "too long ago");
    }

    #[test]
    fn a_client_that_asks_one_node_at_a_time_needs_longer_past_silent_ones() {
        let gap = |silent: &[usize]| {
            let others: Vec<usize> = (0..3).filter(|node| !silent.contains(node)).collect();
            [down(silent, 7_000_000, 11_000_000), down(&others, 8_500_000, 9_000_000)].concat()
        };
        assert!(!is_permitted(ClientKind::Http, &gap(&[]), &[], &[]), "0.6 s are not enough");
        assert!(is_permitted(ClientKind::Http, &gap(&[0]), &[], &[]));
    }

    #[test]
    fn every_kind_has_a_reserve_of_a_quarter_of_its_ttl_at_least() {
        let reserve = |kind: ClientKind, silent: usize| {
            let renewal = kind.renewal(crate::holder::TTL);
            assert!(renewal.reserve(silent) >= renewal.voter_ttl / 4, "{kind}");
            renewal.reserve(silent).as_millis()
        };
        assert_eq!([0, 1].map(|silent| reserve(ClientKind::Direct, silent)), [566, 566]);
        assert_eq!([0, 1].map(|silent| reserve(ClientKind::Relayed, silent)), [800, 500]);
        assert_eq!([0, 1].map(|silent| reserve(ClientKind::Http, silent)), [813, 500]);
        assert_eq!([0, 1].map(|silent| reserve(ClientKind::Etcd, silent)), [813, 687]);
        assert_eq!([0, 1].map(|silent| reserve(ClientKind::Go, silent)), [687, 687]);
    }

    #[test]
    fn a_client_that_stays_at_a_node_is_owed_answers_of_nodes_that_are_well() {
        let faults = down(&[2], 8_500_000, 11_000_000);
        let excused =
            |keep_alives: &[KeepAlive]| is_permitted(ClientKind::Go, &faults, &[], keep_alives);
        let keep_alive = |node, sent, answered| KeepAlive { node, sent, answered };
        let last = keep_alive(2, 8_000_000, Some((8_000_500, 2)));
        assert!(excused(&[last, keep_alive(2, 9_000_000, None)]), "that node was stopped");
        assert!(!excused(&[last, keep_alive(1, 9_000_000, None)]), "this one was well");
        assert!(excused(&[last, keep_alive(1, 9_600_000, None)]), "too late");
        assert!(!excused(&[keep_alive(2, 7_900_000, Some((7_900_500, 1)))]), "it was told less");
        assert!(
            !excused(&[last, keep_alive(1, 9_000_000, Some((9_000_500, 0)))]),
            "it was told to stop"
        );
        let next_lease = keep_alive(1, 10_100_000, Some((10_100_500, 2)));
        assert!(
            !excused(&[last, keep_alive(1, 9_000_000, None), next_lease]),
            "answered after the loss"
        );
    }

    #[test]
    fn a_client_that_did_not_run_is_excused() {
        assert!(excused(&[], &[(8_900_000, 9_500_000)]));
        assert!(!excused(&[], &[(8_900_000, 9_300_000)]), "too short");
        assert!(!excused(&[], &[(6_000_000, 8_400_000)]), "too long ago");
        assert!(!excused(&[], &[(10_000_001, 12_000_000)]), "only after the loss");
        let gap = down(&[0, 1, 2], 8_500_000, 8_800_000);
        assert!(excused(&gap, &[(8_850_000, 9_150_000)]), "first no majority, then it did not run");
    }
}
