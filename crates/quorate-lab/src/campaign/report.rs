//! Report of a campaign, or of a shard of it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::CampaignRequest;

/// Report of a campaign: the JSON that `campaign` prints.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CampaignReport {
    /// Name of the algorithm.
    pub algorithm: String,
    /// Quorum system, if the request names one.
    pub quorums: Option<String>,
    /// First seed of the report.
    pub seed: u64,
    /// Number of scenarios that were run.
    pub runs: u64,
    /// Reason why fewer scenarios were run than requested, if so.
    pub stopped: Option<Stopped>,
    /// Smallest and largest number of processes that occurred.
    pub processes: [usize; 2],
    /// Every violated property of every run, in the order of seeds.
    pub violations: Vec<Violation>,
    /// Violations grouped by cause, in the order of their first seeds.
    pub clusters: Vec<Cluster>,
    /// Number of runs in which a live process waited forever.
    pub hangs: u64,
    /// Number of runs in which a requester gave up because it had no quorum left.
    pub no_quorum: u64,
    /// Number of runs that were stopped before it was decided whether all requests succeed.
    pub undecided: u64,
    /// Number of runs that broke an assumption of the algorithm.
    pub outside_assumptions: u64,
    /// Violations by broken assumption.
    #[serde(rename = "left")]
    pub broken_assumptions: Vec<AssumptionTally>,
    /// Result of each property over all runs.
    pub properties: Vec<PropertyTally>,
    /// Total number of requests.
    pub requests: u64,
    /// Total number of entries.
    pub entries: u64,
    /// Number of runs with requests after the last fault.
    pub healed: u64,
    /// Total number of requests after the last fault.
    pub requests_after: u64,
    /// Total number of crashes.
    pub crashes: u64,
    /// Total number of traitors.
    pub traitors: u64,
    /// Total number of messages of the algorithm's own layer.
    pub messages: u64,
    /// Total number of events.
    pub events: u64,
}

/// Reason why a campaign ended before its last seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stopped {
    /// A property was violated, and the request ends at the first violation.
    Violation,
    /// The caller interrupted the campaign.
    #[serde(rename = "asked")]
    Interrupted,
}

impl CampaignReport {
    /// Creates an empty report that starts at this seed.
    pub(super) fn new(request: &CampaignRequest, seed: u64) -> Self {
        Self {
            algorithm: request.algorithm.clone(),
            quorums: request.quorums.clone(),
            seed,
            runs: 0,
            stopped: None,
            processes: [usize::MAX, 0],
            violations: Vec::new(),
            clusters: Vec::new(),
            hangs: 0,
            no_quorum: 0,
            undecided: 0,
            outside_assumptions: 0,
            broken_assumptions: Vec::new(),
            properties: Vec::new(),
            requests: 0,
            entries: 0,
            healed: 0,
            requests_after: 0,
            crashes: 0,
            traitors: 0,
            messages: 0,
            events: 0,
        }
    }

    /// Number of runs with at least one violation.
    pub fn violated_runs(&self) -> usize {
        let mut seeds: Vec<u64> = self.violations.iter().map(|violation| violation.seed).collect();
        seeds.dedup();
        seeds.len()
    }

    /// Adds the report of the seeds that follow. Figures read from files may have any value, so sums saturate.
    pub(super) fn absorb(&mut self, next: Self) {
        let [fewest, most] = self.processes;
        self.processes = [fewest.min(next.processes[0]), most.max(next.processes[1])];
        self.stopped = next.stopped;
        self.violations.extend(next.violations);
        for (sum, more) in [
            (&mut self.runs, next.runs),
            (&mut self.hangs, next.hangs),
            (&mut self.no_quorum, next.no_quorum),
            (&mut self.undecided, next.undecided),
            (&mut self.outside_assumptions, next.outside_assumptions),
            (&mut self.requests, next.requests),
            (&mut self.entries, next.entries),
            (&mut self.healed, next.healed),
            (&mut self.requests_after, next.requests_after),
            (&mut self.crashes, next.crashes),
            (&mut self.traitors, next.traitors),
            (&mut self.messages, next.messages),
            (&mut self.events, next.events),
        ] {
            *sum = sum.saturating_add(more);
        }
        for tally in next.broken_assumptions {
            let sum = self.assumption_tally(&tally.assumption);
            sum.runs = sum.runs.saturating_add(tally.runs);
            sum.violated = sum.violated.saturating_add(tally.violated);
            for (id, count) in tally.broken {
                let broken = sum.broken.entry(id).or_default();
                *broken = broken.saturating_add(count);
            }
        }
        for property in next.properties {
            let sum = self.property(&property.id);
            sum.holds = sum.holds.saturating_add(property.holds);
            sum.violated = sum.violated.saturating_add(property.violated);
            sum.not_checked = sum.not_checked.saturating_add(property.not_checked);
        }
    }

