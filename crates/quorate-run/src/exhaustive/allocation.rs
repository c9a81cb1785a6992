//! Exploration of resource allocation.

use quorate_algorithms::Algorithm;
use quorate_check::AllocationUsers;
use quorate_core::allocation::{Allocation, Command, Misuse, Output};
use quorate_core::{ProcessId, Property};

use super::{CheckConfig, Explored, ProgressCallback, explore_algorithm, refused};
use crate::erasure::ErasedAlgorithm;

/// Explores the allocation of resources to the claims of a scenario.
pub(crate) fn allocation<A: Algorithm + Allocation + 'static>(
    config: &CheckConfig,
    on_progress: ProgressCallback<'_>,
) -> Explored {
    explore_allocation(config, on_progress, const { &ErasedAlgorithm::of::<A>() })
}

fn explore_allocation(
    config: &CheckConfig,
    on_progress: ProgressCallback<'_>,
    algorithm: &ErasedAlgorithm<Command, Output, Misuse>,
) -> Explored {
    let (scenario, facts) = (&config.scenario, &algorithm.facts);
    if config.budget.recoveries > 0 {
        let problem = "resource allocation is not explored with recoveries; leave them out";
        return Err(refused(&facts.profile, "recoveries", problem));
    }
    let claims = |(process, count): (ProcessId, u8)| {
        let claim = |number| scenario.claim(facts.claim_kind, process, number);
        (0..count.into()).map(claim).collect()
    };
    let users = AllocationUsers {
        claims: ProcessId::all(scenario.processes).zip(config.requests()).map(claims).collect(),
        capacity: scenario.permits(),
        concurrency: config.judges(&facts.profile, Property::Concurrency),
    };
    explore_algorithm(config, on_progress, algorithm, users, "no process ever enters")
}
