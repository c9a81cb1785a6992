//! Campaigns: many random scenarios of one algorithm, run on all cores, and the findings.
//!
//! The result depends only on the request. Runs are collected in the order of their seeds, whatever the number of threads,
//! of shards and of interruptions.

mod agreement;
mod break_assumptions;
mod clusters;
mod dice;
mod elections;
mod generator;
mod heal;
mod recoveries;
mod replication;
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

/// Number of runs collected at a time: enough to keep all cores busy, and few enough to limit the memory for findings.
const GATHERED: u64 = 4_096;

/// Maximum number of events of a run. A longer run is stopped and counted as undecided.
const EVENTS_MOST: u64 = 20_000_000;

/// The same limit outside the assumptions, where runs need not end.
const EVENTS_OUTSIDE_ASSUMPTIONS_MOST: u64 = 200_000;

fn conditions(generator: &ScenarioGenerator, memory: u64) -> Conditions {
    let events =
        if generator.break_assumptions { EVENTS_OUTSIDE_ASSUMPTIONS_MOST } else { EVENTS_MOST };
    Conditions { memory, events, ..Conditions::default() }
}

/// Reason why a campaign could not be run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CampaignError {
    /// No scenarios can be generated for the request.
    #[error("{0}")]
    Refused(String),
    /// The generated scenarios would be invalid.
    #[error("{0}")]
    Invalid(#[from] quorate_sim::Invalid),
    /// A run could not be completed.
    #[error(transparent)]
    Lab(#[from] CannotRun),
    /// The threads could not be started.
    #[error("{threads} threads could not be started: {why}")]
    Threads {
        /// Number of threads that were requested.
        threads: usize,
        /// Description of the error.
        why: String,
    },
}

/// Checks that the algorithm supports the scenarios of a generator. Only the largest scenario is checked.
pub fn check(generator: &ScenarioGenerator) -> Result<(), CampaignError> {
    let largest = Scenario {
        quorums: generator.quorums.clone(),
        watch: generator.watch.clone(),
        ..Scenario::new(generator.profile.name, *generator.processes.end())
    };
    largest.validate()?;
    Ok(crate::check(&largest)?)
}

/// Execution parameters of a campaign. None of them changes the findings.
pub struct CampaignExecution<'a> {
    /// Maximum memory of all concurrent runs together, in bytes.
    pub memory: u64,
    /// Number of threads to use.
    pub threads: usize,
    /// Called after every run, from any thread.
    pub on_run: &'a (dyn Fn() + Sync),
    /// Whether to stop now. Called before every run, from any thread.
    pub should_stop: &'a (dyn Fn() -> bool + Sync),
    /// Called with the findings so far after each block of runs.
    pub checkpoint: &'a mut dyn FnMut(&CampaignShard),
}

/// Runs the remaining seeds of a shard of a campaign.
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
                    match RunFindings::of(&generated, conditions, generator.follows_model) {
                        // Outside the assumptions the number of messages need not stay small.
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
            // Findings after a gap are discarded: the campaign resumes at the gap.
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

/// The scenario of a seed, with the result of its run as its expectations, ready to be stored in a file.
pub fn with_expectations(generator: &ScenarioGenerator, seed: u64) -> Result<Scenario, CannotRun> {
    let scenario = generator.scenario(seed);
    let expect = match attempt(&scenario, Conditions::default())? {
        Attempt::Ran(report) => Some(Expect::from_report(&report)),
        Attempt::Panicked(_) | Attempt::Diverged(_) => None,
    };
    Ok(Scenario { expect, ..scenario })
}

#[cfg(test)]
mod tests;
