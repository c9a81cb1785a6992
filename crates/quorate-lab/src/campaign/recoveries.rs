//! Recoveries: processes that crash and recover, some of them more than once, and often several at the same time.

use quorate_core::mutex::voters;
use quorate_core::{Assumption, Profile, Time};
use quorate_core::{ProcessId, ProcessSet};
use quorate_sim::Scenario;
use quorate_sim::fault::{ProcessAt, Recover};
use quorate_sim::notation::{ProcessSelector, When};

use super::dice::{Dice, UNIT, assumes};

/// Lets most crashed processes recover, soon or much later, and some of them crash once more. Nothing is drawn if the
/// algorithm assumes that crashed processes stay down, so that its scenarios do not change. If it assumes that a quorum of
/// the voters is up, a majority of them is up at the end.
pub(super) fn add_recoveries(profile: &Profile, scenario: &mut Scenario, dice: &mut Dice) {
    let excludes = |assumption| assumes(profile, assumption);
    if excludes(Assumption::NoCrash) || excludes(Assumption::CrashStop) {
        return;
    }
    // The time of a crash in the middle of a multicast depends on the run, so a recovery might come before it.
    let mid = std::mem::take(&mut scenario.faults.crash_mid).into_iter();
    scenario
        .faults
        .crash
        .extend(mid.map(|crash| ProcessAt { process: crash.process, at: crash.at }));
    let needs_quorum = excludes(Assumption::QuorumUp);
    let voters = if needs_quorum { voters(scenario.processes) } else { ProcessSet::new() };
    let bounded = [Assumption::ServerUp, Assumption::FewCrashes, Assumption::FewFaults];
    let bounded = bounded.into_iter().any(excludes);
    if !needs_quorum && !bounded && dice.chance(0.1) {
        crash_the_rest(scenario, dice);
    }
    let may_forget = !excludes(Assumption::Memory);
    let mut gone = voters.len().saturating_sub(1) / 2;
    let most = scenario.processes - usize::from(needs_quorum);
    let crashes = scenario.faults.crash.clone();
    let all = crashes.len() == scenario.processes;
    for ProcessAt { process: selector, at } in crashes {
        let is_voter =
            matches!(selector, ProcessSelector::Process(process) if voters.contains(process));
        if !all && dice.chance(0.25) && (!is_voter || gone > 0) {
            gone -= usize::from(is_voter);
            continue;
        }
        let memory = !(may_forget && dice.chance(0.5));
        let back = at.latest().0 + downtime(dice);
        recover(scenario, selector, back, memory);
        let crashes = scenario.faults.crash.len();
        if dice.chance(0.3) && crashes < most {
            let again = back + dice.between(1, 20 * UNIT);
            scenario.faults.crash.push(ProcessAt { process: selector, at: When::At(Time(again)) });
            recover(scenario, selector, again + downtime(dice), memory);
        }
    }
}

/// Lets every process crash that does not crash yet. All of them recover.
fn crash_the_rest(scenario: &mut Scenario, dice: &mut Dice) {
    let crash = &mut scenario.faults.crash;
    let Some(last) = crash.iter().map(|crash| crash.at.latest().0).max() else { return };
    for process in ProcessId::all(scenario.processes) {
        let process = ProcessSelector::Process(process);
        if !crash.iter().any(|crash| crash.process == process) {
            crash.push(ProcessAt { process, at: When::At(Time(dice.between(0, last))) });
        }
    }
}

/// Time until a recovery: a quick restart, or one that may outlast every lease.
fn downtime(dice: &mut Dice) -> u64 {
    let most = if dice.chance(0.5) { 5 } else { 400 };
    dice.between(1, most * UNIT)
}

fn recover(scenario: &mut Scenario, process: ProcessSelector, at: u64, memory: bool) {
    scenario.faults.recover.push(Recover { process, at: When::At(Time(at)), memory });
}

#[cfg(test)]
mod tests {
    use quorate_algorithms::catalogue::PROFILES;

    use super::super::ScenarioGenerator;
    use super::*;

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

    #[test]
    fn recoveries_are_drawn_wherever_they_are_admitted() {
        for profile in PROFILES {
            let generator = ScenarioGenerator::new(*profile);
            let scenarios = (0..100).map(|seed| generator.scenario(seed));
            let returns: usize = scenarios.map(|scenario| scenario.faults.recover.len()).sum();
            let excluded =
                assumes(profile, Assumption::NoCrash) || assumes(profile, Assumption::CrashStop);
            assert_eq!(returns == 0, excluded, "{}: {returns} recoveries", profile.name);
        }
    }
}
