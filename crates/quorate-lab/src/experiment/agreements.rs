//! Shared parts of the experiments with agreements: a run, its result, and the command that repeats it.

use quorate_core::Property;
use quorate_sim::monitor::Status;
use quorate_sim::report::{Report, Verdict};
use quorate_sim::{Conditions, Scenario};
use serde::{Deserialize, Serialize};

use super::ExperimentError;
use quorate_run::run;

/// Result of a run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Measured {
    pub(super) agreed: bool,
    pub(super) valid: bool,
    /// Whether no property was violated.
    pub(super) kept: bool,
    pub(super) messages: u64,
    command: String,
}

impl Measured {
    pub(super) fn of(scenario: &Scenario) -> Result<Self, ExperimentError> {
        let report = run(scenario, Conditions::default(), None)?.report;
        Ok(Self {
            agreed: holds(&report, Property::Agreement),
            valid: holds(&report, Property::Validity),
            kept: report.verdict != Verdict::Violated,
            messages: report.messages.total,
            command: command(scenario),
        })
    }
}

fn holds(report: &Report, property: Property) -> bool {
    let mut found = report.properties.iter().filter(|found| found.id == property.id());
    found.all(|found| found.status == Status::Holds)
}

/// Command that repeats this run alone.
fn command(scenario: &Scenario) -> String {
    let mut command = format!("quorate sim {} -n {}", scenario.algorithm, scenario.processes);
    let mut flag = |name: &str, value: &dyn std::fmt::Display| {
        command.push_str(&format!(" --{name} {value}"));
    };
    scenario.tolerates.iter().for_each(|tolerates| flag("faults", tolerates));
    if !scenario.values.is_empty() {
        let values: Vec<String> = scenario.values.iter().map(u64::to_string).collect();
        flag("values", &values.join(","));
    }
    scenario.faults.crash_mid.iter().for_each(|crash| flag("crash-mid", crash));
    scenario.faults.traitor.iter().for_each(|traitor| flag("traitor", traitor));
    flag("seed", &scenario.seed);
    command
}

/// Share of the runs that fulfil a condition; `None` if there are no runs.
pub(super) fn share(runs: &[Measured], such: fn(&Measured) -> bool) -> Option<f64> {
    let count = runs.iter().filter(|run| such(run)).count();
    (!runs.is_empty()).then(|| count as f64 / runs.len() as f64)
}

/// Mean number of messages; `None` if there are no runs.
pub(super) fn messages(runs: &[Measured]) -> Option<f64> {
    let sum: u64 = runs.iter().map(|run| run.messages).sum();
    (!runs.is_empty()).then(|| sum as f64 / runs.len() as f64)
}

/// Command of the first run with a violation.
pub(super) fn first_broken(runs: &[Measured]) -> Option<String> {
    runs.iter().find(|run| !run.kept).map(|run| run.command.clone())
}

/// A share in per cent, rounded down so that 100 means all.
pub(super) fn per_cent(share: f64) -> String {
    match share {
        1.0 => "100".to_owned(),
        share => format!("{:.1}", (share * 1000.0).floor() / 10.0),
    }
}
