//! Exploration of computations whose stable properties are detected.

use quorate_algorithms::Algorithm;
use quorate_check::DetectionUsers;
use quorate_core::detection::{Command, Detection, Misuse, Output, StableProperty};
use quorate_core::{ProcessId, ProcessSet};
use quorate_sim::detection_commands;
use quorate_sim::script::{Script, Step};

use super::{CheckConfig, Explored, ProgressCallback, explore_algorithm};
use crate::erasure::ErasedAlgorithm;

/// Explores a computation whose end or deadlock is detected.
pub(crate) fn detection<A: Algorithm + Detection + 'static>(
    config: &CheckConfig,
    on_progress: ProgressCallback<'_>,
) -> Explored {
    explore_detection(config, on_progress, const { &ErasedAlgorithm::of::<A>() })
}

fn explore_detection(
    config: &CheckConfig,
    on_progress: ProgressCallback<'_>,
    algorithm: &ErasedAlgorithm<Command, Output, Misuse>,
) -> Explored {
    let property = algorithm.facts.stable_property;
    let mut config = config.clone();
    if config.scenario.script.is_empty() {
        config.scenario.script = small_computation(&config, property);
    }
    let commands = detection_commands(&config.scenario.script, config.scenario.processes);
    let promised = config.judged(&algorithm.facts.profile);
    let users = DetectionUsers { property, commands, promised };
    explore_algorithm(&config, on_progress, algorithm, users, "nothing is ever announced")
}

/// A computation in which each process sends to the next one or waits for it.
fn small_computation(config: &CheckConfig, property: StableProperty) -> Vec<Script> {
    let n = config.scenario.processes;
    let requests = match property {
        StableProperty::Termination => vec![config.requests; n],
        StableProperty::AndDeadlock | StableProperty::OrDeadlock => config.requests(),
    };
    let script = |(process, requests): (ProcessId, u8)| {
        let next = ProcessId::from_index((process.index() + 1) % n);
        let round = match property {
            StableProperty::Termination => vec![Step::Send(next), Step::Rest],
            StableProperty::AndDeadlock => vec![Step::Wait([next].into_iter().collect())],
            StableProperty::OrDeadlock => {
                vec![Step::Send(next), Step::Wait(ProcessSet::others(n, process))]
            }
        };
        let rounds = if n > 1 { requests.into() } else { 0 };
        let rounds = std::iter::repeat_n(round, rounds).flatten();
        let begins =
            property == StableProperty::Termination && process.number() == config.scenario.server;
        let start = begins.then_some(Step::Start).into_iter();
        Script { process, steps: start.chain(rounds).collect() }
    };
    ProcessId::all(n).zip(requests).map(script).filter(|own| !own.steps.is_empty()).collect()
}
