//! A campaign: injects the faults of a seed into a cluster while workers take the lock in turn, and judges the logs.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use quorate_client::Moment;

use crate::checker::{PropertyVerdict, judge};
use crate::clients::{ANSWER_TIMEOUT, ClientKind, ClientKinds};
use crate::faults::{Fault, Remedy};
use crate::fleet::{Fleet, FleetConfig};
use crate::history::{ClaimEnding, RunHistory};
use crate::hosts::Hosts;
use crate::log::Tail;
use crate::losses::{self, FaultEffects, HolderLoss};
use crate::outages::{Outage, OutageCause, late_recoveries, without_majority};
use crate::rng::Rng;
use crate::wait::{self, pause, wait_until};

/// Parameters of a run.
#[derive(Clone, Debug)]
pub(crate) struct TorturePlan {
    pub(crate) nodes: usize,
    pub(crate) workers: usize,
    /// Kinds of clients that take part.
    pub(crate) kinds: ClientKinds,
    pub(crate) length: RunLength,
    pub(crate) seed: u64,
    /// Only faults with this text in their names are injected.
    pub(crate) only: String,
    /// An earlier build of this program, which nodes run until they are upgraded.
    pub(crate) from: Option<PathBuf>,
}

/// Length of the fault injection, as a duration or as a number of faults.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RunLength {
    Seconds(u64),
    /// A number of faults, which does not depend on the speed of the machine.
    Faults(usize),
}

impl RunLength {
    /// Whether another fault is to be injected.
    fn is_left(self, faults: usize, begun: u64) -> bool {
        let ran = Duration::from_micros(Moment::now().0.saturating_sub(begun));
        match self {
            Self::Seconds(seconds) => ran < Duration::from_secs(seconds),
            Self::Faults(wanted) => faults < wanted && ran < FAULT_MOST * wanted as u32,
        }
    }

    /// The share of the run that is over.
    fn share(self, faults: usize, begun: u64) -> f64 {
        match self {
            Self::Seconds(seconds) => seconds_since(begun) / seconds as f64,
            Self::Faults(wanted) => faults as f64 / wanted as f64,
        }
    }
}

impl fmt::Display for RunLength {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Seconds(seconds) => write!(f, "{seconds} s of faults"),
            Self::Faults(faults) => write!(f, "{faults} faults"),
        }
    }
}

/// Result of a run.
#[derive(Debug)]
pub(crate) struct TortureOutcome {
    pub(crate) verdicts: Vec<PropertyVerdict>,
    pub(crate) history: RunHistory,
    /// Number of injected faults by kind.
    pub(crate) faults: BTreeMap<Fault, usize>,
    /// Time from the end of each fault to the next grant, in microseconds.
    pub(crate) recoveries: Vec<u64>,
    /// Time from the end of the last fault until every worker had held the lock.
    pub(crate) all_served_after: Option<u64>,
    /// Exits of processes that were not caused by a fault.
    pub(crate) exits: Vec<String>,
    /// Losses of the long holders, permitted or not.
    pub(crate) losses: Vec<HolderLoss>,
    /// Periods in which nodes did not work because of faults.
    pub(crate) outages: Vec<Outage>,
}

impl TortureOutcome {
    /// Whether the run found no violations and no unexpected exits.
    pub(crate) fn is_sound(&self) -> bool {
        self.exits.is_empty() && self.verdicts.iter().all(|verdict| verdict.broken.is_empty())
    }
}

/// Maximum time-to-live of a session. Leases of etcd's API need more than two seconds.
const TTL_MOST_MS: u64 = 3_000;

/// Maximum time for which another node waits before it lets in one that has lost its folder: docs/membership.md, rule 10.
const RENEWAL: Duration = Duration::from_secs(8);

