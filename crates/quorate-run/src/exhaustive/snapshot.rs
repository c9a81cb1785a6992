//! Exploration of snapshots.

use quorate_algorithms::Algorithm;
use quorate_check::SnapshotUsers;
use quorate_core::ProcessId;
use quorate_core::snapshot::{Command, INITIAL_BALANCE, Misuse, Output, Snapshot};
use quorate_sim::script::{Script, Step};
use quorate_sim::scripted_commands;

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
    algorithm: &ErasedAlgorithm<Command, Output, Misuse>,
) -> Explored {
    // A counterexample has the times of the steps, so the steps have to be written down.
    let mut config = config.clone();
    if config.scenario.script.is_empty() {
        config.scenario.script = small_script(config.requests());
    }
    let n = config.scenario.processes;
    let balance = |place: usize| config.scenario.values.get(place).copied();
    let users = SnapshotUsers {
        commands: scripted_commands(&config.scenario.script, n),
        balances: (0..n).map(|place| balance(place).unwrap_or(INITIAL_BALANCE)).collect(),
        promised: config.judged(&algorithm.facts.profile),
    };
    explore_algorithm(&config, on_progress, algorithm, users, "no snapshot is ever complete")
}

/// A script in which each process sends money to the next one, begins its snapshots, and sends money again if there are two processes.
fn small_script(records: Vec<u8>) -> Vec<Script> {
    let n = records.len();
    let script = |(process, records): (ProcessId, u8)| {
        let to = ProcessId::from_index((process.index() + 1) % n);
        let transfers = if n > 1 { vec![Step::Transfer { to, amount: 1 }] } else { Vec::new() };
        let after = if n == 2 { transfers.clone() } else { Vec::new() };
        let snapshots = vec![Step::Record; records.into()];
        Script { process, steps: [transfers, snapshots, after].concat() }
    };
    ProcessId::all(n).zip(records).map(script).filter(|own| !own.steps.is_empty()).collect()
}