    /// Tally of an assumption, which is added if it is missing.
    pub(super) fn assumption_tally(&mut self, id: &str) -> &mut AssumptionTally {
        let all = &mut self.broken_assumptions;
        let place = all.iter().position(|tally| tally.assumption == id).unwrap_or_else(|| {
            // Alphabetical order, so that the order of insertion does not matter.
            let place = all.partition_point(|tally| tally.assumption.as_str() < id);
            let broken = BTreeMap::new();
            all.insert(
                place,
                AssumptionTally { assumption: id.to_owned(), runs: 0, violated: 0, broken },
            );
            place
        });
        &mut all[place]
    }

    /// Tally of a property, which is added if it is missing.
    pub(super) fn property(&mut self, id: &str) -> &mut PropertyTally {
        let all = &mut self.properties;
        let place = all.iter().position(|tally| tally.id == id).unwrap_or_else(|| {
            all.push(PropertyTally { id: id.to_owned(), holds: 0, violated: 0, not_checked: 0 });
            all.len() - 1
        });
        &mut all[place]
    }
}

/// Results of a property over all runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PropertyTally {
    /// Name of the property.
    pub id: String,
    /// Number of runs in which it held.
    pub holds: u64,
    /// Number of runs in which it was violated.
    pub violated: u64,
    /// Number of runs in which it was not checked or not decided.
    pub not_checked: u64,
}

/// Runs in which an assumption was broken.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AssumptionTally {
    /// Name of the assumption.
    pub assumption: String,
    /// Number of runs that broke it.
    pub runs: u64,
    /// Number of these runs with at least one violation.
    pub violated: u64,
    /// Number of violations of each property in these runs.
    pub broken: BTreeMap<String, u64>,
}

/// A property violated in one run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Violation {
    /// Name of the property; `panic` if the algorithm panicked.
    pub property: String,
    /// Seed of the run.
    pub seed: u64,
    /// File that replays the run, if one was kept.
    pub scenario: Option<String>,
    /// Number of processes in the run.
    pub processes: usize,
    /// Number of events in the run.
    pub events: u64,
    /// Assumptions that the run broke.
    #[serde(rename = "left", default, skip_serializing_if = "Vec::is_empty")]
    pub broken_assumptions: Vec<String>,
    /// Description of the violation in one sentence.
    pub detail: String,
}

/// Violations of one property with the same broken assumptions, whose descriptions are equal apart from names and numbers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cluster {
    /// Name of the property.
    pub property: String,
    /// Description that all of them have in common.
    pub cause: String,
    /// Assumptions that the runs broke.
    #[serde(rename = "left", default, skip_serializing_if = "Vec::is_empty")]
    pub broken_assumptions: Vec<String>,
    /// Number of runs with this violation.
    pub runs: u64,
    /// First seed with this violation.
    pub first: u64,
    /// First seed among the runs with the fewest events.
    pub shortest: u64,
    /// Number of events of that run.
    pub events: u64,
    /// Description of the violation with the first seed.
    pub detail: String,
    /// Result of shrinking the first seed's scenario, if that was done.
    pub shrunk: Option<ShrunkReport>,
    /// File that replays the violation, if one was kept.
    pub scenario: Option<String>,
    /// Text of the scenario, if no file could be written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub toml: Option<String>,
}

/// A scenario that was shrunk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShrunkReport {
    /// Number of processes left.
    pub processes: usize,
    /// Number of requests left.
    pub requests: u64,
    /// Number of faults left.
    pub faults: usize,
    /// Description of the violation in the shrunk scenario.
    pub detail: String,
    /// Number of runs that shrinking took.
    pub runs: u64,
    /// Whether nothing more can be removed; otherwise shrinking was given up.
    pub is_minimal: bool,
}
