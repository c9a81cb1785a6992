//! A shard of a campaign: some of its seeds, and the progress with them.

use serde::{Deserialize, Serialize};

use super::{CampaignReport, CampaignRequest, Stopped};
use crate::shard::Shard;

/// Some of the seeds of a campaign, and the report of those already run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CampaignShard {
    /// Request for the whole campaign, all shards together.
    #[serde(rename = "asked")]
    pub request: CampaignRequest,
    /// Report of the seeds run so far.
    pub report: CampaignReport,
}

impl CampaignShard {
    /// Creates a shard of which nothing was run yet.
    pub fn new(request: CampaignRequest, shard: Shard) -> Self {
        let report = CampaignReport::new(&request, request.seeds(shard).start);
        Self { request, report }
    }

    /// Whether nothing is left to run.
    pub fn is_done(&self, shard: Shard) -> bool {
        let seeds = self.request.seeds(shard);
        self.report.runs == seeds.end - seeds.start
            || self.report.stopped == Some(Stopped::Violation)
    }

    /// Checks that the report can result from the request. A file may contain anything.
    pub(crate) fn check(&self, shard: Shard) -> Result<(), String> {
        let Self { request, report } = self;
        request.generator().map_err(|error| format!("is inconsistent: {error}"))?;
        let seeds = request.seeds(shard);
        let run = seeds.start.checked_add(report.runs).filter(|end| *end <= seeds.end);
        let Some(end) = run.filter(|_| report.seed == seeds.start) else {
            return Err("is inconsistent: its seeds are not those of its part".to_owned());
        };
        let seeds = report.violations.iter().map(|violation| violation.seed);
        if !seeds.clone().is_sorted()
            || !seeds.clone().all(|seed| (report.seed..end).contains(&seed))
        {
            return Err("is inconsistent: it has violations of seeds that were not run".to_owned());
        }
        if report.algorithm != request.algorithm || report.quorums != request.quorums {
            return Err("is inconsistent: it is about another algorithm".to_owned());
        }
        Ok(())
    }

    /// Merges all shards, given in order.
    pub fn merge(parts: Vec<Self>) -> Option<Self> {
        let mut parts = parts.into_iter();
        let mut whole = parts.next()?;
        for part in parts {
            // A campaign that ends at the first violation does not include later seeds.
            if whole.report.stopped == Some(Stopped::Violation) {
                break;
            }
            whole.report.absorb(part.report);
        }
        Some(whole)
    }
}
