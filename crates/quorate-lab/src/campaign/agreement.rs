//! Scenarios of agreements: proposed values, the number of faults to tolerate, and at most that many faults.

use std::ops::RangeInclusive;

use quorate_core::{Assumption, ProcessId, Profile, Span, Time};
use quorate_run::{Entry, catalogue};
use quorate_sim::fault::{CrashMid, ProcessAt, Traitor};
use quorate_sim::notation::{ProcessSelector, SpanText, When};
use quorate_sim::traitor::Strategy;
use quorate_sim::{Delay, Scenario};

use super::dice::{Dice, UNIT, assumes};

/// Maximum number of faults drawn. Some algorithms need exponentially many messages to tolerate more.
const FAULTS_MOST: usize = 3;
const TRAITORS_MOST: usize = 2;

/// Strategies of traitors that are drawn.
pub(super) const STRATEGIES: [Strategy; 6] = [
    Strategy::Silent,
    Strategy::Liar,
    Strategy::Equivocator,
    Strategy::TwoFaced,
    Strategy::Stutterer,
    Strategy::Random,
];

/// Draws the parts of a scenario that are specific to agreements.
pub(super) fn draw(
    profile: &Profile,
    crashes: &RangeInclusive<usize>,
    scenario: &mut Scenario,
    dice: &mut Dice,
) {
    let n = scenario.processes;
    let facts = catalogue().get(profile.name).map(Entry::facts);
    let usual = facts.and_then(|facts| (facts.tolerates)(n));
    let in_rounds = facts.is_some_and(|facts| facts.in_rounds);
    draw_values(scenario, dice);
    if let Some(greatest) = facts.and_then(|facts| facts.agreement_kind.greatest_value()) {
        scenario.values.iter_mut().for_each(|value| *value = (*value).min(greatest.0));
    }
    scenario.server = dice.between(0, n as u64 - 1) as u32;
    // In rounds, every process proposes in the first round.
    let round = scenario.delay_bound().unwrap_or(Span(UNIT)).0;
    let latest = if in_rounds { round - 1 } else { 8 * UNIT };
    scenario.spread = SpanText(Span(if dice.chance(0.7) { 0 } else { dice.between(0, latest) }));
    let lies = assumes(profile, Assumption::FewFaults);
    let most = match usual {
        None => usize::MAX,
        Some(_) if assumes(profile, Assumption::LessThanAThird) => ((n - 1) / 3).min(TRAITORS_MOST),
        Some(_) if lies => n.saturating_sub(2).min(FAULTS_MOST),
        Some(usual) if !in_rounds => usual,
        Some(_) => (n - 1).min(FAULTS_MOST),
    };
    let (most, least) = (most.min(*crashes.end()).min(n - 1), *crashes.start());
    let failing = dice.between(least.min(most) as u64, most as u64) as usize;
    if usual.is_some() {
        scenario.tolerates = Some(dice.between(failing as u64, most as u64) as usize);
    }
    let rounds = scenario.tolerates.unwrap_or(8) as u64 + 1;
    draw_faults(profile, scenario, dice, failing, rounds * round, lies);
    if !in_rounds && !scenario.faults.crash.is_empty() {
        let quick = dice.between(UNIT / 10, 10 * UNIT);
        let slow = dice.between(quick, 10 * UNIT);
        scenario.detection = Some(Delay::Uniform(Span(quick), Span(slow)));
    }
}

/// All values are equal, one of two, or one of several.
fn draw_values(scenario: &mut Scenario, dice: &mut Dice) {
    let most = [0, 1, 1, scenario.processes as u64][dice.between(0, 3) as usize];
    let first = dice.between(0, 1);
    scenario.values = (0..scenario.processes).map(|_| first + dice.between(0, most)).collect();
}

/// Some processes crash, more than half of them in the middle of a multicast. If the algorithm tolerates traitors, most of
/// the faulty processes are traitors.
fn draw_faults(
    profile: &Profile,
    scenario: &mut Scenario,
    dice: &mut Dice,
    failing: usize,
    end: u64,
    lies: bool,
) {
    let n = scenario.processes;
    let spared = assumes(profile, Assumption::ServerUp).then_some(scenario.server);
    let mut order: Vec<u32> = (0..n as u32).filter(|process| Some(*process) != spared).collect();
    // A traitor does the most damage as the commander.
    let commander = order.iter().position(|process| *process == scenario.server);
    let commander = commander.filter(|_| lies && dice.chance(0.5));
    for place in 0..failing.min(order.len()) {
        let other = dice.between(place as u64, order.len() as u64 - 1) as usize;
        order.swap(place, commander.filter(|_| place == 0).unwrap_or(other));
        let selector = ProcessSelector::Process(ProcessId::new(order[place]));
        let at = When::At(Time(dice.between(0, end)));
        if lies && dice.chance(0.8) {
            let strategy = STRATEGIES[dice.between(0, STRATEGIES.len() as u64 - 1) as usize];
            scenario.faults.traitor.push(Traitor { process: selector, strategy });
        } else if dice.chance(0.6) {
            let sends = dice.between(0, n as u64 - 1) as u32;
            scenario.faults.crash_mid.push(CrashMid { process: selector, at, sends });
        } else {
            scenario.faults.crash.push(ProcessAt { process: selector, at });
        }
    }
}