/// Maximum time from the end of a fault until its nodes are ready. A link that is being dialled may wait for its handshake
/// to time out, and then for the longest pause between two attempts. A node that has forgotten its votes abstains for the
/// maximum ttl, counted from its start. One that has lost its folder waits for two more configurations, each of which is settled after
/// about a ttl.
fn recovery_limit(cause: OutageCause) -> Duration {
    let limits = quorate_net::Limits::default();
    let ttl_most = Duration::from_millis(TTL_MOST_MS);
    let connected = limits.handshake + limits.redial_max;
    match cause {
        OutageCause::Lost => connected + RENEWAL + 2 * ttl_most,
        _ => connected + ttl_most,
    }
}

/// Timeout of each check after the last fault.
const CHECK_TIMEOUT: Duration = Duration::from_secs(30);

/// Maximum age of a long holder's last log line. It logs that it holds its lock ten times per second, so an older line
/// shows that it does nothing.
const HELD_AGE_US: u64 = 1_000_000;

/// Upper bound on the duration of a fault, including the time until the next one.
const FAULT_MOST: Duration = Duration::from_secs(60);

/// Results of the faults of a run that are not in the logs.
#[derive(Debug, Default)]
struct FaultRounds {
    faults: BTreeMap<Fault, usize>,
    /// Times at which faults were undone.
    healings: Vec<u64>,
    /// Nodes that did not exit properly after SIGTERM.
    bad_exits: Vec<String>,
    exits: Vec<String>,
}

/// State of the cluster after the last fault.
#[derive(Debug, Default)]
struct FinalState {
    healed: u64,
    /// Time until every worker had held the lock.
    all_served_after: Option<u64>,
    /// Nodes that do not vote or are not connected to all others.
    absent: Vec<usize>,
    /// Kinds whose long holder does not hold its lock.
    without_lock: Vec<ClientKind>,
}

/// Runs a campaign. All files are left in the folder.
pub(crate) fn run(
    plan: &TorturePlan,
    hosts: Hosts,
    folder: &Path,
    mut progress: impl FnMut(&str),
) -> io::Result<TortureOutcome> {
    let TorturePlan { nodes, workers, ref kinds, .. } = *plan;
    // Short leases, so that a minute contains many rounds.
    let (holders, ttl_most_ms, answer_ms) = (true, TTL_MOST_MS, ANSWER_TIMEOUT.as_millis() as u64);
    let (kinds, absent, from) = (kinds.clone(), None, plan.from.clone());
    let config =
        FleetConfig { kinds, nodes, workers, holders, ttl_most_ms, answer_ms, absent, from };
    let mut fleet = Fleet::start(hosts, folder, &config)?;
    let begun = Moment::now().0;
    if !await_turns(&fleet, workers, begun)? || !await_holders(&fleet)?.is_empty() {
        let exits = fleet.exits().join("; ");
        return Err(io::Error::other(format!("the cluster does not grant locks: {exits}")));
    }
    progress(&format!("{nodes} nodes and {workers} workers are at work"));
    let mut rounds = FaultRounds::default();
    rounds.run(plan, &mut fleet, &mut progress)?;
    let last = final_state(&fleet, workers)?;
    rounds.report_exits(&mut fleet, &mut progress);
    // A claim of a worker that continues would appear to last until its deadline.
    fleet.kill_clients();
    rounds.exits = fleet.exits();
    let outcome = outcome(plan, &fleet, rounds, &last)?;
    if outcome.is_sound() {
        fleet.discard_data();
    }
    Ok(outcome)
}

