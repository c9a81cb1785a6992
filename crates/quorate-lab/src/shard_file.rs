//! Files that hold a shard of a campaign or an experiment.

use serde::{Deserialize, Serialize};

use crate::campaign::CampaignShard;
use crate::experiment::ExperimentShard;
use crate::shard::Shard;

/// A part of some work, as stored in a file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShardFile {
    /// Version of quorate that wrote the file. Another version may generate other scenarios.
    quorate: String,
    /// Part of the work that the file holds.
    pub shard: Shard,
    /// Result of this part.
    pub work: ShardResult,
}

/// Result of a part, by the kind of work.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ShardResult {
    /// Some of the seeds of a campaign.
    Campaign(Box<CampaignShard>),
    /// Some of the runs of an experiment.
    Experiment(ExperimentShard),
}

const VERSION: &str = env!("CARGO_PKG_VERSION");

impl ShardFile {
    /// Creates a file of this version.
    pub fn new(shard: Shard, work: ShardResult) -> Self {
        Self { quorate: VERSION.to_owned(), shard, work }
    }

    /// Parses the content of a file. Fails with a description of the problem.
    pub fn read(bytes: &[u8]) -> Result<Self, String> {
        #[derive(Deserialize)]
        struct Made {
            quorate: String,
        }
        let made: Made = serde_json::from_slice(bytes)
            .map_err(|_| "is no part of a campaign or an experiment".to_owned())?;
        if made.quorate != VERSION {
            let version: String = made.quorate.chars().take(20).collect();
            return Err(format!("was made by quorate {version}, this is {VERSION}"));
        }
        let part: Self =
            serde_json::from_slice(bytes).map_err(|error| format!("is not valid: {error}"))?;
        match &part.work {
            ShardResult::Campaign(campaign) => campaign.check(part.shard)?,
            // Answers of an experiment are checked when the parts are merged.
            ShardResult::Experiment(_) => {}
        }
        Ok(part)
    }

    /// Returns the text of the file.
    pub fn write(&self) -> serde_json::Result<String> {
        serde_json::to_string(self).map(|text| text + "\n")
    }
}
