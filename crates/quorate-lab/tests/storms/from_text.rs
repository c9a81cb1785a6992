//! Runs of scenarios that a storm writes as text.

use quorate_lab::run;
use quorate_sim::monitor::Status;
use quorate_sim::report::Report;
use quorate_sim::{Conditions, Scenario, parse};

pub(super) fn report(toml: &str) -> Report {
    let scenario: Scenario =
        parse(toml, "storm.toml").unwrap_or_else(|error| panic!("{error}\n{toml}"));
    run(&scenario, Conditions::default(), None)
        .unwrap_or_else(|error| panic!("{error}\n{toml}"))
        .report
}

pub(super) fn status(report: &Report, id: &str) -> Status {
    let property = report.properties.iter().find(|property| property.id == id);
    property.expect("the property is watched").status
}

pub(super) fn delay(seed: u64) -> &'static str {
    ["constant:1ms", "uniform:1us..5ms", "exponential:1ms"][seed as usize % 3]
}
