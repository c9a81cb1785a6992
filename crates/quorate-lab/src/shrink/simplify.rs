//! Simpler scenarios: default values instead of special ones, and constants instead of delay distributions.

use quorate_core::Span;
use quorate_sim::notation::{ProcessSelector, SpanText, When};
use quorate_sim::scenario::{DetectorChoice, Requesters};
use quorate_sim::traitor::Strategy;
use quorate_sim::{Delay, Scenario};

use super::{requests, without_some};

pub(super) fn simplify(scenario: &Scenario) -> Vec<Scenario> {
    let usual = Scenario::new(&scenario.algorithm, scenario.processes);
    let mut all = Vec::new();
    macro_rules! usual {
        ($($field:ident)*) => {
            $(
                if scenario.$field != usual.$field {
                    all.push(Scenario { $field: usual.$field.clone(), ..scenario.clone() });
                }
            )*
        };
    }
    usual!(delay link_delay timing fifo handling detector detection detection_pair server tree
        quorums quorum_sets quorum_of no_cancel hand_over ids identify rank_delay clocks local_clock
        clock_offset clock_drift probes replies outlier values tolerates until patience think section
        section_of spread to servers watch);
    macro_rules! drop_some {
        ($($field:ident)*) => {
            $(
                for some in without_some(&scenario.$field) {
                    all.push(Scenario { $field: some, ..scenario.clone() });
                }
            )*
        };
    }
    drop_some!(link_delay detection_pair section_of identify local_clock watch);
    all.extend(constants(&scenario.delay).map(|delay| Scenario { delay, ..scenario.clone() }));
    for law in scenario.detection.iter().flat_map(constants) {
        all.push(Scenario { detection: Some(law), ..scenario.clone() });
    }
    for (place, own) in scenario.link_delay.iter().enumerate() {
        for delay in constants(&own.delay) {
            let mut plain = scenario.clone();
            plain.link_delay[place].delay = delay;
            all.push(plain);
        }
    }
    for list in [0, 1, 2] {
        all.extend(smaller_numbers(scenario, list));
    }
    if let Some(tolerates) = scenario.tolerates.and_then(|tolerates| tolerates.checked_sub(1)) {
        all.push(Scenario { tolerates: Some(tolerates), ..scenario.clone() });
    }
    all.extend(named_requesters(scenario));
    // A detector run by the processes has no configured detection delay.
    if scenario.detector != DetectorChoice::Oracle {
        let (detector, detection) = (DetectorChoice::Oracle, None);
        all.push(Scenario { detector, detection, ..scenario.clone() });
    }
    all
}

/// Constants that can replace a delay which is not constant.
fn constants(law: &Delay) -> impl Iterator<Item = Delay> {
    let spans: Vec<Span> = match law {
        Delay::Constant(_) => Vec::new(),
        Delay::Uniform(low, high) => vec![*low, *high, law.mean()],
        Delay::Exponential(mean) => vec![*mean],
        Delay::List(delays) => delays.clone(),
    };
    let usual = (!law.is_constant()).then_some(Span::from_millis(1));
    usual.into_iter().chain(spans).map(Delay::Constant)
}

/// Identifiers, values or clocks: each replaced by zero, by half of it, or by one less.
fn smaller_numbers(scenario: &Scenario, list: usize) -> Vec<Scenario> {
    let of =
        |scenario: &Scenario| [&scenario.ids, &scenario.values, &scenario.clocks][list].clone();
    let mut all = Vec::new();
    for (place, number) in of(scenario).into_iter().enumerate() {
        for smaller in [0, number / 2, number.saturating_sub(1)] {
            if smaller < number {
                let mut plain = scenario.clone();
                [&mut plain.ids, &mut plain.values, &mut plain.clocks][list][place] = smaller;
                all.push(plain);
            }
        }
    }
    all
}

/// Replaces explicit requests of the first processes by a named set of requesters.
fn named_requesters(scenario: &Scenario) -> Option<Scenario> {
    let request = requests::explicit(scenario);
    let in_order = request.iter().enumerate().all(|(place, request)| match request.process {
        ProcessSelector::Process(process) => process.index() == place,
        ProcessSelector::Any => false,
    });
    if scenario.request.is_empty() || !in_order {
        return None;
    }
    let requesters = match request.len() {
        1 => Requesters::One,
        all if all == scenario.processes => Requesters::All,
        some => Requesters::First(some),
    };
    Some(Scenario { requesters, request: Vec::new(), ..scenario.clone() })
}

/// Number of choices left to the seed.
pub(super) fn random_choices(scenario: &Scenario) -> usize {
    let faults = &scenario.faults;
    let laws = scenario.link_delay.iter().chain(&scenario.detection_pair).map(|own| &own.delay);
    let laws = laws.chain([&scenario.delay]).chain(&scenario.detection);
    let requests = scenario.request.iter().chain(&faults.crash).map(|it| (it.process, it.at));
    let moments = requests.chain(faults.crash_mid.iter().map(|it| (it.process, it.at)));
    let is_drawn = |(selector, at): &(ProcessSelector, When)| {
        *selector == ProcessSelector::Any || matches!(at, When::Between(..))
    };
    let lots = [
        faults.loss > 0.0,
        faults.duplication > 0.0,
        faults.reordering > 0.0,
        scenario.spread != SpanText::default(),
        scenario.clock_offset != SpanText::default(),
        scenario.clock_drift != Default::default(),
    ];
    laws.filter(|law| is_random_law(law)).count()
        + moments.filter(is_drawn).count()
        + lots.into_iter().filter(|lot| *lot).count()
        + faults.omit_send.len()
        + faults.omit_receive.len()
        + faults.traitor.iter().filter(|traitor| traitor.strategy == Strategy::Random).count()
}

/// Whether the seed decides how long each message takes.
pub(super) fn is_random_law(law: &Delay) -> bool {
    matches!(law, Delay::Uniform(..) | Delay::Exponential(_))
}
