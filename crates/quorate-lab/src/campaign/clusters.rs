//! Violations grouped by cause, and the smallest scenario of each group.

use std::collections::BTreeMap;

use quorate_sim::Scenario;
use rayon::iter::{IntoParallelIterator, ParallelIterator};

use super::{
    CampaignReport, Cluster, ScenarioGenerator, ShrunkReport, conditions, with_expectations,
};
use crate::CannotRun;
use crate::cause::Cause;
use crate::shrink::{Shrunk, requests_of, shrink};

/// Maximum number of clusters whose scenarios are shrunk.
pub const SHRUNK_MOST: usize = 10;

/// Groups violations that have the same cause.
pub fn clusters(report: &CampaignReport) -> Vec<Cluster> {
    let mut places: BTreeMap<(Cause, &[String]), usize> = BTreeMap::new();
    let mut all: Vec<Cluster> = Vec::new();
    for violation in &report.violations {
        let cause = Cause::of(&violation.property, &violation.detail);
        let place = *places.entry((cause, &violation.broken_assumptions)).or_insert_with_key(
            |(cause, _)| {
                all.push(Cluster {
                    property: violation.property.clone(),
                    cause: cause.how.clone(),
                    broken_assumptions: violation.broken_assumptions.clone(),
                    runs: 0,
                    first: violation.seed,
                    shortest: violation.seed,
                    events: violation.events,
                    detail: violation.detail.clone(),
                    shrunk: None,
                    scenario: None,
                    toml: None,
                });
                all.len() - 1
            },
        );
        let cluster = &mut all[place];
        cluster.runs += 1;
        if violation.events < cluster.events {
            (cluster.shortest, cluster.events) = (violation.seed, violation.events);
        }
    }
    all
}

/// The scenario of the first seed of each given cluster, with the result of its run as its expectations. With `smaller`
/// each scenario is shrunk as far as possible.
pub fn examples(
    generator: &ScenarioGenerator,
    clusters: &mut [Cluster],
    smaller: bool,
    memory: u64,
) -> Result<Vec<Scenario>, CannotRun> {
    let conditions = conditions(generator, memory);
    let made: Result<Vec<(Scenario, Option<ShrunkReport>)>, CannotRun> = clusters
        .to_vec()
        .into_par_iter()
        .map(|cluster| {
            let scenario = generator.scenario(cluster.first);
            let small = match smaller {
                true => shrink(&scenario, &cluster.property, conditions)?,
                false => None,
            };
            match small {
                Some(small) => {
                    let shrunk = shrunk_report(&small);
                    Ok((small.scenario, Some(shrunk)))
                }
                None => {
                    with_expectations(generator, cluster.first).map(|scenario| (scenario, None))
                }
            }
        })
        .collect();
    let (scenarios, shrunk): (Vec<Scenario>, Vec<Option<ShrunkReport>>) = made?.into_iter().unzip();
    clusters.iter_mut().zip(shrunk).for_each(|(cluster, shrunk)| cluster.shrunk = shrunk);
    Ok(scenarios)
}

fn shrunk_report(small: &Shrunk) -> ShrunkReport {
    ShrunkReport {
        processes: small.scenario.processes,
        requests: requests_of(&small.scenario),
        faults: crate::shrink::faults_of(&small.scenario),
        detail: small.detail.clone(),
        runs: small.runs,
        is_minimal: small.is_minimal,
    }
}
