//! Delays without randomness: each link has its own constant delay, so that a run can be followed by hand.

use quorate_core::{ProcessId, Span};
use quorate_sim::notation::{Link, ProcessSelector};
use quorate_sim::random::{Random, Stream};
use quorate_sim::scenario::Requesters;
use quorate_sim::{Delay, LinkDelay, Scenario};

use super::requests;
use super::simplify::is_random_law;

/// Number of candidates to try.
const TRIED: u64 = 64;

/// Maximum number of processes. A larger run could not be followed by hand anyway.
const PROCESSES_MOST: usize = 8;

/// Delays of links in milliseconds, to draw from. Half of the links get the usual one.
const DELAYS: [u64; 6] = [1, 1, 1, 2, 5, 9];

/// Candidates with constant delays for all links and for crash notices, drawn anew for each candidate.
pub(super) fn constant_delays(scenario: &Scenario) -> Vec<Scenario> {
    let laws = scenario.link_delay.iter().map(|own| &own.delay).chain([&scenario.delay]);
    let drawn = laws.into_iter().any(is_random_law);
    if scenario.processes > PROCESSES_MOST || !drawn && scenario.spread.0 == Span::ZERO {
        return Vec::new();
    }
    // In the first candidate, all links have the same delay.
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
    // The times that were drawn are as good as any others.
    if scenario.spread.0 > Span::ZERO && scenario.request.is_empty() {
        simplified.request = requests::explicit(scenario);
        (simplified.requesters, simplified.spread) = (Requesters::One, Default::default());
    }
    simplified
}
