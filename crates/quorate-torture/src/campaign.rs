//! A run: faults of a seed against a cluster while workers take turns, and then the verdict.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::time::Duration;

use quorate_client::Moment;

use crate::checker::{Verdict, judge};
use crate::clients::{ANSWER, Kinds};
use crate::faults::{Fault, Remedy, pause};
use crate::fleet::{Fleet, Shape};
use crate::history::{Ending, History};
use crate::hosts::Hosts;
use crate::losses::{self, Loss, Weather};
use crate::lots::Lots;
use crate::outages::{Outage, Trouble, late_recoveries, without_majority};

/// What is to be run.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) nodes: usize,
    pub(crate) workers: usize,
    /// Kinds of clients.
    pub(crate) kinds: Kinds,
    pub(crate) seconds: u64,
    pub(crate) seed: u64,
    /// Only faults with this in their names.
    pub(crate) only: String,
}

/// What came of it.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) verdicts: Vec<Verdict>,
    pub(crate) history: History,
    /// How often each kind of fault was done.
    pub(crate) faults: BTreeMap<Fault, usize>,
    /// How long after each healing nobody had been given the lock, in microseconds.
    pub(crate) recoveries: Vec<u64>,
    /// How long it took after the last healing until everybody had had the lock.
    pub(crate) everybody: Option<u64>,
    /// Exits of processes that no fault has caused.
    pub(crate) died: Vec<String>,
    /// Losses of the long holders, permitted and not.
    pub(crate) losses: Vec<Loss>,
    /// Times in which nodes did not work because of faults.
    pub(crate) outages: Vec<Outage>,
}

/// Greatest time-to-live of a session. Leases of etcd's API need more than two seconds.
const TTL_MOST_MS: u64 = 3_000;

/// Longest time from the end of a fault until its nodes are ready. A link that was being dialled may wait for its handshake to
/// time out, and then for the longest pause between two attempts. A node that has forgotten its votes abstains for the
/// greatest ttl, which counts from its start.
fn recovery_limit() -> Duration {
    let limits = quorate_net::Limits::default();
    limits.handshake + limits.redial_most + Duration::from_millis(TTL_MOST_MS)
}

/// How long everybody has to get the lock once all is well.
const PATIENCE_US: u64 = 30_000_000;

/// Runs it in a folder that is left as it is.
pub(crate) fn run(
    plan: &Plan,
    hosts: Hosts,
    folder: &Path,
    mut tell: impl FnMut(&str),
) -> io::Result<Outcome> {
    let Plan { nodes, workers, seconds, seed, ref kinds, ref only } = *plan;
    // Short leases, so that a minute has many rounds.
    let (holders, ttl_most_ms, answer_ms) = (true, TTL_MOST_MS, ANSWER.as_millis() as u64);
    let (kinds, absent) = (kinds.clone(), None);
    let shape = Shape { kinds, nodes, workers, holders, ttl_most_ms, answer_ms, absent };
    let mut fleet = Fleet::start(hosts, folder, &shape)?;
    let begun = Moment::now().0;
    if !await_turns(&fleet, workers, begun)? || !await_holders(&fleet)? {
        let died = fleet.died().join("; ");
        return Err(io::Error::other(format!("the cluster does not give locks: {died}")));
    }
    tell(&format!("{nodes} nodes and {workers} workers are at work"));
    let (mut lots, mut faults, mut healings) = (Lots::new(seed), BTreeMap::new(), Vec::new());
    let (mut bad_exits, mut died) = (Vec::new(), Vec::new());
    let possible = Fault::possible(&fleet, only);
    if possible.is_empty() {
        return Err(io::Error::other(format!(
            "no fault that can be done here has `{only}` in its name"
        )));
    }
    let end = Moment::now().0 + seconds * 1_000_000;
    let mut round = Vec::new();
    while Moment::now().0 < end {
        if round.is_empty() {
            // Each kind once before any comes again, so that a short run has most of them.
            round = possible.clone();
        }
        let fault = round.swap_remove(lots.index(round.len()));
        // Where a majority has forgotten nobody votes again, and so it is meant to be: one after the other.
        if fault == Fault::Forget && !becomes_well(&fleet) {
            continue;
        }
        let mut strike = fault.strike(&mut fleet, &mut lots)?;
        *faults.entry(fault).or_insert(0) += 1;
        pause(lots.among(100..1_200));
        // Sometimes another one comes on top.
        let second = possible[lots.index(possible.len())];
        let both = lots.index(4) == 0 && ![fault, second].contains(&Fault::Forget);
        let and = both.then_some(second);
        if let Some(second) = and {
            let more = second.strike(&mut fleet, &mut lots)?;
            strike.remedies.extend(more.remedies);
            strike.broken.extend(more.broken);
            *faults.entry(second).or_insert(0) += 1;
        }
        pause(lots.among(100..2_000));
        tell_deaths(&mut fleet, &mut died, &mut tell);
        heal(&mut fleet, &strike.remedies)?;
        healings.push(Moment::now().0);
        bad_exits.extend(strike.broken);
        let seconds = (Moment::now().0 - begun) as f64 / 1e6;
        tell(&format!(
            "{seconds:>6.1} s  {fault}{}",
            and.map_or(String::new(), |and| format!(", and {and}"))
        ));
        pause(lots.among(100..1_500));
    }
    let healed = Moment::now().0;
    let everybody = await_turns(&fleet, workers, healed)?.then(|| Moment::now().0 - healed);
    let mut absent = Vec::new();
    while Moment::now().0 < healed + PATIENCE_US {
        absent = fleet.unwell();
        if absent.is_empty() {
            break;
        }
        pause(100);
    }
    let again = await_holders(&fleet)?;
    tell_deaths(&mut fleet, &mut died, &mut tell);
    // A claim of a worker that goes on would look as if it lasted until its deadline.
    fleet.kill_clients();
    died = fleet.died();
    let (history, end_of_logs) = (History::read(&fleet)?, Moment::now().0);
    let mut verdicts = judge(&history, workers, healed);
    verdicts.push(Verdict {
        property: "every node votes and hears all others after the last healing",
        broken: absent.iter().map(|node| format!("node {node} does not")).collect(),
    });
    verdicts.push(Verdict {
        property: "every long holder has its lock after the last healing",
        broken: if again { Vec::new() } else { vec!["one of them does not".to_owned()] },
    });
    verdicts.push(Verdict {
        property: "a node that gets SIGTERM ends in time and with success",
        broken: bad_exits,
    });
    let outages = fleet.outages.judged(&history.ready);
    verdicts.push(Verdict {
        property: "every node is ready again in time after a fault",
        broken: late_recoveries(&outages, nodes, recovery_limit(), end_of_logs),
    });
    let losses = losses(&history, &outages, nodes);
    let unexcused = losses.iter().filter(|loss| loss.excuse.is_none());
    verdicts.push(Verdict {
        property: "no long holder loses its lock while a majority of nodes is well",
        broken: unexcused.map(Loss::describe).collect(),
    });
    let recoveries = healings.iter().filter_map(|healing| recovery(&history, *healing)).collect();
    Ok(Outcome { verdicts, history, faults, recoveries, everybody, died, losses, outages })
}

