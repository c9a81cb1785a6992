//! Campaigns: many random worlds of one algorithm, on all cores, and what was found in them.
//!
//! The result depends on what was asked for only: runs are gathered in the order of their seeds, however many
//! threads made them, in however many parts, and however often it was stopped in between.

mod agreement;
mod break_assumptions;
mod clusters;
mod elections;
mod generator;
mod heal;
mod report;
mod request;
mod shard;
mod tally;
mod tolerated_faults;

use quorate_sim::{Conditions, Expect, RunError, Scenario};
use rayon::iter::{IntoParallelIterator, ParallelIterator};

use crate::CannotRun;
use crate::attempt::{Attempt, attempt};
use crate::shard::Shard;

pub use clusters::{SHRUNK_MOST, clusters, examples};
pub use generator::{GeneratedScenario, ScenarioGenerator};
pub use report::{
    AssumptionTally, CampaignReport, Cluster, PropertyTally, ShrunkReport, Stopped, Violation,
};
pub use request::CampaignRequest;
pub use shard::CampaignShard;

use tally::RunFindings;

/// So many runs are gathered at a time: enough to keep all cores busy, few enough to forget their findings.
const GATHERED: u64 = 4_096;

/// A run that goes on for longer than this is stopped, and counted as undecided.
const EVENTS_MOST: u64 = 20_000_000;

/// The same beyond the assumptions, where nothing says that a run ends.
const EVENTS_OUTSIDE_ASSUMPTIONS_MOST: u64 = 1_000_000;

fn conditions(generator: &ScenarioGenerator, memory: u64) -> Conditions {
    let events =
        if generator.break_assumptions { EVENTS_OUTSIDE_ASSUMPTIONS_MOST } else { EVENTS_MOST };
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
pub fn check(generator: &ScenarioGenerator) -> Result<(), CampaignError> {
    let largest = Scenario {
        quorums: generator.quorums.clone(),
        watch: generator.watch.clone(),
        ..Scenario::new(generator.profile.name, *generator.processes.end())
    };
    largest.validate()?;
    Ok(crate::check(&largest)?)
}

/// How a campaign is run. None of it changes what is found.
pub struct CampaignExecution<'a> {
    /// Memory that all runs together may take, in bytes.
    pub memory: u64,
    /// How many threads.
    pub threads: usize,
    /// Told of every run that is over, from any thread.
    pub on_run: &'a (dyn Fn() + Sync),
    /// Whether to stop now; asked before every run, from any thread.
    pub should_stop: &'a (dyn Fn() -> bool + Sync),
    /// Given what has been found so far, now and then.
    pub checkpoint: &'a mut dyn FnMut(&CampaignShard),
}

/// Runs what is left of a part of a campaign.
pub fn campaign(
    mut part: CampaignShard,
    shard: Shard,
    execution: CampaignExecution<'_>,
) -> Result<CampaignShard, CampaignError> {
    let generator = part.request.generator()?;
    let CampaignExecution { memory, threads, on_run, should_stop, checkpoint } = execution;
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()
        .map_err(|error| CampaignError::Threads { threads, why: error.to_string() })?;
    let conditions = conditions(&generator, memory / threads.max(1) as u64);
    let seeds = part.request.seeds(shard);
    let mut next = part.report.seed + part.report.runs;
    if !part.is_done(shard) {
        part.report.stopped = None;
    }
    while next < seeds.end && part.report.stopped.is_none() {
        let block = next..seeds.end.min(next.saturating_add(GATHERED));
        let found: Vec<Option<Result<RunFindings, CannotRun>>> = pool.install(|| {
            let one = |seed| {
                let findings = (!should_stop()).then(|| {
                    let generated = generator.generate(seed);
                    match RunFindings::of(&generated, conditions) {
                        // Nothing says that messages stay few beyond the assumptions.
                        Err(CannotRun::Run(RunError::TooManyMessages { .. }))
                            if generator.break_assumptions =>
                        {
                            Ok(RunFindings::undecided(&generated))
                        }
                        found => found,
                    }
                });
                on_run();
                findings
            };
            block.into_par_iter().map(one).collect()
        });
        for findings in found {
            // What comes after a gap does not count: the next part begins there.
            let Some(findings) = findings else {
                part.report.stopped = Some(Stopped::Interrupted);
                break;
            };
            part.report.add(findings?);
            next += 1;
            if part.request.stop_at_violation && !part.report.violations.is_empty() {
                part.report.stopped = Some(Stopped::Violation);
                break;
            }
        }
        checkpoint(&part);
    }
    Ok(part)
}

/// The world of a seed, with what came of it as its expectations: a file of its own.
pub fn with_expectations(generator: &ScenarioGenerator, seed: u64) -> Result<Scenario, CannotRun> {
    let scenario = generator.scenario(seed);
    let expect = match attempt(&scenario, Conditions::default())? {
        Attempt::Ran(report) => Some(Expect::from_report(&report)),
        Attempt::Panicked(_) => None,
    };
    Ok(Scenario { expect, ..scenario })
}

#[cfg(test)]
mod tests;
