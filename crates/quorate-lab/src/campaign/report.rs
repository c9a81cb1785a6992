//! What came of a campaign, or of a part of it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::CampaignRequest;

/// What came of a campaign: the JSON that `campaign` prints.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CampaignReport {
    /// The algorithm's name.
    pub algorithm: String,
    /// The quorum system, if one was asked for.
    pub quorums: Option<String>,
    /// The first seed.
    pub seed: u64,
    /// How many worlds were run.
    pub runs: u64,
    /// Why these are fewer than were asked for, if they are.
    pub stopped: Option<Stopped>,
    /// The fewest and the most processes there were.
    pub processes: [usize; 2],
    /// Every broken property of every run, in the order of seeds.
    pub violations: Vec<Violation>,
    /// The violations by what went wrong, in the order of the first seeds.
    pub clusters: Vec<Cluster>,
    /// Runs in which a live process waited for ever.
    pub hangs: u64,
    /// Runs in which a requester gave up because no quorum was left to it.
    pub no_quorum: u64,
    /// Runs that were stopped before it was decided whether everybody enters.
    pub undecided: u64,
    /// Runs that broke an assumption of the algorithm.
    pub outside_assumptions: u64,
    /// What broke where an assumption was left, one by one.
    #[serde(rename = "left")]
    pub broken_assumptions: Vec<AssumptionTally>,
    /// What became of each property over all runs.
    pub properties: Vec<PropertyTally>,
    /// All requests.
    pub requests: u64,
    /// All entries.
    pub entries: u64,
    /// Runs in which some asked again after the last fault.
    pub healed: u64,
    /// All requests after the last fault.
    pub requests_after: u64,
    /// All crashes.
    pub crashes: u64,
    /// All traitors.
    pub traitors: u64,
    /// All messages of the algorithm's own layer.
    pub messages: u64,
    /// All events.
    pub events: u64,
}

/// Why a campaign was over before its last seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stopped {
    /// Something was violated, and no more was asked for.
    Violation,
    /// Whoever ran it did not want to wait any longer.
    #[serde(rename = "asked")]
    Interrupted,
}

impl CampaignReport {
    /// Nothing has been run yet, from this seed on.
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

    /// In how many runs anything was broken.
    pub fn violated_runs(&self) -> usize {
        let mut seeds: Vec<u64> = self.violations.iter().map(|violation| violation.seed).collect();
        seeds.dedup();
        seeds.len()
    }

    /// Adds the runs of the seeds that follow. Figures of files may be anything, and so do not overflow.
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

    /// The tally of an assumption.
    pub(super) fn assumption_tally(&mut self, id: &str) -> &mut AssumptionTally {
        let all = &mut self.broken_assumptions;
        let place = all.iter().position(|tally| tally.assumption == id).unwrap_or_else(|| {
            // In alphabetical order, so that it does not matter which comes first.
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

    /// The tally of a property.
    pub(super) fn property(&mut self, id: &str) -> &mut PropertyTally {
        let all = &mut self.properties;
        let place = all.iter().position(|tally| tally.id == id).unwrap_or_else(|| {
            all.push(PropertyTally { id: id.to_owned(), holds: 0, violated: 0, not_checked: 0 });
            all.len() - 1
        });
        &mut all[place]
    }
}

/// A property over all runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PropertyTally {
    /// Its name.
    pub id: String,
    /// Runs in which it held.
    pub holds: u64,
    /// Runs in which it was broken.
    pub violated: u64,
    /// Runs in which it was not watched or not decided.
    pub not_checked: u64,
}

/// The runs in which an assumption was left.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AssumptionTally {
    /// The assumption's name.
    pub assumption: String,
    /// How many runs.
    pub runs: u64,
    /// In how many of them anything was broken.
    pub violated: u64,
    /// How often each property was.
    pub broken: BTreeMap<String, u64>,
}

/// A property broken in one run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Violation {
    /// The property's name; `panic` if the algorithm panicked.
    pub property: String,
    /// The seed of the run.
    pub seed: u64,
    /// The file that replays it, if one was kept.
    pub scenario: Option<String>,
    /// How many processes there were.
    pub processes: usize,
    /// How many events there were.
    pub events: u64,
    /// The assumptions that the run had left.
    #[serde(rename = "left", default, skip_serializing_if = "Vec::is_empty")]
    pub broken_assumptions: Vec<String>,
    /// What happened, in a sentence.
    pub detail: String,
}

/// Violations of one property that read alike, apart from names and numbers, under the same assumptions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cluster {
    /// The property's name.
    pub property: String,
    /// What they have in common.
    pub cause: String,
    /// The assumptions that they had left.
    #[serde(rename = "left", default, skip_serializing_if = "Vec::is_empty")]
    pub broken_assumptions: Vec<String>,
    /// How many runs.
    pub runs: u64,
    /// The first seed.
    pub first: u64,
    /// The first of the seeds with the fewest events.
    pub shortest: u64,
    /// How many events that one has.
    pub events: u64,
    /// What happened with the first seed.
    pub detail: String,
    /// What is left of the first seed's world, if it was made smaller.
    pub shrunk: Option<ShrunkReport>,
    /// The file that replays it, if one was kept.
    pub scenario: Option<String>,
    /// The scenario itself, where no file of it could be written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub toml: Option<String>,
}

/// A world that was made smaller.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShrunkReport {
    /// How many processes are left.
    pub processes: usize,
    /// How many requests.
    pub requests: u64,
    /// How many faults.
    pub faults: usize,
    /// What happens then.
    pub detail: String,
    /// How many runs it took.
    pub runs: u64,
    /// Whether nothing more can go; otherwise it was given up.
    pub is_minimal: bool,
}