impl FaultRounds {
    /// Injects one fault after the other until the plan is fulfilled.
    fn run(
        &mut self,
        plan: &TorturePlan,
        fleet: &mut Fleet,
        progress: &mut impl FnMut(&str),
    ) -> io::Result<()> {
        let possible = Fault::possible(fleet, &plan.only);
        let upgrades = plan.from.is_some() && Fault::Upgrade.to_string().contains(&plan.only);
        if possible.is_empty() && !upgrades {
            return Err(io::Error::other(format!(
                "no fault that is possible here has `{}` in its name",
                plan.only
            )));
        }
        let (mut rng, mut round, begun) = (Rng::new(plan.seed), Vec::new(), Moment::now().0);
        while plan.length.is_left(self.chosen(), begun) {
            wait::check()?;
            // At first all nodes run the earlier build, and at last all run the present one.
            let share = plan.length.share(self.chosen(), begun);
            let due =
                possible.is_empty() || self.upgrades() < (share * (plan.nodes + 1) as f64) as usize;
            if due && fleet.next_upgrade().is_some() {
                self.upgrade(fleet, &mut rng, begun, progress)?;
                continue;
            }
            if possible.is_empty() {
                break;
            }
            if round.is_empty() {
                // Each kind once before any is repeated, so that a short run contains most of them.
                round = possible.clone();
            }
            let fault = round.swap_remove(rng.index(round.len()));
            if fault.comes_alone() && !wait_until_healthy(fleet)? {
                continue;
            }
            let mut remedies = self.inject(fault, fleet, &mut rng, progress)?;
            pause(rng.in_range(100..1_200));
            // One fault in four overlaps with a second one.
            let second = possible[rng.index(possible.len())];
            let both = rng.index(4) == 0 && ![fault, second].iter().any(|it| it.comes_alone());
            if both {
                remedies.extend(self.inject(second, fleet, &mut rng, progress)?);
            }
            pause(rng.in_range(100..2_000));
            heal(fleet, &remedies)?;
            self.healings.push(Moment::now().0);
            let and = if both { format!(", and {second}") } else { String::new() };
            progress(&format!("{:>6.1} s  {fault}{and}", seconds_since(begun)));
            pause(rng.in_range(100..1_500));
        }
        while fleet.next_upgrade().is_some() {
            self.upgrade(fleet, &mut rng, begun, progress)?;
        }
        Ok(())
    }

    /// Number of upgrades so far.
    fn upgrades(&self) -> usize {
        self.faults.get(&Fault::Upgrade).copied().unwrap_or(0)
    }

    /// Number of faults so far that the seed has chosen.
    fn chosen(&self) -> usize {
        self.faults.values().sum::<usize>() - self.upgrades()
    }

    /// Upgrades the next node.
    fn upgrade(
        &mut self,
        fleet: &mut Fleet,
        rng: &mut Rng,
        begun: u64,
        progress: &mut impl FnMut(&str),
    ) -> io::Result<()> {
        self.inject(Fault::Upgrade, fleet, rng, progress)?;
        self.healings.push(Moment::now().0);
        progress(&format!("{:>6.1} s  {}", seconds_since(begun), Fault::Upgrade));
        pause(rng.in_range(500..1_500));
        Ok(())
    }

    /// Injects a fault. Returns the remedies that undo it.
    fn inject(
        &mut self,
        fault: Fault,
        fleet: &mut Fleet,
        rng: &mut Rng,
        progress: &mut impl FnMut(&str),
    ) -> io::Result<Vec<Remedy>> {
        let injection = fault.inject(fleet, rng)?;
        *self.faults.entry(fault).or_insert(0) += 1;
        self.bad_exits.extend(injection.broken);
        self.report_exits(fleet, progress);
        Ok(injection.remedies)
    }

    /// Reports processes that have exited unexpectedly since the last call.
    fn report_exits(&mut self, fleet: &mut Fleet, progress: &mut impl FnMut(&str)) {
        let known = std::mem::replace(&mut self.exits, fleet.exits());
        self.exits.iter().filter(|exit| !known.contains(exit)).for_each(|exit| progress(exit));
    }
}

