//! Random scenarios: delays, requests and crashes at any time, as a function of the seed.

use std::ops::RangeInclusive;

use quorate_algorithms::Setup;
use quorate_core::quorum::AnySystem;
use quorate_core::{Drift, ProcessId, Span, Time};
use quorate_sim::fault::{CrashMid, Cut, ProcessAt, Recover};
use quorate_sim::notation::{DriftText, Link, ProcessSelector, SpanText, When, Window};
use quorate_sim::random::{Random, Stream};
use quorate_sim::{Delay, Scenario};

/// Typical message delay, in nanoseconds.
const UNIT: u64 = 1_000_000;

/// Time until which processes crash.
const BUSY_UNITS: u64 = 40;

/// Greatest drift of clocks, in parts per billion: one percent.
const MOST_DRIFT: u64 = 10_000_000;

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
    add_recoveries(&mut scenario, &mut random);
    scenario
}

/// Requests as leases, while processes crash and recover, clocks are wrong and drift, and links lose, duplicate and reorder.
pub(crate) fn leases(algorithm: &str, seed: u64, processes: RangeInclusive<u64>) -> Scenario {
    let mut random = Random::new(seed, Stream::Worlds);
    let n = random.between(*processes.start(), *processes.end()) as usize;
    let mut scenario = requests(algorithm, n, seed, &mut random);
    scenario.fifo = false;
    scenario.until = Some(SpanText(Span(2 * BUSY_UNITS * UNIT)));
    if random.chance(0.7) {
        add_recoveries(&mut scenario, &mut random);
    }
    scenario.clock_offset = SpanText(Span(random.between(0, 100 * UNIT)));
    let drift = if random.chance(0.3) { 0 } else { random.between(0, MOST_DRIFT) };
    scenario.clock_drift = DriftText(Drift(drift as i64));
    let faults = &mut scenario.faults;
    let mut rate = || if random.chance(0.5) { random.below(25) as f64 / 100.0 } else { 0.0 };
    (faults.loss, faults.duplication, faults.reordering) = (rate(), rate(), rate());
    for _ in 0..random.below(4) {
        let mut any = || ProcessSelector::Process(ProcessId::new(random.below(n as u64) as u32));
        let link = Link { from: any(), to: any() };
        let from = random.below(BUSY_UNITS * UNIT);
        let until = Some(When::At(Time(from + random.between(1, BUSY_UNITS * UNIT))));
        let window = Window { from: When::At(Time(from)), until };
        if link.from != link.to {
            faults.cut.push(Cut { link, both_ways: random.chance(0.5), window });
        }
    }
    // Some sections last longer than a lease, and need renewals.
    if random.chance(0.3) {
        scenario.section = SpanText(Span(random.between(UNIT, BUSY_UNITS * UNIT)));
    }
    scenario
}

/// The setup of the scenario, with leases that often expire.
pub(crate) fn lease_setup(scenario: &Scenario) -> Setup {
    let mut random = Random::new(scenario.seed, Stream::Delays);
    // A short lease often ends before its votes have arrived.
    let range = if random.chance(0.3) { 2..6 } else { 10..BUSY_UNITS / 2 };
    let lease = Span(random.between(range.start * UNIT, range.end * UNIT));
    let mut setup = Setup { lease, seed: scenario.seed, ..Setup::new(scenario.processes) };
    setup.clock.limits.drift = scenario.local_clocks().drift;
    setup
}

fn add_recoveries(scenario: &mut Scenario, random: &mut Random) {
    for process in ProcessId::all(scenario.processes).map(ProcessSelector::Process) {
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
