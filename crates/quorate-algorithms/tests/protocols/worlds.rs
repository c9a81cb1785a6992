//! The beginning of every interleaving of small worlds: how many states there are.
//!
//! Renamings of processes and shifts of counters are used by the explorer only, which counts states that are equal up to them as
//! one. So a wrong one changes the number of states.

use std::ops::ControlFlow;

use quorate_algorithms::catalogue::PROFILES;
use quorate_check::{Bounds, Budget};
use quorate_core::{Layer, Profile};
use quorate_lab::exhaustive::{CheckConfig, explore};
use quorate_sim::Scenario;
use quorate_sim::scenario::Requesters;

/// Maximum number of steps from the initial state.
const DEPTH: u32 = 8;

fn config(algorithm: &str, n: usize, crashes: u8) -> CheckConfig {
    let scenario = Scenario { requesters: Requesters::All, ..Scenario::new(algorithm, n) };
    CheckConfig {
        // Without a timeout no server of a replicated log ever stands for election.
        budget: Budget { crashes, timeouts: 2, ..Budget::default() },
        allow_partial: true,
        ..CheckConfig::new(scenario, Bounds { memory: 1 << 28, depth: DEPTH })
    }
}

/// A line for each algorithm of a family, with all its worlds.
pub(crate) fn family(layer: Layer) -> String {
    let profiles = PROFILES.iter().filter(|profile| profile.layer == layer);
    let worlds = |profile: &Profile| {
        let [two, three, crashing] =
            [(2, 0), (3, 0), (3, 1)].map(|(n, crashes)| world(profile.name, n, crashes));
        if two == three && three == crashing {
            return format!("{}: {two}", profile.name);
        }
        format!("{}: 2 processes {two}; 3 {three}; 3 with a crash {crashing}", profile.name)
    };
    profiles.map(worlds).collect::<Vec<_>>().join("\n")
}

/// Explores a world. Returns its verdict and the numbers of its states and steps, or why it cannot be explored.
fn world(algorithm: &str, n: usize, crashes: u8) -> String {
    match explore(&config(algorithm, n, crashes), |_| ControlFlow::Continue(())) {
        Ok(outcome) => {
            let report = outcome.report;
            format!("{}, {} states, {} steps", report.verdict, report.states, report.steps)
        }
        Err(error) => error.to_string(),
    }
}
