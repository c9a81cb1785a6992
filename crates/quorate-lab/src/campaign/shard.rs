//! A part of a campaign: some of its seeds, and how far it is with them.

use serde::{Deserialize, Serialize};

use super::{CampaignReport, CampaignRequest, Stopped};
use crate::shard::Shard;

/// Some of the seeds of a campaign, and what came of those that have been run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CampaignShard {
    /// What was asked for, all parts together.
    #[serde(rename = "asked")]
    pub request: CampaignRequest,
    /// What has come of it so far.
    pub report: CampaignReport,
}

impl CampaignShard {
    /// Nothing has been run yet.
    pub fn new(request: CampaignRequest, shard: Shard) -> Self {
        let report = CampaignReport::new(&request, request.seeds(shard).start);
        Self { request, report }
    }

    /// Whether there is nothing left to run.
    pub fn is_done(&self, shard: Shard) -> bool {
        let seeds = self.request.seeds(shard);
        self.report.runs == seeds.end - seeds.start
            || self.report.stopped == Some(Stopped::Violation)
    }

    /// Whether it can have come of running it. Files may say anything.
    pub(crate) fn check(&self, shard: Shard) -> Result<(), String> {
        let Self { request, report } = self;
        request.generator().map_err(|error| format!("makes no sense: {error}"))?;
        let seeds = request.seeds(shard);
        let run = seeds.start.checked_add(report.runs).filter(|end| *end <= seeds.end);
        let Some(end) = run.filter(|_| report.seed == seeds.start) else {
            return Err("makes no sense: its seeds are not those of its part".to_owned());
        };
        let seeds = report.violations.iter().map(|violation| violation.seed);
        if !seeds.clone().is_sorted()
            || !seeds.clone().all(|seed| (report.seed..end).contains(&seed))
        {
            return Err("makes no sense: it has violations of seeds that were not run".to_owned());
        }
        if report.algorithm != request.algorithm || report.quorums != request.quorums {
            return Err("makes no sense: it is about another algorithm".to_owned());
        }
        Ok(())
    }

    /// All parts as one, given in order.
    pub fn merge(parts: Vec<Self>) -> Option<Self> {
        let mut parts = parts.into_iter();
        let mut whole = parts.next()?;
        for part in parts {
            // Who stops at the first violation has not seen what comes later.
            if whole.report.stopped == Some(Stopped::Violation) {
                break;
            }
            whole.report.absorb(part.report);
        }
        Some(whole)
    }
}
