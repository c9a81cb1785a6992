//! Findings of one run of a campaign.

use quorate_sim::Conditions;
use quorate_sim::monitor::Status;
use quorate_sim::report::Report;

use super::{CampaignReport, GeneratedScenario, PropertyTally, Violation};
use crate::CannotRun;
use crate::attempt::{Attempt, attempt, attempt_in_model};

/// Facts about one run that a campaign keeps.
pub(super) struct RunFindings {
    pub(super) violations: Vec<Violation>,
    processes: usize,
    /// Number of requests after the last fault.
    requests_after: u64,
    /// Assumptions that did not hold in the run.
    broken_assumptions: Vec<&'static str>,
    /// `None` if the run ended in a panic, or if a step is none of the model.
    report: Option<RunFigures>,
}

#[derive(Default)]
struct RunFigures {
    properties: Vec<(&'static str, Status)>,
    hangs: bool,
    no_quorum: bool,
    undecided: bool,
    outside_assumptions: bool,
    requests: u64,
    entries: u64,
    crashes: u64,
    traitors: u64,
    messages: u64,
    events: u64,
}

impl RunFindings {
    /// Runs a scenario and collects the findings.
    pub(super) fn of(
        generated: &GeneratedScenario,
        conditions: Conditions,
        follows_model: bool,
    ) -> Result<Self, CannotRun> {
        let attempt = if follows_model { attempt_in_model } else { attempt };
        Ok(Self::from_attempt(generated, &attempt(&generated.scenario, conditions)?))
    }

    /// Findings of a run that ran out of memory.
    pub(super) fn undecided(generated: &GeneratedScenario) -> Self {
        let undecided = RunFigures { undecided: true, ..RunFigures::default() };
        let processes = generated.scenario.processes;
        Self {
            violations: Vec::new(),
            processes,
            requests_after: 0,
            broken_assumptions: Vec::new(),
            report: Some(undecided),
        }
    }

    fn from_attempt(
        GeneratedScenario { scenario, requests_after_faults }: &GeneratedScenario,
        found: &Attempt,
    ) -> Self {
        let events = match found {
            Attempt::Ran(report) => report.events,
            Attempt::Panicked(_) | Attempt::Diverged(_) => 0,
        };
        let broken_assumptions = found.broken_assumptions();
        let broken = |(property, detail): (&str, &str)| Violation {
            property: property.to_owned(),
            seed: scenario.seed,
            scenario: None,
            processes: scenario.processes,
            events,
            broken_assumptions: broken_assumptions.iter().map(|id| (*id).to_owned()).collect(),
            detail: detail.to_owned(),
        };
        let violations: Vec<Violation> = found.broken().into_iter().map(broken).collect();
        let report = match found {
            Attempt::Ran(report) => Some(RunFigures::of(report, &violations)),
            Attempt::Panicked(_) | Attempt::Diverged(_) => None,
        };
        let requests_after = *requests_after_faults as u64 * u64::from(scenario.repeat);
        Self {
            violations,
            processes: scenario.processes,
            requests_after,
            broken_assumptions,
            report,
        }
    }
}

impl RunFigures {
    fn of(report: &Report, violations: &[Violation]) -> Self {
        let faults = |words: fn(&str) -> bool| {
            report.faults.iter().filter(|fault| words(&fault.description)).count() as u64
        };
        Self {
            properties: report.properties.iter().map(|found| (found.id, found.status)).collect(),
            hangs: hangs(report, violations),
            no_quorum: !report.no_quorum.is_empty(),
            undecided: report.ending == "events",
            outside_assumptions: report.assumptions.iter().any(|assumption| !assumption.met),
            requests: report.requests,
            entries: report.entries,
            crashes: faults(|description| description.ends_with(" crashes")),
            traitors: faults(|description| description.contains(" is a traitor")),
            messages: report.messages.total,
            events: report.events,
        }
    }
}

/// Whether a process waits forever: the run is quiescent while it waits, or it waited longer than any process may.
fn hangs(report: &Report, violations: &[Violation]) -> bool {
    let stuck = report.ending == "quiescent" && !report.waiting.is_empty();
    stuck || violations.iter().any(|violation| violation.property == "ME2")
}

impl CampaignReport {
    /// Adds the run of the next seed.
    pub(super) fn add(&mut self, run: RunFindings) {
        self.runs += 1;
        let [fewest, most] = self.processes;
        self.processes = [fewest.min(run.processes), most.max(run.processes)];
        self.healed += u64::from(run.requests_after > 0);
        self.requests_after += run.requests_after;
        for id in &run.broken_assumptions {
            let tally = self.assumption_tally(id);
            tally.runs += 1;
            tally.violated += u64::from(!run.violations.is_empty());
            for violation in &run.violations {
                *tally.broken.entry(violation.property.clone()).or_default() += 1;
            }
        }
        match run.report {
            Some(figures) => self.add_figures(&figures),
            None => run.violations.iter().for_each(|violation| {
                self.property(&violation.property).count(Status::Violated);
            }),
        }
        self.violations.extend(run.violations);
    }

    fn add_figures(&mut self, run: &RunFigures) {
        self.hangs += u64::from(run.hangs);
        self.no_quorum += u64::from(run.no_quorum);
        self.undecided += u64::from(run.undecided);
        self.outside_assumptions += u64::from(run.outside_assumptions);
        self.requests += run.requests;
        self.entries += run.entries;
        self.crashes += run.crashes;
        self.traitors += run.traitors;
        self.messages += run.messages;
        self.events += run.events;
        for (id, status) in &run.properties {
            self.property(id).count(*status);
        }
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

#[cfg(test)]
mod tests {
    use quorate_sim::Scenario;

    use super::*;

    #[test]
    fn a_panic_is_a_violation_among_others() {
        let scenario = Scenario { seed: 7, ..Scenario::new("central", 3) };
        let generated = GeneratedScenario { scenario, requests_after_faults: 2 };
        let panicked = Attempt::Panicked("panicked at central.rs:1:1: oh".to_owned());
        let request = super::super::tests::request("central", 10);
        let mut report = CampaignReport::new(&request, 7);
        report.add(RunFindings::from_attempt(&generated, &panicked));
        report.add(RunFindings::of(&generated, Conditions::default(), false).expect("it runs"));
        assert_eq!((report.runs, report.violated_runs()), (2, 1));
        assert_eq!(
            (report.violations[0].property.as_str(), report.violations[0].seed),
            ("panic", 7)
        );
        assert_eq!(report.property("panic").violated, 1);
        assert_eq!((report.healed, report.requests_after), (2, 4));
        assert_eq!(report.property("ME1").holds, 1);
    }
}
