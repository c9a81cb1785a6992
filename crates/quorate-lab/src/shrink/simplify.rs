//! Simpler scenarios: default values instead of special ones, and constants instead of delay distributions.

use quorate_core::Span;
use quorate_sim::fault::Faults;
use quorate_sim::notation::{ProcessSelector, SpanText, When, Window};
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
    usual!(delay link_delay arrival timing fifo handling detector detection detection_pair server tree
        quorums quorum_sets quorum_of no_cancel hand_over ids identify rank_delay clocks local_clock
        clock_offset clock_drift probes replies outlier values tolerates until patience think section
        section_of spread to servers watch capacity conflicts claim_of script);
    macro_rules! drop_some {
        ($($field:ident)*) => {
            $(
                for some in without_some(&scenario.$field) {
                    all.push(Scenario { $field: some, ..scenario.clone() });
                }
            )*
        };
    }
    drop_some!(link_delay arrival detection_pair section_of identify local_clock watch claim_of script);
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
        Delay::Pareto(typical, _) | Delay::LogNormal(typical, _) => vec![*typical, law.mean()],
        // A file of delays may have thousands of them, and each constant takes a run.
        Delay::Choice(delays) => vec![law.least(), law.bound().unwrap_or(delays[0]), law.mean()],
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
    let lots = [
        faults.loss > 0.0,
        faults.duplication > 0.0,
        faults.reordering > 0.0,
        faults.corruption > 0.0,
        scenario.spread != SpanText::default(),
        scenario.clock_offset != SpanText::default(),
        scenario.clock_drift != Default::default(),
    ];
    let requests = scenario.request.iter().filter(|it| is_drawn([it.process], [it.at]));
    let identities = scenario.identify.iter().filter(|it| is_drawn([it.process], [it.at]));
    laws.filter(|law| is_random_law(law)).count()
        + lots.into_iter().filter(|lot| *lot).count()
        + requests.count()
        + identities.count()
        + random_faults(faults)
}

/// Number of faults of which the seed chooses a process, a time or an action.
fn random_faults(faults: &Faults) -> usize {
    let mut count = 0;
    macro_rules! count {
        ($($list:ident: |$fault:ident| $drawn:expr;)*) => {
            $(count += faults.$list.iter().filter(|$fault| $drawn).count();)*
        };
    }
    count!(
        crash: |it| is_drawn([it.process], [it.at]);
        crash_mid: |it| is_drawn([it.process], [it.at]);
        recover: |it| is_drawn([it.process], [it.at]);
        clock: |it| is_drawn([it.process], [it.at]);
        lose: |it| is_drawn([it.link.from, it.link.to], [it.at]);
        duplicate: |it| is_drawn([it.link.from, it.link.to], [it.at]);
        reorder: |it| is_drawn([it.link.from, it.link.to], [it.at]);
        corrupt: |it| is_drawn([it.link.from, it.link.to], [it.at]);
        slow: |it| is_drawn([it.process], ends(it.window));
        fast: |it| is_drawn([it.process], ends(it.window));
        cut: |it| is_drawn([it.link.from, it.link.to], ends(it.window));
        partition: |it| is_drawn([], ends(it.window));
        suspect: |it| is_drawn([it.pair.from, it.pair.to], ends(it.window));
        traitor: |it| it.strategy == Strategy::Random || is_drawn([it.process], []);
    );
    // The seed decides for each message whether it is omitted.
    count + faults.omit_send.len() + faults.omit_receive.len()
}

fn ends(window: Window) -> impl Iterator<Item = When> {
    std::iter::once(window.from).chain(window.until)
}

/// Whether the seed chooses one of the processes or one of the times.
fn is_drawn(
    processes: impl IntoIterator<Item = ProcessSelector>,
    times: impl IntoIterator<Item = When>,
) -> bool {
    processes.into_iter().any(|process| process == ProcessSelector::Any)
        || times.into_iter().any(|time| matches!(time, When::Between(..)))
}

/// Whether the seed decides how long each message takes.
pub(super) fn is_random_law(law: &Delay) -> bool {
    !matches!(law, Delay::Constant(_) | Delay::List(_))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_choice_of_the_seed_counts() {
        let choices = |keys: &str| {
            let text = format!("algorithm = \"bully\"\nprocesses = 5\n{keys}\n");
            let scenario = quorate_sim::parse(&text, "choices.toml");
            random_choices(&scenario.unwrap_or_else(|error| panic!("{error}")))
        };
        assert_eq!(choices(""), 0);
        let identify = |rest: &str| format!("identify = [\"{rest}\"]");
        assert_eq!(choices(&identify("2:40@5ms")), 0);
        assert_eq!(["?:40@5ms", "2:40@5ms~6ms"].map(|it| choices(&identify(it))), [1, 1]);
        for (list, named, drawn) in [
            ("crash", "2@1ms", ["?@1ms", "2@1ms~2ms"]),
            ("crash-mid", "2@1ms:3", ["?@1ms:3", "2@1ms~2ms:3"]),
            ("clock", "2@1ms:1.5", ["?@1ms:1.5", "2@1ms~2ms:1.5"]),
            ("lose", "0-1@2ms", ["0-?@2ms", "0-1@2ms~3ms"]),
            ("duplicate", "0-1@2ms", ["?-1@2ms", "0-1@2ms~3ms"]),
            ("corrupt", "0-1@2ms", ["?-1@2ms", "0-1@2ms~3ms"]),
            ("reorder", "0-1@2ms", ["0-?@2ms", "0-1@2ms~3ms"]),
            ("slow", "2@1ms..9ms:5ms", ["?@1ms..9ms:5ms", "2@1ms..8ms~9ms:5ms"]),
            ("fast", "2@1ms:4", ["?@1ms:4", "2@1ms~2ms:4"]),
            ("cut", "0-1@2ms..9ms", ["0-?@2ms..9ms", "0-1@2ms..8ms~9ms"]),
            ("partition", "0,1|2,3,4@2ms..9ms", ["0,1|2@1ms~2ms..9ms", "0,1|2@2ms..8ms~9ms"]),
            ("suspect", "0-3@2ms..9ms", ["?-3@2ms..9ms", "0-3@2ms..8ms~9ms"]),
            ("traitor", "2:liar", ["?:liar", "2:random"]),
        ] {
            let fault = |fault: &str| choices(&format!("[faults]\n{list} = [\"{fault}\"]"));
            assert_eq!(fault(named), 0, "{list}");
            assert_eq!(drawn.map(fault), [1, 1], "{list}");
        }
        let recover =
            |at: &str| choices(&format!("[faults]\ncrash = [\"2@1ms\"]\nrecover = [\"{at}\"]"));
        assert_eq!(["2@5ms", "?@5ms", "2@5ms~6ms"].map(recover), [0, 1, 1]);
    }
}
