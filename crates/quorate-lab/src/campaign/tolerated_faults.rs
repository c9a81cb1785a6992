//! Faults that a mutual exclusion algorithm claims to tolerate: links that lose, duplicate and reorder messages, clocks
//! that drift, and processes that recover.

use quorate_core::mutex::voters;
use quorate_core::{Assumption, Drift, ProcessSet, Profile, Span, Time};
use quorate_sim::Scenario;
use quorate_sim::fault::{ProcessAt, Recover};
use quorate_sim::notation::{DriftText, ProcessSelector, SpanText, When};

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
    if !excludes(Assumption::NoCrash) && !excludes(Assumption::CrashStop) {
        let voters = if excludes(Assumption::QuorumUp) {
            voters(scenario.processes)
        } else {
            ProcessSet::new()
        };
        add_recoveries(scenario, &voters, dice);
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

/// Most crashed processes recover with their memory, soon or much later, and some crash once more. A majority of the voters
/// is up at the end.
fn add_recoveries(scenario: &mut Scenario, voters: &ProcessSet, dice: &mut Dice) {
    // Without multicasts no process crashes in the middle of one.
    let mid = std::mem::take(&mut scenario.faults.crash_mid).into_iter();
    scenario
        .faults
        .crash
        .extend(mid.map(|crash| ProcessAt { process: crash.process, at: crash.at }));
    let mut gone = voters.len().saturating_sub(1) / 2;
    let crashes = scenario.faults.crash.clone();
    for ProcessAt { process: selector, at } in crashes {
        let is_voter =
            matches!(selector, ProcessSelector::Process(process) if voters.contains(process));
        if dice.chance(0.25) && (!is_voter || gone > 0) {
            gone -= usize::from(is_voter);
            continue;
        }
        let back = at.latest().0 + downtime(dice);
        recover(scenario, selector, back);
        let crashes = scenario.faults.crash.len();
        if dice.chance(0.3) && crashes + 1 < scenario.processes {
            let again = back + dice.between(1, 20 * UNIT);
            scenario.faults.crash.push(ProcessAt { process: selector, at: When::At(Time(again)) });
            recover(scenario, selector, again + downtime(dice));
        }
    }
}

/// Time until a recovery: a quick restart, or one that may outlast every lease.
fn downtime(dice: &mut Dice) -> u64 {
    let most = if dice.chance(0.5) { 5 } else { 400 };
    dice.between(1, most * UNIT)
}

fn recover(scenario: &mut Scenario, selector: ProcessSelector, at: u64) {
    scenario.faults.recover.push(Recover {
        process: selector,
        at: When::At(Time(at)),
        memory: true,
    });
}

#[cfg(test)]
mod tests {
    use quorate_algorithms::catalogue::PROFILES;
    use quorate_core::{Layer, ProcessId};

    use super::super::ScenarioGenerator;
    use super::*;

    #[test]
    fn only_what_is_not_excluded_is_drawn() {
        let (mut lost, mut back, mut wrong) = (0, 0, 0);
        for profile in PROFILES.iter().filter(|profile| profile.layer == Layer::Mutex) {
            for seed in 0..100 {
                let scenario = ScenarioGenerator::new(*profile).scenario(seed);
                let faults = &scenario.faults;
                let losses = faults.lose.len() + faults.cut.len() + faults.partition.len();
                assert!(losses == 0 || !assumes(profile, Assumption::NoLoss), "{scenario:?}");
                let returns = faults.recover.len();
                assert!(returns == 0 || !assumes(profile, Assumption::CrashStop), "{scenario:?}");
                lost += losses;
                back += returns;
                wrong += usize::from(scenario.clock_drift.0 != Drift::NONE);
            }
        }
        assert!(lost > 50 && back > 50 && wrong > 50, "{lost} {back} {wrong}");
    }

    #[test]
    fn a_majority_of_voters_is_up_in_the_end() {
        let profile = PROFILES.iter().find(|it| it.name == "leased-quorum").expect("it is there");
        for seed in 0..300 {
            let scenario = ScenarioGenerator::new(*profile).scenario(seed);
            let faults = &scenario.faults;
            let stays_down = |process: &ProcessId| {
                let own =
                    |selector: ProcessSelector| selector == ProcessSelector::Process(*process);
                let crashes = faults.crash.iter().filter(|crash| own(crash.process)).count();
                crashes > faults.recover.iter().filter(|back| own(back.process)).count()
            };
            let voters = voters(scenario.processes);
            let gone = voters.iter().filter(stays_down).count();
            assert!(gone * 2 < voters.len(), "{scenario:?}");
        }
    }
}
