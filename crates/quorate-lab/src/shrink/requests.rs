//! Fewer requests: from fewer processes, less often, or with some left out.

use quorate_core::Time;
use quorate_sim::Scenario;
use quorate_sim::fault::ProcessAt;
use quorate_sim::notation::{ProcessSelector, SpanText, When};
use quorate_sim::scenario::Requesters;

use super::without_some;

pub(super) fn fewer(scenario: &Scenario) -> Vec<Scenario> {
    let mut all = Vec::new();
    if scenario.request.is_empty() && scenario.requesters != Requesters::One {
        all.push(Scenario { requesters: Requesters::One, ..scenario.clone() });
    }
    for repeat in [1, scenario.repeat / 2, scenario.repeat - 1] {
        if (1..scenario.repeat).contains(&repeat) {
            all.push(Scenario { repeat, ..scenario.clone() });
        }
    }
    for request in without_some(&explicit(scenario)) {
        if !request.is_empty() {
            let (requesters, spread) = (Requesters::One, SpanText::default());
            all.push(Scenario { requesters, spread, request, ..scenario.clone() });
        }
    }
    all
}

/// All first requests with explicit times.
pub(super) fn explicit(scenario: &Scenario) -> Vec<ProcessAt> {
    if !scenario.request.is_empty() {
        return scenario.request.clone();
    }
    let first = scenario.first_requests().into_iter();
    first
        .map(|(process, after)| ProcessAt {
            process: ProcessSelector::Process(process),
            at: When::At(Time(after.0)),
        })
        .collect()
}
