//! Campaigns: many random worlds of one algorithm, on all cores, and what was found in them.
//!
//! The result depends on the worlds and the seeds only: runs are gathered in the order of their seeds, however
//! many threads made them.

mod agreement;
mod draw;
mod elections;
mod tally;

use std::ops::Range;

use quorate_sim::{Conditions, Expect, Scenario};
use rayon::iter::{IntoParallelIterator, ParallelIterator};

use crate::{CannotRun, run};

pub use draw::Worlds;
pub use tally::{CampaignReport, PropertyTally, Violation};

use tally::{Findings, Tally};

/// So many runs are gathered at a time: enough to keep all cores busy, few enough to forget their findings.
const GATHERED: u64 = 4_096;

/// A run that goes on for longer than this is stopped, and counted as undecided.
pub const EVENTS_MOST: u64 = 20_000_000;

/// Why a campaign could not be run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CampaignError {
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

/// Runs the worlds of these seeds. `each` is told of every run that is over, from any thread.
pub fn campaign(
    worlds: &Worlds,
    seeds: Range<u64>,
    memory: u64,
    threads: usize,
    each: &(dyn Fn() + Sync),
) -> Result<CampaignReport, CampaignError> {
    check(worlds)?;
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()
        .map_err(|error| CampaignError::Threads { threads, why: error.to_string() })?;
    let memory = memory / threads.max(1) as u64;
    let conditions = Conditions { memory, events: EVENTS_MOST, ..Conditions::default() };
    let mut tally = Tally::new(worlds, &seeds);
    let mut next = seeds.start;
    while next < seeds.end {
        let block = next..seeds.end.min(next.saturating_add(GATHERED));
        next = block.end;
        let found: Vec<Result<Findings, CannotRun>> = pool.install(|| {
            let one = |seed| {
                let findings = Findings::of(worlds.scenario(seed), conditions);
                each();
                findings
            };
            block.into_par_iter().map(one).collect()
        });
        for findings in found {
            tally.add(findings?);
        }
    }
    Ok(tally.report())
}

/// The world of a seed, with what came of it as its expectations: a file of its own.
pub fn kept(worlds: &Worlds, seed: u64) -> Result<Scenario, CannotRun> {
    let scenario = worlds.scenario(seed);
    let outcome = run(&scenario, Conditions::default(), None)?;
    Ok(Scenario { expect: Some(Expect::from_report(&outcome.report)), ..scenario })
}
