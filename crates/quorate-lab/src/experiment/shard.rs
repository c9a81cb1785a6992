//! A shard of an experiment: every k-th of its runs, for k shards.

use std::cell::RefCell;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::ExperimentError;
use super::request::{Scope, SweepError};
use super::{Experiment, ExperimentProgress, Findings, Options};
use crate::shard::Shard;

/// Results of some of the runs of an experiment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExperimentShard {
    /// Name of the experiment.
    pub name: String,
    /// Options of the whole experiment.
    pub options: Options,
    /// Measured values, by sweep.
    sweeps: Vec<Vec<Value>>,
}

impl Experiment {
    /// Runs one shard of the experiment.
    pub fn run_shard(
        &self,
        options: &Options,
        shard: Shard,
        progress: &dyn ExperimentProgress,
    ) -> Result<ExperimentShard, ExperimentError> {
        let request = self.request(options, progress, Scope::Shard(shard, RefCell::default()))?;
        match (self.run)(&request) {
            Err(SweepError::Failed(error)) => return Err(error),
            Ok(_) | Err(SweepError::Partial) => {}
        }
        let Scope::Shard(_, kept) = request.scope else { return Err(impossible()) };
        // The number of threads does not affect the results, so it is not stored.
        let options = Options { threads: None, ..*options };
        Ok(ExperimentShard { name: self.name.to_owned(), options, sweeps: kept.into_inner() })
    }
}

impl ExperimentShard {
    /// Whether both are shards of the same experiment with the same options.
    pub fn is_of(&self, other: &Self) -> bool {
        self.name == other.name && self.options == other.options
    }

    /// Merges all shards, given in order. The findings equal those of the whole experiment.
    pub fn merge(parts: Vec<Self>) -> Result<(&'static Experiment, Findings), ExperimentError> {
        let Some(first) = parts.first() else { return Err(impossible()) };
        let (experiment, options) = (Experiment::by_name(&first.name)?, first.options);
        let sweeps = parts.into_iter().map(|part| part.sweeps).collect();
        let scope = Scope::Merged(sweeps, RefCell::default());
        match (experiment.run)(&experiment.request(&options, &(), scope)?) {
            Ok(findings) => Ok((experiment, findings)),
            Err(SweepError::Failed(error)) => Err(error),
            Err(SweepError::Partial) => Err(impossible()),
        }
    }
}

fn impossible() -> ExperimentError {
    ExperimentError::Option("there is nothing to merge".to_owned())
}
