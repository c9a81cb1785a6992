//! Exploration of replicated logs.

use quorate_algorithms::Algorithm;
use quorate_check::ReplicationUsers;
use quorate_core::replication::{Command, Misuse, Output, Replication};

use super::{CheckConfig, Explored, ProgressCallback, check_setup, explore_algorithm};
use crate::erasure::ErasedAlgorithm;

/// Explores the replication of a log of commands.
pub(crate) fn replication<A: Algorithm + Replication + 'static>(
    config: &CheckConfig,
    on_progress: ProgressCallback<'_>,
) -> Explored {
    explore_replication(config, on_progress, const { &ErasedAlgorithm::of::<A>() })
}

fn explore_replication(
    config: &CheckConfig,
    on_progress: ProgressCallback<'_>,
    algorithm: &ErasedAlgorithm<Command, Output, Misuse>,
) -> Explored {
    let profile = (algorithm.facts.profile_of)(&check_setup(config, &algorithm.facts)?);
    let users = ReplicationUsers {
        requests: config.requests(),
        promised: config.judged(&profile),
        traitors: config.traitors(),
    };
    explore_algorithm(config, on_progress, algorithm, users, "no command is ever applied")
}
