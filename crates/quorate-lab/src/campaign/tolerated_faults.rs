//! Faults that a mutual exclusion algorithm claims to tolerate: links that lose, duplicate and reorder messages, and
//! clocks that drift.

use quorate_core::{Assumption, Drift, Profile, Span};
use quorate_sim::Scenario;
use quorate_sim::notation::{DriftText, SpanText};

use super::break_assumptions::FaultInjector;
use super::dice::{Dice, UNIT, assumes};

/// Adds faults that the algorithm's assumptions do not exclude. Nothing is drawn for an algorithm that does not tolerate
/// losses, so that its scenarios do not change.
pub(super) fn add_tolerated_faults(
    profile: &Profile,
    scenario: &mut Scenario,
    end: u64,
    dice: &mut Dice,
) {
    let excludes = |assumption| assumes(profile, assumption);
    if excludes(Assumption::NoLoss) {
        return;
    }
    if excludes(Assumption::BoundedDrift) {
        scenario.clock_offset = SpanText(Span(dice.between(0, 500 * UNIT)));
        scenario.clock_drift = DriftText(Drift(dice.between(0, 10_000_000) as i64));
    }
    let mut links = FaultInjector { scenario, dice, end };
    for _ in 0..links.dice.between(0, 3) {
        links.lose();
    }
    if !excludes(Assumption::NoDuplication) && links.dice.chance(0.5) {
        let twice = links.link_faults();
        links.scenario.faults.duplicate.extend(twice);
    }
    if !excludes(Assumption::Fifo) && !links.scenario.fifo && links.dice.chance(0.5) {
        let overtaken = links.link_faults();
        links.scenario.faults.reorder.extend(overtaken);
    }
}

#[cfg(test)]
mod tests {
    use quorate_algorithms::catalogue::PROFILES;
    use quorate_core::Layer;

    use super::super::ScenarioGenerator;
    use super::*;

    #[test]
    fn only_what_is_not_excluded_is_drawn() {
        let (mut lost, mut wrong) = (0, 0);
        for profile in PROFILES.iter().filter(|profile| profile.layer == Layer::Mutex) {
            for seed in 0..100 {
                let scenario = ScenarioGenerator::new(*profile).scenario(seed);
                let faults = &scenario.faults;
                let losses = faults.lose.len() + faults.cut.len() + faults.partition.len();
                assert!(losses == 0 || !assumes(profile, Assumption::NoLoss), "{scenario:?}");
                lost += losses;
                wrong += usize::from(scenario.clock_drift.0 != Drift::NONE);
            }
        }
        assert!(lost > 50 && wrong > 50, "{lost} {wrong}");
    }
}
