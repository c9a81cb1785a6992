//! Random scenarios: delays, requests and crashes at any time, as a function of the seed.

use std::ops::RangeInclusive;

use quorate_algorithms::Setup;
use quorate_core::quorum::AnySystem;
use quorate_core::{ProcessId, Span, Time};
use quorate_sim::fault::{CrashMid, ProcessAt, Recover};
use quorate_sim::notation::{ProcessSelector, SpanText, When};
use quorate_sim::random::{Random, Stream};
use quorate_sim::{Delay, Scenario};

/// Typical message delay, in nanoseconds.
const UNIT: u64 = 1_000_000;

/// Time until which processes crash.
const BUSY_UNITS: u64 = 40;

/// The setup of an algorithm with these quorums.
pub(crate) fn setup(scenario: &Scenario, quorums: AnySystem) -> Setup {
    Setup { quorums, seed: scenario.seed, ..Setup::new(scenario.processes) }
}

/// Processes that request several times, some of which crash and stay down.
pub(crate) fn crashes(algorithm: &str, seed: u64, processes: RangeInclusive<u64>) -> Scenario {
    let mut random = Random::new(seed, Stream::Worlds);
    let n = random.between(*processes.start(), *processes.end()) as usize;
    let mut scenario = requests(algorithm, n, seed, &mut random);
    let mut processes: Vec<ProcessId> = ProcessId::all(n).collect();
    for _ in 0..random.below(n as u64) {
        let place = random.below(processes.len() as u64) as usize;
        let process = ProcessSelector::Process(processes.swap_remove(place));
        let at = When::At(Time(random.below(BUSY_UNITS * UNIT)));
        if random.chance(0.25) {
            let sends = random.below(n as u64) as u32;
            scenario.faults.crash_mid.push(CrashMid { process, at, sends });
        } else {
            scenario.faults.crash.push(ProcessAt { process, at });
        }
    }
    let quick = random.between(UNIT / 10, 10 * UNIT);
    scenario.detection = Some(Delay::Uniform(Span(quick), Span(random.between(quick, 10 * UNIT))));
    scenario
}

/// Processes that request several times, some of which crash and recover, also repeatedly.
pub(crate) fn recoveries(algorithm: &str, seed: u64, processes: RangeInclusive<u64>) -> Scenario {
    let mut random = Random::new(seed, Stream::Worlds);
    let n = random.between(*processes.start(), *processes.end()) as usize;
    let mut scenario = requests(algorithm, n, seed, &mut random);
    for process in ProcessId::all(n).map(ProcessSelector::Process) {
        let mut time = random.below(BUSY_UNITS * UNIT);
        for _ in 0..random.below(3) {
            scenario.faults.crash.push(ProcessAt { process, at: When::At(Time(time)) });
            if random.chance(0.15) {
                break;
            }
            time += random.between(1, 10 * UNIT);
            let at = When::At(Time(time));
            scenario.faults.recover.push(Recover { process, at, memory: true });
            time += random.between(1, 20 * UNIT);
        }
    }
    let quick = random.between(UNIT / 10, 5 * UNIT);
    scenario.detection = Some(Delay::Uniform(Span(quick), Span(random.between(quick, 5 * UNIT))));
    scenario
}

/// Every process requests a few times.
fn requests(algorithm: &str, n: usize, seed: u64, random: &mut Random) -> Scenario {
    let mut scenario = Scenario { seed, fifo: true, ..Scenario::new(algorithm, n) };
    let low = random.between(UNIT / 1_000, UNIT);
    scenario.delay = Delay::Uniform(Span(low), Span(random.between(UNIT, 5 * UNIT)));
    scenario.section = SpanText(Span(random.between(UNIT / 1_000, 3 * UNIT)));
    for process in ProcessId::all(n) {
        for _ in 0..random.between(1, 3) {
            let at = When::At(Time(random.below(BUSY_UNITS * UNIT)));
            scenario.request.push(ProcessAt { process: ProcessSelector::Process(process), at });
        }
    }
    scenario
}
