//! Report of a run, for people and for programs.

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::campaign::{TortureOutcome, TorturePlan};
use crate::clients::ClientKind;
use crate::history::ClaimEnding;
use crate::losses::HolderLoss;
use crate::outages::Outage;

/// Maximum number of violations printed per property.
const SHOWN: usize = 5;

/// Formats the report as text.
pub(crate) fn text(plan: &TorturePlan, outcome: &TortureOutcome) -> String {
    let mut text = format!(
        "seed {}: {} nodes, {} workers, {}\n\nfaults\n",
        plan.seed, plan.nodes, plan.workers, plan.length
    );
    for (fault, times) in &outcome.faults {
        let _ = writeln!(text, "  {fault:<34} {times:>7}");
    }
    text += "\nfigures\n";
    for (name, value) in figures(outcome) {
        let _ = writeln!(text, "  {name:<55} {value:>10}");
    }
    text += "\nclients            workers' grants     lost   killed   long holds   permitted losses   violations\n";
    for client in clients(outcome) {
        let ClientFigures { kind, grants, lost, killed, long, permitted, violations, .. } = client;
        let _ = writeln!(
            text,
            "  {kind:<16} {grants:>15} {lost:>8} {killed:>8} {long:>12} {permitted:>18} {violations:>12}"
        );
    }
    for loss in &outcome.losses {
        let _ = writeln!(text, "  {}", loss.describe());
    }
    text += "\nproperties\n";
    for verdict in &outcome.verdicts {
        let word = if verdict.broken.is_empty() { "holds" } else { "BROKEN" };
        let _ = writeln!(text, "  {word:<7} {}", verdict.property);
        for broken in verdict.broken.iter().take(SHOWN) {
            let _ = writeln!(text, "          {broken}");
        }
        if verdict.broken.len() > SHOWN {
            let _ = writeln!(text, "          and {} more", verdict.broken.len() - SHOWN);
        }
    }
    for exit in &outcome.exits {
        let _ = writeln!(text, "  BROKEN  {exit}");
    }
    text
}

/// Formats the report as JSON.
pub(crate) fn json(plan: &TorturePlan, outcome: &TortureOutcome) -> String {
    let faults: serde_json::Map<String, Value> =
        outcome.faults.iter().map(|(fault, times)| (fault.to_string(), json!(times))).collect();
    let figures: serde_json::Map<String, Value> =
        figures(outcome).into_iter().map(|(name, value)| (name.to_owned(), json!(value))).collect();
    let properties: Vec<Value> = outcome
        .verdicts
        .iter()
        .map(|verdict| json!({ "property": verdict.property, "broken": verdict.broken }))
        .collect();
    let all = json!({
        "seed": plan.seed, "nodes": plan.nodes, "workers": plan.workers,
        "length": plan.length.to_string(),
        "faults": faults, "figures": figures, "properties": properties, "died": outcome.exits,
        "clients": clients(outcome).iter().map(ClientFigures::json).collect::<Vec<_>>(),
        "losses": outcome.losses.iter().map(loss_json).collect::<Vec<_>>(),
        "outages": outcome.outages.iter().map(outage_json).collect::<Vec<_>>(),
        "sound": outcome.is_sound(),
    });
    format!("{all:#}\n")
}

/// Figures of one kind of client.
struct ClientFigures {
    kind: ClientKind,
    /// Grants that workers relied on.
    grants: usize,
    /// Number of these that were lost, and that ended because the worker was killed.
    lost: usize,
    killed: usize,
    sessions: usize,
    /// Sessions whose client collects the votes itself.
    direct: usize,
    /// Number of times that the long holder acquired its lock.
    long: usize,
    held_ms: u64,
    permitted: usize,
    violations: usize,
}

fn clients(outcome: &TortureOutcome) -> Vec<ClientFigures> {
    let history = &outcome.history;
    let client = |kind: ClientKind| {
        let ended = |ending| history.of_kind(kind).filter(|claim| claim.ending == ending).count();
        let sessions = |route: Option<&str>| {
            let of = history
                .sessions
                .iter()
                .filter(|((of, by), _)| *of == kind && route.is_none_or(|route| route == by));
            of.map(|(_, count)| *count).sum()
        };
        let long = history.long.get(&kind).map_or(&[][..], Vec::as_slice);
        let losses = || outcome.losses.iter().filter(|loss| loss.kind == kind);
        let permitted = losses().filter(|loss| loss.excuse.is_some()).count();
        ClientFigures {
            kind,
            grants: history.of_kind(kind).count(),
            lost: ended(ClaimEnding::Lost),
            killed: ended(ClaimEnding::Killed),
            sessions: sessions(None),
            direct: sessions(Some("direct")),
            long: long.len(),
            held_ms: long.iter().map(|claim| (claim.end - claim.start) / 1_000).sum(),
            permitted,
            violations: losses().count() - permitted,
        }
    };
    history.kinds.iter().map(client).collect()
}

impl ClientFigures {
    fn json(&self) -> Value {
        json!({
            "kind": self.kind.to_string(), "grants": self.grants, "lost": self.lost, "killed": self.killed,
            "sessions": self.sessions, "direct sessions": self.direct, "long holds": self.long,
            "held long for ms": self.held_ms, "permitted losses": self.permitted, "violations": self.violations,
        })
    }
}

fn loss_json(loss: &HolderLoss) -> Value {
    json!({
        "kind": loss.kind.to_string(), "token": loss.token, "at": loss.at, "excuse": loss.excuse,
        "faults": loss.faults,
    })
}

fn outage_json(outage: &Outage) -> Value {
    json!({
        "node": outage.node, "cause": outage.cause.to_string(), "fault": outage.fault,
        "from": outage.from, "undone": outage.undone, "well": outage.well,
    })
}

fn figures(outcome: &TortureOutcome) -> Vec<(&'static str, u64)> {
    let history = &outcome.history;
    let mut recoveries = outcome.recoveries.clone();
    recoveries.sort_unstable();
    let median = recoveries.get(recoveries.len() / 2).copied().unwrap_or(0);
    vec![
        ("grants that a worker relied on", history.claims.len() as u64),
        ("grants to relayed sessions by the nodes' records", history.grants.len() as u64),
        ("hand-offs to another worker", history.hand_offs() as u64),
        ("losses that the holder noticed", history.count_ended(ClaimEnding::Lost) as u64),
        ("holders that were killed", history.count_ended(ClaimEnding::Killed) as u64),
        ("grants heard of too late to rely on", history.late.len() as u64),
        (
            "overlaps by answers of etcd's API that came late",
            history.overlaps_beyond_promises(&[ClientKind::Etcd, ClientKind::Etcdctl]) as u64,
        ),
        (
            "overlaps by Go's sessions that ended late",
            history.overlaps_beyond_promises(&[ClientKind::Go]) as u64,
        ),
        ("increments of the guarded register", history.writes.len() as u64),
        ("requests that the register refused as stale", history.refused as u64),
        ("increments of the plain counter", history.plain.len() as u64),
        ("of these lost, since it is shown no tokens", history.plain_lost() as u64),
        ("median time after a healing until a grant, ms", median / 1_000),
        (
            "longest time after a healing until a grant, ms",
            recoveries.last().copied().unwrap_or(0) / 1_000,
        ),
        (
            "until everybody had had a turn after the last, ms",
            outcome.all_served_after.unwrap_or(0) / 1_000,
        ),
    ]
}