/// Tells of processes that have ended by themselves since the last look.
fn tell_deaths(fleet: &mut Fleet, died: &mut Vec<String>, mut tell: impl FnMut(&str)) {
    let known = std::mem::replace(died, fleet.died());
    died.iter().filter(|death| !known.contains(death)).for_each(|death| tell(death));
}

/// Losses of all long holders.
fn losses(history: &History, outages: &[Outage], nodes: usize) -> Vec<Loss> {
    let mut losses = Vec::new();
    let without_majority = without_majority(outages, nodes);
    let weather = Weather { outages, without_majority: &without_majority };
    for (kind, claims) in &history.long {
        let stalls = history.stalls.get(kind).map_or(&[][..], Vec::as_slice);
        let lost = claims.iter().filter(|claim| claim.ending == Ending::Lost);
        let beats = history.beats.get(kind).map_or(&[][..], Vec::as_slice);
        let judge = |claim| losses::judge(*kind, claim, weather, stalls, beats);
        losses.extend(lost.map(judge));
    }
    losses
}

/// Waits a while until all nodes vote.
fn becomes_well(fleet: &Fleet) -> bool {
    (0..40).any(|_| {
        let well = fleet.unwell().is_empty();
        if !well {
            pause(100);
        }
        well
    })
}

fn heal(fleet: &mut Fleet, remedies: &[Remedy]) -> io::Result<()> {
    remedies.iter().try_for_each(|remedy| remedy.apply(fleet))?;
    // A link has two ends, so that a cut is undone only when all of its hosts are healed.
    (0..fleet.node_count()).for_each(|node| fleet.end(node, Trouble::CutOff));
    Ok(())
}

/// How long after this moment the next worker got the lock.
fn recovery(history: &History, moment: u64) -> Option<u64> {
    let next = history.claims.iter().map(|claim| claim.start).find(|start| *start >= moment);
    next.map(|start| start - moment)
}

/// Waits until every long holder has its lock; false if that takes too long.
fn await_holders(fleet: &Fleet) -> io::Result<bool> {
    for _ in 0..PATIENCE_US / 100_000 {
        let mut all = true;
        for holder in 0..fleet.holder_count() {
            all &= holds(&crate::log::lines(&fleet.holder_log(holder))?);
        }
        if all {
            return Ok(true);
        }
        pause(100);
    }
    Ok(false)
}

/// Whether a long holder has its lock, by its log.
fn holds(lines: &[Vec<String>]) -> bool {
    let mut words = lines.iter().rev().map(|words| words[0].as_str());
    let last = words.find(|word| !["asked", "told"].contains(word));
    last.is_some_and(|last| ["granted", "held", "node", "stalled"].contains(&last))
}

/// Waits until every worker has had the lock since then; false if that takes too long.
fn await_turns(fleet: &Fleet, workers: usize, since: u64) -> io::Result<bool> {
    let until = Moment::now().0 + PATIENCE_US;
    while Moment::now().0 < until {
        let mut history = History::default();
        for worker in 0..workers {
            if let Some(log) = fleet.logs(worker).last() {
                history.read_worker(worker, &crate::log::lines(log)?);
            }
        }
        let served = |worker: usize| {
            history.claims.iter().any(|claim| claim.worker == worker && claim.start > since)
        };
        if (0..workers).all(served) {
            return Ok(true);
        }
        pause(100);
    }
    Ok(false)
}
