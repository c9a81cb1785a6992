//! The beginning of every interleaving of small worlds: how many states there are.
//!
//! Renamings of processes and shifts of counters are used by the explorer only, which counts states that are equal up to them as
//! one. So a wrong one changes the number of states.

use std::ops::ControlFlow;

use quorate_algorithms::catalogue::PROFILES;
use quorate_check::{Bounds, Budget};
use quorate_core::Layer;
use quorate_lab::exhaustive::{CheckConfig, explore};
use quorate_sim::Scenario;
use quorate_sim::scenario::Requesters;

/// Maximum number of steps from the initial state.
const DEPTH: u32 = 8;

fn config(algorithm: &str, n: usize, crashes: u8) -> CheckConfig {
    let scenario = Scenario { requesters: Requesters::All, ..Scenario::new(algorithm, n) };
    CheckConfig {
        budget: Budget { crashes, ..Budget::default() },
        allow_partial: true,
        ..CheckConfig::new(scenario, Bounds { memory: 1 << 28, depth: DEPTH })
    }
}

/// A line for each world of the algorithms of a family.
pub(crate) fn family(layer: Layer) -> String {
    let mut lines = Vec::new();
    for profile in PROFILES.iter().filter(|profile| profile.layer == layer) {
        for (n, crashes) in [(2, 0), (3, 0), (3, 1)] {
            let world = format!("{} {n} processes, {crashes} crashes", profile.name);
            let outcome = explore(&config(profile.name, n, crashes), |_| ControlFlow::Continue(()));
            lines.push(match outcome {
                Ok(outcome) => {
                    let report = outcome.report;
                    format!(
                        "{world}: {}, {} states, {} steps",
                        report.verdict, report.states, report.steps
                    )
                }
                Err(error) => format!("{world}: {error}"),
            });
        }
    }
    lines.join("\n")
}