/// Waits until everything works after the last fault. Each check has its own deadline.
fn final_state(fleet: &Fleet, workers: usize) -> io::Result<FinalState> {
    let healed = Moment::now().0;
    let all_served_after = await_turns(fleet, workers, healed)?.then(|| Moment::now().0 - healed);
    let mut absent = Vec::new();
    wait_until(CHECK_TIMEOUT, || {
        absent = fleet.absent();
        Ok(absent.is_empty())
    })?;
    Ok(FinalState { healed, all_served_after, absent, without_lock: await_holders(fleet)? })
}

/// Judges the files of the run.
fn outcome(
    plan: &TorturePlan,
    fleet: &Fleet,
    rounds: FaultRounds,
    last: &FinalState,
) -> io::Result<TortureOutcome> {
    let (history, end_of_logs) = (RunHistory::read(fleet)?, Moment::now().0);
    let outages = fleet.outages.judged(&history.ready);
    let losses = losses(&history, &outages, plan.nodes);
    let unexcused = losses.iter().filter(|loss| loss.excuse.is_none());
    let mut verdicts = judge(&history, plan.workers, last.healed);
    let mut add = |property, broken| verdicts.push(PropertyVerdict { property, broken });
    add(
        "every node votes and hears all others after the last healing",
        last.absent.iter().map(|node| format!("node {node} does not")).collect(),
    );
    add(
        "every long holder has its lock after the last healing",
        last.without_lock.iter().map(|kind| format!("the {kind} holder does not")).collect(),
    );
    add("a node that gets SIGTERM ends in time and with success", rounds.bad_exits);
    add(
        "every node is ready again in time after a fault",
        late_recoveries(&outages, plan.nodes, recovery_limit, end_of_logs),
    );
    add(
        "no long holder loses its lock while a majority of nodes is well",
        unexcused.map(HolderLoss::describe).collect(),
    );
    let recoveries = rounds.healings.iter().filter_map(|healing| recovery(&history, *healing));
    let (recoveries, all_served_after) = (recoveries.collect(), last.all_served_after);
    let (faults, exits) = (rounds.faults, rounds.exits);
    Ok(TortureOutcome {
        verdicts,
        history,
        faults,
        recoveries,
        all_served_after,
        exits,
        losses,
        outages,
    })
}

/// Losses of all long holders.
fn losses(history: &RunHistory, outages: &[Outage], nodes: usize) -> Vec<HolderLoss> {
    let mut losses = Vec::new();
    let late = |outage: &Outage| outage.with_late_news(TTL_MOST_MS * 1_000);
    let without_majority = without_majority(&outages.iter().map(late).collect::<Vec<_>>(), nodes);
    let effects = FaultEffects { outages, without_majority: &without_majority };
    for (kind, claims) in &history.long {
        let stalls = history.stalls.get(kind).map_or(&[][..], Vec::as_slice);
        let lost = claims.iter().filter(|claim| claim.ending == ClaimEnding::Lost);
        let keep_alives = history.keep_alives.get(kind).map_or(&[][..], Vec::as_slice);
        let judge = |claim| losses::judge(*kind, claim, effects, stalls, keep_alives);
        losses.extend(lost.map(judge));
    }
    losses
}

/// Waits a few seconds until all nodes vote and are connected; returns whether they are.
fn wait_until_healthy(fleet: &Fleet) -> io::Result<bool> {
    wait_until(Duration::from_secs(4), || Ok(fleet.absent().is_empty()))
}

fn seconds_since(begun: u64) -> f64 {
    Moment::now().0.saturating_sub(begun) as f64 / 1e6
}

fn heal(fleet: &mut Fleet, remedies: &[Remedy]) -> io::Result<()> {
    remedies.iter().try_for_each(|remedy| remedy.apply(fleet))?;
    // A link has two ends, so that a cut is undone only when all its hosts are healed.
    (0..fleet.node_count()).for_each(|node| fleet.end(node, OutageCause::CutOff));
    Ok(())
}

/// Time from this moment to the next grant.
fn recovery(history: &RunHistory, moment: u64) -> Option<u64> {
    let next = history.claims.iter().map(|claim| claim.start).find(|start| *start >= moment);
    next.map(|start| start - moment)
}

