//! Request for a campaign: sufficient to run it again, in shards or from where it stopped.

use std::ops::Range;

use quorate_run::{catalogue, has_model};
use quorate_sim::Scenario;
use serde::{Deserialize, Serialize};

use super::{
    CampaignError, CampaignExecution, CampaignReport, CampaignShard, ScenarioGenerator, campaign,
    check,
};
use crate::shard::Shard;

/// Parameters of a campaign. Equal requests give equal results.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CampaignRequest {
    /// Name of the algorithm.
    pub algorithm: String,
    /// First seed of the campaign.
    pub seed: u64,
    /// Number of seeds to run.
    pub seeds: u64,
    /// Minimum and maximum number of processes.
    pub processes: [usize; 2],
    /// Minimum and maximum number of crashes; default: as many as the algorithm tolerates.
    pub crashes: Option<[usize; 2]>,
    /// Quorum system, if the algorithm votes.
    pub quorums: Option<String>,
    /// Properties to check although the algorithm does not promise them.
    pub watch: Vec<String>,
    /// Whether each scenario breaks some of the algorithm's assumptions.
    #[serde(rename = "beyond")]
    pub break_assumptions: bool,
    /// Whether the campaign ends at the first violation.
    #[serde(rename = "first")]
    pub stop_at_violation: bool,
    /// Whether every step is compared with the proved model of the algorithm.
    #[serde(rename = "conform", default, skip_serializing_if = "std::ops::Not::not")]
    pub follows_model: bool,
}

impl CampaignRequest {
    /// Creates a request for scenarios of 2 to 16 processes, with as many crashes as the algorithm claims to tolerate.
    pub fn new(algorithm: &str, seeds: u64) -> Self {
        Self {
            algorithm: algorithm.to_owned(),
            seed: 0,
            seeds,
            processes: [2, 16],
            crashes: None,
            quorums: None,
            watch: Vec::new(),
            break_assumptions: false,
            stop_at_violation: false,
            follows_model: false,
        }
    }

    /// Runs the whole campaign on this many threads.
    pub fn run(&self, threads: usize) -> Result<CampaignReport, CampaignError> {
        let part = CampaignShard::new(self.clone(), Shard::WHOLE);
        let (on_run, should_stop, mut checkpoint) = (|| (), || false, |_: &CampaignShard| ());
        let execution = CampaignExecution {
            memory: u64::MAX,
            threads,
            on_run: &on_run,
            should_stop: &should_stop,
            checkpoint: &mut checkpoint,
        };
        campaign(part, Shard::WHOLE, execution).map(|part| part.report)
    }

    /// Returns the generator of scenarios for this request. Fails if the request is invalid.
    pub fn generator(&self) -> Result<ScenarioGenerator, CampaignError> {
        let refused = |problem: String| Err(CampaignError::Refused(problem));
        let profile = catalogue().get(&self.algorithm).map(|entry| entry.facts().profile);
        let Some(profile) = profile else {
            let name: String = self.algorithm.chars().take(60).collect();
            return refused(format!("there is no algorithm `{name}`"));
        };
        let mut generator = ScenarioGenerator::new(profile);
        let [fewest, most] = self.processes;
        generator.processes = fewest..=most;
        generator.quorums.clone_from(&self.quorums);
        generator.watch.clone_from(&self.watch);
        generator.break_assumptions = self.break_assumptions;
        generator.follows_model = self.follows_model;
        if fewest == 0 || fewest > most {
            return refused("-n: there must be at least 1 process".to_owned());
        }
        if let Some([fewest, most]) = self.crashes {
            generator.crashes = fewest..=most;
        }
        if !self.break_assumptions && !generator.inside_assumptions() {
            return refused(format!(
                "--crashes: {} assumes that no process crashes, and a campaign stays inside the assumptions; \
                 --beyond leaves them",
                profile.name
            ));
        }
        if self.seeds == 0 || self.seed.checked_add(self.seeds).is_none() {
            return refused(format!(
                "--seeds: there must be at least 1 seed, and none beyond {}",
                u64::MAX
            ));
        }
        check(&generator)?;
        // Over other quorums, the algorithm may assume something else.
        let quorums = self.quorums.clone();
        let largest = Scenario { quorums, ..Scenario::new(profile.name, most) };
        if self.follows_model && !has_model(&largest).is_ok_and(|has| has) {
            return refused(format!("--conform: there is no proved model of {}", profile.name));
        }
        if self.follows_model && self.break_assumptions {
            let problem = "--conform: a model is proved inside the assumptions; leave out --beyond";
            return refused(problem.to_owned());
        }
        generator.profile = quorate_run::profile(&largest).unwrap_or(profile);
        Ok(generator)
    }

    /// Seeds of a shard. Shards are consecutive ranges of nearly equal size.
    pub fn seeds(&self, shard: Shard) -> Range<u64> {
        let before = |parts: u32| {
            let share = u128::from(self.seeds) * u128::from(parts) / u128::from(shard.of);
            self.seed + share as u64
        };
        before(shard.number - 1)..before(shard.number)
    }
}
