//! Exploration of computations that are observed: snapshots of a bank, and the detection of a stable property.

use quorate_algorithms::Algorithm;
use quorate_check::{DetectionUsers, SnapshotUsers};
use quorate_core::detection::{self, Detection, StableProperty};
use quorate_core::snapshot::{self, Snapshot};
use quorate_core::{ProcessId, ProcessSet};
use quorate_sim::script::{Script, Step};
use quorate_sim::{detection_commands, scripted_commands};

use super::{CheckConfig, Explored, ProgressCallback, explore_algorithm};
use crate::erasure::ErasedAlgorithm;

/// Explores snapshots of a computation.
pub(crate) fn snapshot<A: Algorithm + Snapshot + 'static>(
    config: &CheckConfig,
    on_progress: ProgressCallback<'_>,
) -> Explored {
    explore_snapshot(config, on_progress, const { &ErasedAlgorithm::of::<A>() })
}

fn explore_snapshot(
    config: &CheckConfig,
    on_progress: ProgressCallback<'_>,
    algorithm: &ErasedAlgorithm<snapshot::Command, snapshot::Output, snapshot::Misuse>,
) -> Explored {
    // A counterexample has the times of the steps, so the steps have to be written down.
    let mut config = config.clone();
    if config.scenario.script.is_empty() {
        config.scenario.script = small_bank(&config.requests());
    }
    let n = config.scenario.processes;
    let balance = |place: usize| config.scenario.values.get(place).copied();
    let users = SnapshotUsers {
        commands: scripted_commands(&config.scenario.script, n),
        balances: (0..n).map(|place| balance(place).unwrap_or(snapshot::INITIAL_BALANCE)).collect(),
        promised: config.judged(&algorithm.facts.profile),
    };
    explore_algorithm(&config, on_progress, algorithm, users, "no snapshot is ever complete")
}

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
    algorithm: &ErasedAlgorithm<detection::Command, detection::Output, detection::Misuse>,
) -> Explored {
    let property = algorithm.facts.stable_property;
    let mut config = config.clone();
    if config.scenario.script.is_empty() {
        let requests = match property {
            StableProperty::Termination => vec![config.requests; config.scenario.processes],
            StableProperty::AndDeadlock | StableProperty::OrDeadlock => config.requests(),
        };
        let root = ProcessId::new(config.scenario.server);
        config.scenario.script = small_computation(property, root, &requests);
    }
    let commands = detection_commands(&config.scenario.script, config.scenario.processes);
    let promised = config.judged(&algorithm.facts.profile);
    let users = DetectionUsers { property, commands, promised };
    explore_algorithm(&config, on_progress, algorithm, users, "nothing is ever announced")
}

/// A bank in which each process sends money to the next one, begins its snapshots, and sends money again if there are two processes.
fn small_bank(records: &[u8]) -> Vec<Script> {
    let n = records.len();
    let script = |(process, records): (ProcessId, &u8)| {
        let to = next_of(process, n);
        let transfers = if n > 1 { vec![Step::Transfer { to, amount: 1 }] } else { Vec::new() };
        let after = if n == 2 { transfers.clone() } else { Vec::new() };
        let snapshots = vec![Step::Record; usize::from(*records)];
        Script { process, steps: [transfers, snapshots, after].concat() }
    };
    ProcessId::all(n).zip(records).map(script).filter(|own| !own.steps.is_empty()).collect()
}

/// A computation in which each process sends to the next one or waits for it, as often as it requests. If it may terminate, the root begins
/// it.
fn small_computation(property: StableProperty, root: ProcessId, requests: &[u8]) -> Vec<Script> {
    let n = requests.len();
    let script = |(process, requests): (ProcessId, &u8)| {
        let next = next_of(process, n);
        let round = match property {
            StableProperty::Termination => vec![Step::Send(next), Step::Rest],
            StableProperty::AndDeadlock => vec![Step::Wait([next].into_iter().collect())],
            StableProperty::OrDeadlock => {
                vec![Step::Send(next), Step::Wait(ProcessSet::others(n, process))]
            }
        };
        let rounds = if n > 1 { usize::from(*requests) } else { 0 };
        let rounds = std::iter::repeat_n(round, rounds).flatten();
        let begins = property == StableProperty::Termination && process == root;
        let start = begins.then_some(Step::Start).into_iter();
        Script { process, steps: start.chain(rounds).collect() }
    };
    ProcessId::all(n).zip(requests).map(script).filter(|own| !own.steps.is_empty()).collect()
}

fn next_of(process: ProcessId, n: usize) -> ProcessId {
    ProcessId::from_index((process.index() + 1) % n)
}