/// Waits until every long holder has its lock. Returns the kinds that do not get it in time.
fn await_holders(fleet: &Fleet) -> io::Result<Vec<ClientKind>> {
    let holders = fleet.kinds.iter().take(fleet.holder_count()).enumerate();
    let mut holders: Vec<_> = holders
        .map(|(holder, kind)| (kind, Tail::new(fleet.holder_log(holder)), LastHeld::default()))
        .collect();
    let mut without = Vec::new();
    wait_until(CHECK_TIMEOUT, || {
        without.clear();
        for (kind, log, last) in &mut holders {
            last.read(&log.lines()?);
            if !last.is_now(Moment::now().0) {
                without.push(*kind);
            }
        }
        Ok(without.is_empty())
    })?;
    Ok(without)
}

/// When a long holder last logged that it holds its lock; `None` if it does not hold it.
#[derive(Debug, Default)]
struct LastHeld(Option<u64>);

impl LastHeld {
    fn read(&mut self, lines: &[Vec<String>]) {
        for words in lines {
            match words[0].as_str() {
                "granted" | "held" => self.0 = words.get(1).and_then(|time| time.parse().ok()),
                "session" | "want" | "lost" | "overdue" => self.0 = None,
                _ => {}
            }
        }
    }

    fn is_now(&self, now: u64) -> bool {
        self.0.is_some_and(|time| time + HELD_AGE_US > now)
    }
}

/// Waits until every worker has held the lock since `since`; false on timeout. No worker is started meanwhile.
fn await_turns(fleet: &Fleet, workers: usize, since: u64) -> io::Result<bool> {
    let logs = (0..workers).filter_map(|worker| fleet.logs(worker).pop());
    let mut waiting: Vec<Tail> = logs.map(Tail::new).collect();
    wait_until(CHECK_TIMEOUT, || {
        let mut still = Vec::new();
        for mut log in waiting.drain(..) {
            if !log.lines()?.iter().any(|words| is_granted(words, since)) {
                still.push(log);
            }
        }
        waiting = still;
        Ok(waiting.is_empty())
    })
}

/// Whether a worker was granted the lock after `since`, and before the deadline of the grant.
fn is_granted(words: &[String], since: u64) -> bool {
    let number = |index: usize| words.get(index).and_then(|word| word.parse::<u64>().ok());
    words[0] == "granted" && number(1) > Some(since) && number(1) < number(3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_holder_has_its_lock_only_if_it_said_so_just_now() {
        let lines = |text: &str| -> Vec<Vec<String>> {
            text.lines().map(|line| line.split(' ').map(str::to_owned).collect()).collect()
        };
        let held = lines("session 1 0 relayed\ngranted 10 1 90 90 0\nheld 20 95 95 1\nasked 21 0");
        let holds = |lines: &[Vec<String>], now: u64| {
            let mut last = LastHeld::default();
            last.read(lines);
            last.is_now(now)
        };
        assert!(holds(&held, 30));
        assert!(!holds(&held, 20 + HELD_AGE_US), "it has said nothing for a second");
        let lost = lines("granted 10 1 90 90 0\nheld 20 95 95 1\nlost 25 95 95 x\nstalled 5 26");
        assert!(!holds(&lost, 30));
    }

    #[test]
    fn a_run_has_a_length_in_time_or_in_faults() {
        let now = Moment::now().0;
        assert!(RunLength::Seconds(60).is_left(1_000, now));
        assert!(!RunLength::Seconds(1).is_left(0, now - 1_000_000));
        assert!(RunLength::Faults(3).is_left(2, now - 30_000_000));
        assert!(!RunLength::Faults(3).is_left(3, now));
        assert!(!RunLength::Faults(3).is_left(2, now - 180_000_000), "it cannot go on for ever");
    }
}
