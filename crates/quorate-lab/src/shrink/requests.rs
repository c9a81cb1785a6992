//! Fewer requests: by fewer, less often, or one of them left out.

use quorate_core::Time;
use quorate_sim::Scenario;
use quorate_sim::fault::Occasion;
use quorate_sim::notation::{SpanText, When, Who};
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

/// All first requests with times of their own.
pub(super) fn explicit(scenario: &Scenario) -> Vec<Occasion> {
    if !scenario.request.is_empty() {
        return scenario.request.clone();
    }
    let first = scenario.first_requests().into_iter();
    first
        .map(|(process, after)| Occasion {
            who: Who::Process(process),
            at: When::At(Time(after.0)),
        })
        .collect()
}
