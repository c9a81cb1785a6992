//! Scenarios of elections: identifiers of the candidates, the start of elections, and changes of identifiers meanwhile.

use quorate_core::{ProcessId, Profile, Span, Time};
use quorate_run::{Entry, catalogue};
use quorate_sim::Scenario;
use quorate_sim::fault::ProcessAt;
use quorate_sim::notation::{Identify, ProcessSelector, SpanText, When};
use quorate_sim::scenario::{DetectorChoice, Requesters};

use super::dice::{Dice, UNIT};

/// Draws identifiers in any order, some of them equal. One, some or all processes start
/// elections, and some identifiers change.
pub(super) fn draw_election(profile: &Profile, scenario: &mut Scenario, draw: &mut Dice) {
    let n = scenario.processes as u64;
    scenario.ids = match draw.between(0, 2) {
        0 => Vec::new(),
        1 => (0..n).map(|_| draw.between(0, n)).collect(),
        _ => shuffled(n, draw),
    };
    let spread = if draw.chance(0.3) { 0 } else { draw.between(0, 20 * UNIT) };
    scenario.repeat = draw.between(1, 3) as u32;
    if draw.chance(0.3) {
        scenario.requesters = Requesters::All;
        scenario.spread = SpanText(Span(spread));
    } else {
        for _ in 0..draw.between(1, 4) {
            let at = When::At(Time(draw.between(0, spread)));
            scenario.request.push(ProcessAt { process: random_selector(n, draw), at });
        }
    }
    let facts = catalogue().get(profile.name).map(Entry::facts);
    if facts.is_some_and(|facts| !facts.knows_identifiers) && draw.chance(0.4) {
        for _ in 0..draw.between(1, 4) {
            let (value, at) = (draw.between(0, 2 * n), When::At(Time(draw.between(0, 30 * UNIT))));
            scenario.identify.push(Identify { process: random_selector(n, draw), value, at });
        }
    }
    if facts.is_some_and(|facts| facts.delays_by_rank) && draw.chance(0.3) {
        scenario.rank_delay = SpanText(Span(draw.between(1, 10 * UNIT)));
    }
}

/// If delays are bounded, processes may run their own failure detectors.
pub(super) fn draw_detector(scenario: &mut Scenario, draw: &mut Dice) {
    let own = draw.between(0, 9);
    if scenario.delay_bound().is_some() && own < 2 {
        scenario.detector = [DetectorChoice::Heartbeat, DetectorChoice::Vcube][own as usize];
        scenario.detection = None;
    }
}

fn random_selector(n: u64, draw: &mut Dice) -> ProcessSelector {
    ProcessSelector::Process(ProcessId::new(draw.between(0, n - 1) as u32))
}

fn shuffled(n: u64, draw: &mut Dice) -> Vec<u64> {
    let mut ids: Vec<u64> = (0..n).collect();
    for place in (1..ids.len()).rev() {
        ids.swap(place, draw.between(0, place as u64) as usize);
    }
    ids
}
