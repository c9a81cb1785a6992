//! Campaigns: many random worlds of one algorithm, on all cores, and what was found in them.
//!
//! The result depends on what was asked for only: runs are gathered in the order of their seeds, however many
//! threads made them, in however many parts, and however often it was stopped in between.

mod agreement;
mod asked;
mod beyond;
mod clusters;
mod draw;
mod elections;
mod heal;
mod part;
mod report;
mod tally;
mod within;

use quorate_sim::{Conditions, Expect, RunError, Scenario};
use rayon::iter::{IntoParallelIterator, ParallelIterator};

use crate::CannotRun;
use crate::attempt::{Attempt, attempt};
use crate::part::Shard;

pub use asked::Asked;
pub use clusters::{SHRUNK_MOST, clusters, examples};
pub use draw::{World, Worlds};
pub use part::CampaignPart;
pub use report::{
    CampaignReport, Cluster, LeftTally, PropertyTally, ShrunkReport, Stopped, Violation,
};

use tally::Findings;

/// So many runs are gathered at a time: enough to keep all cores busy, few enough to forget their findings.
const GATHERED: u64 = 4_096;

/// A run that goes on for longer than this is stopped, and counted as undecided.
const EVENTS_MOST: u64 = 20_000_000;

/// The same beyond the assumptions, where nothing says that a run ends.
const EVENTS_BEYOND_MOST: u64 = 1_000_000;

fn conditions(worlds: &Worlds, memory: u64) -> Conditions {
    let events = if worlds.beyond { EVENTS_BEYOND_MOST } else { EVENTS_MOST };
    Conditions { memory, events, ..Conditions::default() }
}

/// Why a campaign could not be run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CampaignError {
    /// There are no such worlds.
    #[error("{0}")]
    Refused(String),
    /// The worlds make no sense.
    #[error("{0}")]
    Invalid(#[from] quorate_sim::Invalid),
    /// A run failed.
    #[error(transparent)]
    Lab(#[from] CannotRun),
    /// The threads could not be started.
    #[error("{threads} threads could not be started: {why}")]
    Threads {
        /// How many.
        threads: usize,
        /// Why not.
        why: String,
    },
}

/// Whether the algorithm can live in such worlds; the largest is looked at.
pub fn check(worlds: &Worlds) -> Result<(), CampaignError> {
    let largest = Scenario {
        quorums: worlds.quorums.clone(),
        watch: worlds.watch.clone(),
        ..Scenario::new(worlds.profile.name, *worlds.processes.end())
    };
    largest.validate()?;
    Ok(crate::check(&largest)?)
}

/// How a campaign is run. None of it changes what is found.
pub struct Effort<'a> {
    /// Memory that all runs together may take, in bytes.
    pub memory: u64,
    /// How many threads.
    pub threads: usize,
    /// Told of every run that is over, from any thread.
    pub each: &'a (dyn Fn() + Sync),
    /// Whether to stop now; asked before every run, from any thread.
    pub stop: &'a (dyn Fn() -> bool + Sync),
    /// Given what has been found so far, now and then.
    pub save: &'a mut dyn FnMut(&CampaignPart),
}

/// Runs what is left of a part of a campaign.
pub fn campaign(
    mut part: CampaignPart,
    shard: Shard,
    effort: Effort<'_>,
) -> Result<CampaignPart, CampaignError> {
    let worlds = part.asked.worlds()?;
    let Effort { memory, threads, each, stop, save } = effort;
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()
        .map_err(|error| CampaignError::Threads { threads, why: error.to_string() })?;
    let conditions = conditions(&worlds, memory / threads.max(1) as u64);
    let seeds = part.asked.seeds(shard);
    let mut next = part.report.seed + part.report.runs;
    if !part.is_done(shard) {
        part.report.stopped = None;
    }
    while next < seeds.end && part.report.stopped.is_none() {
        let block = next..seeds.end.min(next.saturating_add(GATHERED));
        let found: Vec<Option<Result<Findings, CannotRun>>> = pool.install(|| {
            let one = |seed| {
                let findings = (!stop()).then(|| {
                    let world = worlds.world(seed);
                    match Findings::of(&world, conditions) {
                        // Nothing says that messages stay few beyond the assumptions.
                        Err(CannotRun::Run(RunError::TooManyMessages { .. })) if worlds.beyond => {
                            Ok(Findings::undecided(&world))
                        }
                        found => found,
                    }
                });
                each();
                findings
            };
            block.into_par_iter().map(one).collect()
        });
        for findings in found {
            // What comes after a gap does not count: the next part begins there.
            let Some(findings) = findings else {
                part.report.stopped = Some(Stopped::Asked);
                break;
            };
            part.report.add(findings?);
            next += 1;
            if part.asked.first && !part.report.violations.is_empty() {
                part.report.stopped = Some(Stopped::Violation);
                break;
            }
        }
        save(&part);
    }
    Ok(part)
}

/// The world of a seed, with what came of it as its expectations: a file of its own.
pub fn kept(worlds: &Worlds, seed: u64) -> Result<Scenario, CannotRun> {
    let scenario = worlds.scenario(seed);
    let expect = match attempt(&scenario, Conditions::default())? {
        Attempt::Ran(report) => Some(Expect::from_report(&report)),
        Attempt::Panicked(_) => None,
    };
    Ok(Scenario { expect, ..scenario })
}

#[cfg(test)]
mod tests;
