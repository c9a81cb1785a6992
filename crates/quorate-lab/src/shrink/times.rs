//! Rounder times: zero, whole milliseconds, then small numbers of them.

use quorate_core::{Span, Time};
use quorate_sim::fault::Faults;
use quorate_sim::notation::{When, Window};
use quorate_sim::{Delay, Scenario, Timing};

const MILLISECOND: u64 = 1_000_000;

/// Replacements of a time, the roundest first.
const ROUNDER: [fn(u64) -> u64; 11] = [
    |_| 0,
    |_| MILLISECOND,
    |time| down(time / 2, MILLISECOND),
    |time| down(time - time / 4, MILLISECOND),
    |time| down(time, MILLISECOND),
    |time| down(time, MILLISECOND).saturating_sub(MILLISECOND),
    |time| up(time, MILLISECOND),
    |time| down(time, MILLISECOND / 10),
    |time| down(time, MILLISECOND / 100),
    |time| down(time, MILLISECOND / 1_000),
    |time| up(time, MILLISECOND / 1_000),
];

fn down(time: u64, unit: u64) -> u64 {
    time / unit * unit
}

fn up(time: u64, unit: u64) -> u64 {
    time.div_ceil(unit).saturating_mul(unit)
}

/// Rounds all times together, then each one alone.
pub(super) fn rounder(scenario: &Scenario) -> Vec<Scenario> {
    let mut count = 0;
    each(&mut scenario.clone(), &mut |_| count += 1);
    let mut all = Vec::new();
    for round in ROUNDER {
        all.extend(rounded(scenario, round, None));
    }
    for place in 0..count {
        for round in ROUNDER {
            all.extend(rounded(scenario, round, Some(place)));
        }
    }
    all
}

/// Rounds all times, or only the one at this position; `None` if nothing changes.
fn rounded(scenario: &Scenario, round: fn(u64) -> u64, place: Option<usize>) -> Option<Scenario> {
    let mut plain = scenario.clone();
    let mut at = 0;
    each(&mut plain, &mut |time| {
        if place.is_none_or(|place| place == at) {
            *time = round(*time);
        }
        at += 1;
    });
    // Windows must end after they start, and the ends of a range must be in order.
    (plain != *scenario && is_in_order(&plain)).then_some(plain)
}

/// Applies a change to each time of a scenario, in a fixed order.
fn each(scenario: &mut Scenario, change: &mut dyn FnMut(&mut u64)) {
    for span in [
        &mut scenario.spread,
        &mut scenario.section,
        &mut scenario.think,
        &mut scenario.handling,
        &mut scenario.rank_delay,
        &mut scenario.clock_offset,
    ] {
        change(&mut span.0.0);
    }
    for span in [&mut scenario.outlier, &mut scenario.until, &mut scenario.patience] {
        span.iter_mut().for_each(|span| change(&mut span.0.0));
    }
    each_law(&mut scenario.delay, change);
    scenario.detection.iter_mut().for_each(|law| each_law(law, change));
    let own = scenario.link_delay.iter_mut().chain(&mut scenario.detection_pair);
    own.for_each(|own| each_law(&mut own.delay, change));
    scenario.arrival.iter_mut().for_each(|own| change(&mut own.at.0));
    for own in &mut scenario.section_of {
        own.durations.iter_mut().for_each(|duration| change(&mut duration.0));
    }
    if let Some(Timing::Rounds(Span(time)) | Timing::Eventually(Time(time))) = &mut scenario.timing
    {
        change(time);
    }
    scenario.request.iter_mut().for_each(|request| each_moment(&mut request.at, change));
    scenario.identify.iter_mut().for_each(|identify| each_moment(&mut identify.at, change));
    each_fault(&mut scenario.faults, change);
}

fn each_fault(faults: &mut Faults, change: &mut dyn FnMut(&mut u64)) {
    faults.crash.iter_mut().for_each(|fault| each_moment(&mut fault.at, change));
    faults.crash_mid.iter_mut().for_each(|fault| each_moment(&mut fault.at, change));
    faults.recover.iter_mut().for_each(|fault| each_moment(&mut fault.at, change));
    faults.clock.iter_mut().for_each(|fault| each_moment(&mut fault.at, change));
    let single = faults.lose.iter_mut().chain(&mut faults.duplicate).chain(&mut faults.reorder);
    let single = single.chain(&mut faults.corrupt);
    single.for_each(|fault| each_moment(&mut fault.at, change));
    let omissions = faults.omit_send.iter_mut().chain(&mut faults.omit_receive);
    omissions.for_each(|fault| each_end(&mut fault.window, change));
    for slow in &mut faults.slow {
        each_end(&mut slow.window, change);
        change(&mut slow.handling.0);
    }
    faults.fast.iter_mut().for_each(|fault| each_end(&mut fault.window, change));
    faults.cut.iter_mut().for_each(|fault| each_end(&mut fault.window, change));
    faults.partition.iter_mut().for_each(|fault| each_end(&mut fault.window, change));
    faults.suspect.iter_mut().for_each(|fault| each_end(&mut fault.window, change));
}

fn each_law(law: &mut Delay, change: &mut dyn FnMut(&mut u64)) {
    match law {
        Delay::Constant(span)
        | Delay::Exponential(span)
        | Delay::Pareto(span, _)
        | Delay::LogNormal(span, _) => change(&mut span.0),
        Delay::Uniform(low, high) => {
            change(&mut low.0);
            change(&mut high.0);
        }
        Delay::Choice(spans) | Delay::List(spans) => {
            spans.iter_mut().for_each(|span| change(&mut span.0))
        }
    }
}

fn each_moment(moment: &mut When, change: &mut dyn FnMut(&mut u64)) {
    match moment {
        When::At(time) => change(&mut time.0),
        When::Between(low, high) => {
            change(&mut low.0);
            change(&mut high.0);
        }
    }
}

fn each_end(window: &mut Window, change: &mut dyn FnMut(&mut u64)) {
    each_moment(&mut window.from, change);
    window.until.iter_mut().for_each(|until| each_moment(until, change));
}

/// Whether windows and ranges are still in order. Only such a scenario can be parsed from a file, so
/// this tries to parse it.
fn is_in_order(scenario: &Scenario) -> bool {
    let text = serde_json::to_string(scenario);
    text.is_ok_and(|text| serde_json::from_str::<Scenario>(&text).is_ok())
}
