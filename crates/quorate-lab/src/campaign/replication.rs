//! Requests and faults of replicated logs. An election takes many message delays, so everything is spread over a longer time
//! than in other families: several leaders follow each other, and commands come before, during and after their terms.

use quorate_core::{Assumption, ProcessId, ProcessSet, Span, Time};
use quorate_sim::fault::{Cut, Faults, Omission, Partition, ProcessAt};
use quorate_sim::notation::{Link, ProcessSelector, Rate, SpanText, When, Window};
use quorate_sim::scenario::Requesters;
use quorate_sim::{Delay, Scenario};

use super::ScenarioGenerator;
use super::dice::{Dice, UNIT, assumes};

/// Time within which faults start: long enough for several elections.
pub(super) const BUSY: u64 = 400 * UNIT;

/// Time until which leaders are mute: long enough for a dozen elections.
const MUTE_UNTIL: u64 = 1_500 * UNIT;

/// Every process submits commands: all equally often and soon after one another, or each at random times.
pub(super) fn draw_requests(scenario: &mut Scenario, draw: &mut Dice) {
    scenario.think = SpanText(Span(draw.between(1, 50 * UNIT)));
    let spread = [8 * UNIT, BUSY / 2, BUSY][draw.between(0, 2) as usize];
    if draw.chance(0.3) {
        scenario.requesters = Requesters::All;
        scenario.repeat = draw.between(1, 4) as u32;
        scenario.spread = SpanText(Span(spread));
        return;
    }
    for process in ProcessId::all(scenario.processes) {
        for _ in 0..draw.between(0, 2) {
            let at = When::At(Time(draw.between(0, spread)));
            scenario.request.push(ProcessAt { process: ProcessSelector::Process(process), at });
        }
    }
    if scenario.request.is_empty() {
        let process = ProcessSelector::Process(ProcessId::new(0));
        scenario.request.push(ProcessAt { process, at: When::At(Time(spread)) });
    }
}

/// Adds losses that last long enough to bring down a leader, if the algorithm tolerates losses: parts of the network that do not
/// hear from each other, or single processes that neither send nor receive.
pub(super) fn add_outages(generator: &ScenarioGenerator, scenario: &mut Scenario, draw: &mut Dice) {
    let profile = &generator.profile;
    if assumes(profile, Assumption::NoLoss) || scenario.processes < 2 {
        return;
    }
    if assumes(profile, Assumption::Memory) && draw.chance(0.25) {
        return mute_leaders(generator, scenario, draw);
    }
    for _ in 0..draw.between(0, 4) {
        let window = outage(draw);
        match draw.between(0, 3) {
            0 => partition(scenario, window, draw),
            1 => {
                let (process, rate) = (selector(scenario, draw), Rate(1.0));
                scenario.faults.omit_send.push(Omission { process, window, rate });
            }
            2 => {
                let (process, rate) = (selector(scenario, draw), Rate(0.5));
                scenario.faults.omit_receive.push(Omission { process, window, rate });
            }
            _ => cut(scenario, window, draw),
        }
    }
}

fn outage(draw: &mut Dice) -> Window {
    let from = draw.between(0, BUSY);
    let until = from + draw.between(UNIT, BUSY / 2);
    Window { from: When::At(Time(from)), until: Some(When::At(Time(until))) }
}

fn selector(scenario: &Scenario, draw: &mut Dice) -> ProcessSelector {
    let last = scenario.processes as u64 - 1;
    ProcessSelector::Process(ProcessId::new(draw.between(0, last) as u32))
}

fn partition(scenario: &mut Scenario, window: Window, draw: &mut Dice) {
    let n = scenario.processes;
    let groups: [ProcessSet; 2] = {
        let side: Vec<bool> = (0..n).map(|_| draw.chance(0.5)).collect();
        [true, false].map(|of| ProcessId::all(n).filter(|id| side[id.index()] == of).collect())
    };
    if groups.iter().all(|group| !group.is_empty()) {
        scenario.faults.partition.push(Partition { groups: groups.into(), window });
    }
}

fn cut(scenario: &mut Scenario, window: Window, draw: &mut Dice) {
    let n = scenario.processes as u64;
    let (from, shift) = (draw.between(0, n - 1), draw.between(1, n - 1));
    let named = |number: u64| ProcessSelector::Process(ProcessId::new((number % n) as u32));
    let link = Link { from: named(from), to: named(from + shift) };
    scenario.faults.cut.push(Cut { link, both_ways: draw.chance(0.5), window });
}

/// Two of three processes can send only for a few moments at a time: long enough to be elected, and often too short to replicate
/// an entry. So leaders with different logs follow each other, and entries of earlier terms are replicated late (figure 8 of
/// the Raft paper). Nothing else disturbs the run.
fn mute_leaders(generator: &ScenarioGenerator, scenario: &mut Scenario, draw: &mut Dice) {
    // The flags of a campaign may ask for other worlds.
    if !generator.processes.contains(&3) || *generator.crashes.start() > 0 {
        return;
    }
    (scenario.processes, scenario.faults, scenario.repeat) = (3, Faults::default(), 1);
    (scenario.delay, scenario.timing) = (Delay::Constant(Span(UNIT)), None);
    (scenario.requesters, scenario.request, scenario.detection) = Default::default();
    scenario.spread = SpanText::default();
    let mute = draw.between(0, 2) as u32;
    for process in [mute, (mute + 1) % 3].map(ProcessId::new) {
        let mut from = 0;
        while from < MUTE_UNTIL {
            let until = from + draw.between(30 * UNIT, 60 * UNIT);
            let (from_time, until_time) = (When::At(Time(from)), When::At(Time(until)));
            let window = Window { from: from_time, until: Some(until_time) };
            let (process, rate) = (ProcessSelector::Process(process), Rate(1.0));
            scenario.faults.omit_send.push(Omission { process, window, rate });
            from = until + draw.between(3 * UNIT, 7 * UNIT);
        }
    }
    for _ in 0..draw.between(1, 6) {
        let (process, at) = (selector(scenario, draw), When::At(Time(draw.between(0, MUTE_UNTIL))));
        scenario.request.push(ProcessAt { process, at });
    }
}
