//! What was found in the runs of a campaign.

use std::ops::Range;

use quorate_sim::monitor::Status;
use quorate_sim::report::Report;
use quorate_sim::{Conditions, Scenario};
use serde::Serialize;

use super::Worlds;
use crate::{CannotRun, run};

/// What came of a campaign: the JSON that `campaign` prints.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CampaignReport {
    /// The algorithm's name.
    pub algorithm: &'static str,
    /// The quorum system, if one was asked for.
    pub quorums: Option<String>,
    /// The first seed.
    pub seed: u64,
    /// How many worlds were run.
    pub runs: u64,
    /// The fewest and the most processes there were.
    pub processes: [usize; 2],
    /// Every broken property of every run, in the order of seeds.
    pub violations: Vec<Violation>,
    /// Runs in which a live process waited for ever.
    pub hangs: u64,
    /// Runs in which a requester gave up because no quorum was left to it.
    pub no_quorum: u64,
    /// Runs that were stopped before it was decided whether everybody enters.
    pub undecided: u64,
    /// Runs that broke an assumption of the algorithm.
    pub outside_assumptions: u64,
    /// What became of each property over all runs.
    pub properties: Vec<PropertyTally>,
    /// All requests.
    pub requests: u64,
    /// All entries.
    pub entries: u64,
    /// All crashes.
    pub crashes: u64,
    /// All messages of the algorithm's own layer.
    pub messages: u64,
    /// All events.
    pub events: u64,
}

impl CampaignReport {
    /// In how many runs anything was broken.
    pub fn violated_runs(&self) -> usize {
        let mut seeds: Vec<u64> = self.violations.iter().map(|violation| violation.seed).collect();
        seeds.dedup();
        seeds.len()
    }
}

/// A property over all runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PropertyTally {
    /// Its name.
    pub id: &'static str,
    /// Runs in which it held.
    pub holds: u64,
    /// Runs in which it was broken.
    pub violated: u64,
    /// Runs in which it was not watched or not decided.
    pub not_checked: u64,
}

/// A property broken in one run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Violation {
    /// The property's name.
    pub property: &'static str,
    /// The seed of the run.
    pub seed: u64,
    /// The file that replays it, if one was kept.
    pub scenario: Option<String>,
    /// How many processes there were.
    pub processes: usize,
    /// What happened, in a sentence.
    pub detail: String,
}

/// What is worth knowing of one run.
pub(super) struct Findings {
    properties: Vec<(&'static str, Status)>,
    violations: Vec<Violation>,
    processes: usize,
    hangs: bool,
    no_quorum: bool,
    undecided: bool,
    outside_assumptions: bool,
    requests: u64,
    entries: u64,
    crashes: u64,
    messages: u64,
    events: u64,
}

impl Findings {
    /// Runs a world and looks at what came of it.
    pub(super) fn of(scenario: Scenario, conditions: Conditions) -> Result<Self, CannotRun> {
        let report = run(&scenario, conditions, None)?.report;
        let broken =
            |property: &&quorate_sim::report::PropertyReport| property.status == Status::Violated;
        let violations: Vec<Violation> = report
            .properties
            .iter()
            .filter(broken)
            .map(|property| Violation {
                property: property.id,
                seed: report.seed,
                scenario: None,
                processes: report.processes,
                detail: property.detail.clone(),
            })
            .collect();
        Ok(Self {
            properties: report.properties.iter().map(|found| (found.id, found.status)).collect(),
            processes: report.processes,
            hangs: hangs(&report, &violations),
            no_quorum: !report.no_quorum.is_empty(),
            undecided: report.ending == "events",
            outside_assumptions: report.assumptions.iter().any(|assumption| !assumption.met),
            requests: report.requests,
            entries: report.entries,
            crashes: report.faults.iter().filter(|fault| fault.what.ends_with(" crashes")).count()
                as u64,
            messages: report.messages.total,
            events: report.events,
            violations,
        })
    }
}

/// Whether somebody waits for ever: nothing is left to happen, or nobody may wait for so long.
fn hangs(report: &Report, violations: &[Violation]) -> bool {
    let stuck = report.ending == "quiescent" && !report.waiting.is_empty();
    stuck || violations.iter().any(|violation| violation.property == "ME2")
}

/// Adds up the runs of a campaign.
pub(super) struct Tally {
    report: CampaignReport,
}

impl Tally {
    pub(super) fn new(worlds: &Worlds, seeds: &Range<u64>) -> Self {
        let report = CampaignReport {
            algorithm: worlds.profile.name,
            quorums: worlds.quorums.clone(),
            seed: seeds.start,
            runs: 0,
            processes: [usize::MAX, 0],
            violations: Vec::new(),
            hangs: 0,
            no_quorum: 0,
            undecided: 0,
            outside_assumptions: 0,
            properties: Vec::new(),
            requests: 0,
            entries: 0,
            crashes: 0,
            messages: 0,
            events: 0,
        };
        Self { report }
    }

    pub(super) fn add(&mut self, run: Findings) {
        let report = &mut self.report;
        report.runs += 1;
        let [fewest, most] = report.processes;
        report.processes = [fewest.min(run.processes), most.max(run.processes)];
        report.violations.extend(run.violations);
        report.hangs += u64::from(run.hangs);
        report.no_quorum += u64::from(run.no_quorum);
        report.undecided += u64::from(run.undecided);
        report.outside_assumptions += u64::from(run.outside_assumptions);
        report.requests += run.requests;
        report.entries += run.entries;
        report.crashes += run.crashes;
        report.messages += run.messages;
        report.events += run.events;
        for (id, status) in run.properties {
            self.property(id).count(status);
        }
    }

    fn property(&mut self, id: &'static str) -> &mut PropertyTally {
        let all = &mut self.report.properties;
        let place = all.iter().position(|tally| tally.id == id).unwrap_or_else(|| {
            all.push(PropertyTally { id, holds: 0, violated: 0, not_checked: 0 });
            all.len() - 1
        });
        &mut all[place]
    }

    pub(super) fn report(self) -> CampaignReport {
        self.report
    }
}

impl PropertyTally {
    fn count(&mut self, status: Status) {
        match status {
            Status::Holds => self.holds += 1,
            Status::Violated => self.violated += 1,
            Status::NotChecked => self.not_checked += 1,
        }
    }
}
