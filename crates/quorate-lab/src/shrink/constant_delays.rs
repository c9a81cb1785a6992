//! Delays that nothing draws: each link has its own, always the same, so that a run can be followed by hand.

use quorate_core::{ProcessId, Span};
use quorate_sim::notation::{Link, ProcessSelector};
use quorate_sim::random::{Random, Stream};
use quorate_sim::scenario::Requesters;
use quorate_sim::{Delay, LinkDelay, Scenario};

use super::requests;
use super::simplify::is_random_law;

/// So many ways are tried.
const TRIED: u64 = 64;

/// In larger worlds nobody could follow it anyhow.
const PROCESSES_MOST: usize = 8;

/// What links take, in milliseconds; most take the usual one.
const DELAYS: [u64; 6] = [1, 1, 1, 2, 5, 9];

/// Constants for all links and for news of crashes, drawn anew for each way.
pub(super) fn constant_delays(scenario: &Scenario) -> Vec<Scenario> {
    let laws = scenario.link_delay.iter().map(|own| &own.delay).chain([&scenario.delay]);
    let drawn = laws.into_iter().any(is_random_law);
    if scenario.processes > PROCESSES_MOST || !drawn && scenario.spread.0 == Span::ZERO {
        return Vec::new();
    }
    // In the first way, all links are alike.
    (0..if drawn { TRIED } else { 1 }).map(|number| candidate(scenario, number)).collect()
}

fn candidate(scenario: &Scenario, number: u64) -> Scenario {
    let mut random = Random::new(number, Stream::Experiment);
    let mut draw = || DELAYS[random.below(DELAYS.len() as u64) as usize];
    let mut simplified = scenario.clone();
    if is_random_law(&scenario.delay) {
        simplified.delay = Delay::Constant(Span::from_millis(1));
    }
    simplified.link_delay.retain(|own| number == 0 && !is_random_law(&own.delay));
    for from in ProcessId::all(scenario.processes) {
        for to in ProcessId::all(scenario.processes).filter(|to| *to != from) {
            let delay = draw();
            if delay != 1 && number > 0 {
                let link =
                    Link { from: ProcessSelector::Process(from), to: ProcessSelector::Process(to) };
                let delay = Delay::Constant(Span::from_millis(delay));
                simplified.link_delay.push(LinkDelay { link, delay });
            }
        }
    }
    if scenario.detection.as_ref().is_some_and(is_random_law) {
        simplified.detection = Some(Delay::Constant(Span::from_millis(draw())));
    }
    // Times that were drawn are as good as any.
    if scenario.spread.0 > Span::ZERO && scenario.request.is_empty() {
        simplified.request = requests::explicit(scenario);
        (simplified.requesters, simplified.spread) = (Requesters::One, Default::default());
    }
    simplified
}
