//! Requests after the faults: once the last fault is over and every process knows of it, the surviving processes make
//! requests again, and all of these must succeed.

use quorate_core::{Layer, ProcessId, ProcessSet, Span, Time};
use quorate_sim::Scenario;
use quorate_sim::fault::{Faults, ProcessAt};
use quorate_sim::notation::{ProcessSelector, SpanText, When};
use quorate_sim::scenario::Requesters;

use super::dice::{Dice, UNIT};

/// Lets surviving processes make requests after all faults, about as many as there are survivors. Returns the number of
/// first requests added; 0 if there are no faults, if one never ends, or if no second request is possible.
pub(super) fn heal(scenario: &mut Scenario, layer: Layer, dice: &mut Dice) -> usize {
    let Some(storm) = storm_end(&scenario.faults) else { return 0 };
    if matches!(layer, Layer::Agreement | Layer::Detector) {
        return 0;
    }
    let noticed = scenario.detection.as_ref().and_then(|law| law.bound()).unwrap_or(Span(UNIT));
    let calm = storm.0 + noticed.0 + UNIT;
    let crashed = crashed(&scenario.faults);
    let mut left: Vec<ProcessId> =
        ProcessId::all(scenario.processes).filter(|process| !crashed.contains(*process)).collect();
    let asking = left.len().div_ceil(scenario.repeat as usize);
    if scenario.request.is_empty() {
        let first = scenario.first_requests().into_iter();
        scenario.request =
            first.map(|(process, after)| request_at(process, Time(after.0))).collect();
        (scenario.requesters, scenario.spread) = (Requesters::One, SpanText::default());
    }
    for place in 0..asking {
        let other = dice.between(place as u64, left.len() as u64 - 1) as usize;
        left.swap(place, other);
        let at = Time(calm + dice.between(0, 4 * UNIT));
        scenario.request.push(request_at(left[place], at));
    }
    asking
}

fn request_at(process: ProcessId, at: Time) -> ProcessAt {
    ProcessAt { process: ProcessSelector::Process(process), at: When::At(at) }
}

/// Time at which the last fault has happened or ended; `None` if there are no faults, or if one never ends.
fn storm_end(faults: &Faults) -> Option<Time> {
    let rates = faults.loss + faults.duplication + faults.reordering + faults.corruption;
    if rates > 0.0 || !faults.traitor.is_empty() {
        return None;
    }
    let moments = faults.crash.iter().map(|crash| crash.at);
    let moments = moments.chain(faults.crash_mid.iter().map(|crash| crash.at));
    let moments = moments.chain(faults.recover.iter().map(|recover| recover.at));
    let single = faults.lose.iter().chain(&faults.duplicate).chain(&faults.reorder);
    let single = single.chain(&faults.corrupt);
    let moments = moments.chain(single.map(|fault| fault.at));
    let windows = faults.suspect.iter().map(|fault| fault.window);
    let windows = windows.chain(faults.partition.iter().map(|fault| fault.window));
    let windows = windows.chain(faults.cut.iter().map(|fault| fault.window));
    let windows = windows.chain(faults.fast.iter().map(|fault| fault.window));
    let windows = windows.chain(faults.slow.iter().map(|fault| fault.window));
    let omissions = faults.omit_send.iter().chain(&faults.omit_receive);
    let windows = windows.chain(omissions.map(|fault| fault.window));
    let ends = windows.map(|window| window.until.map(When::latest));
    moments.map(|at| Some(at.latest())).chain(ends).try_fold(None, |last: Option<Time>, end| {
        end.map(|end| Some(last.map_or(end, |last| last.max(end))))
    })?
}

/// Processes that crash and do not recover.
fn crashed(faults: &Faults) -> ProcessSet {
    let plain = faults.crash.iter().map(|crash| crash.process);
    let mid = faults.crash_mid.iter().map(|crash| crash.process);
    let back = |selector: &ProcessSelector| {
        !faults.recover.iter().any(|recover| recover.process == *selector)
    };
    let named = |selector: ProcessSelector| match selector {
        ProcessSelector::Process(process) => Some(process),
        ProcessSelector::Any => None,
    };
    plain.chain(mid).filter(back).filter_map(named).collect()
}

#[cfg(test)]
mod tests {
    use quorate_algorithms::catalogue::PROFILES;

    use super::super::ScenarioGenerator;
    use super::*;

    #[test]
    fn whoever_is_left_asks_once_the_last_fault_is_over() {
        let mut healed = 0;
        for profile in PROFILES {
            let generator = ScenarioGenerator::new(*profile);
            for seed in 0..100 {
                let generated = generator.generate(seed);
                let Some(storm) = storm_end(&generated.scenario.faults) else {
                    assert_eq!(generated.requests_after_faults, 0);
                    continue;
                };
                let crashed = crashed(&generated.scenario.faults);
                let asks_afterwards = |request: &&ProcessAt| {
                    let ProcessSelector::Process(process) = request.process else { return false };
                    request.at.earliest() > storm && !crashed.contains(process)
                };
                let after = generated.scenario.request.iter().filter(asks_afterwards).count();
                assert!(after >= generated.requests_after_faults, "{:?}", generated.scenario);
                healed += generated.requests_after_faults;
                let asks_once = matches!(profile.layer, Layer::Agreement | Layer::Detector);
                assert_eq!(
                    generated.requests_after_faults == 0,
                    asks_once,
                    "{:?}",
                    generated.scenario
                );
            }
        }
        assert!(healed > 1_000, "{healed} requests after storms");
    }
}
