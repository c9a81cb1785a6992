//! Features of scenarios that sockets cannot provide.

use quorate_core::Span;
use quorate_sim::notation::SpanText;
use quorate_sim::traitor::Strategy;
use quorate_sim::{Delay, Scenario, Timing};

use crate::arguments::flag_of;

/// Maximum number of operating system processes.
const PROCESSES_MOST: usize = 64;

const LINKS: &str = "sockets do not lose, duplicate, reorder or change messages";
const TIME: &str = "message delays are those of the real machine";
const CLOCKS: &str = "all processes share the machine's clock";
const PACE: &str = "processes run at the speed of the machine";

/// Why the scenario cannot run over sockets, and what to leave out; `None` if it can.
pub(crate) fn reason(scenario: &Scenario) -> Option<String> {
    let faults = &scenario.faults;
    if scenario.processes > PROCESSES_MOST {
        return Some(format!("at most {PROCESSES_MOST} processes are supported; use a smaller -n"));
    }
    let memory = faults.recover.iter().any(|recover| recover.memory);
    if memory {
        return Some("a killed process loses its memory; use --recover P@T:amnesia".to_owned());
    }
    if faults.traitor.iter().any(|traitor| traitor.strategy == Strategy::Random) {
        return Some(
            "a random traitor needs the event order of a simulation; choose another strategy for it"
                .to_owned(),
        );
    }
    let default_delay = Delay::Constant(Span::from_millis(1));
    let unsupported = [
        ("delay", scenario.delay != default_delay, TIME),
        ("link-delay", !scenario.link_delay.is_empty(), TIME),
        ("timing", !matches!(scenario.timing, None | Some(Timing::Rounds(_))), TIME),
        ("handling", scenario.handling != SpanText::default(), PACE),
        ("slow", !faults.slow.is_empty(), PACE),
        ("fast", !faults.fast.is_empty(), PACE),
        ("fifo", !scenario.fifo, LINKS),
        ("loss", faults.loss > 0.0, LINKS),
        ("lose", !faults.lose.is_empty(), LINKS),
        ("duplication", faults.duplication > 0.0, LINKS),
        ("duplicate", !faults.duplicate.is_empty(), LINKS),
        ("reordering", faults.reordering > 0.0, LINKS),
        ("reorder", !faults.reorder.is_empty(), LINKS),
        ("corruption", faults.corruption > 0.0, LINKS),
        ("corrupt", !faults.corrupt.is_empty(), LINKS),
        ("omit-send", !faults.omit_send.is_empty(), LINKS),
        ("omit-receive", !faults.omit_receive.is_empty(), LINKS),
        ("cut", !faults.cut.is_empty(), LINKS),
        ("partition", !faults.partition.is_empty(), LINKS),
        ("clock", !faults.clock.is_empty(), CLOCKS),
        ("local-clock", !scenario.local_clock.is_empty(), CLOCKS),
        ("clock-offset", scenario.clock_offset != SpanText::default(), CLOCKS),
        ("clock-drift", scenario.clock_drift != Default::default(), CLOCKS),
    ];
    let (key, _, why) = unsupported.into_iter().find(|(_, used, _)| *used)?;
    Some(format!("{why}; leave out {}", flag_of(key)))
}
