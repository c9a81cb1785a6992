//! The quorum mutex without attempt numbers: a specimen that lets two processes in.
//!
//! - **Source**: our own `quorum-majority` without one of its rules.
//! - **Assumes**: the same as `quorum-majority` over view-dependent systems.
//! - **Guarantees**: claims ME1 and ME2 and violates ME1: a vote that was in transit when its request was cancelled is
//!   mistaken for an answer to the request that is sent to the same voter later.
//! - **Costs**: the same as `quorum-majority`.
//! - **Departs from the paper**: it differs from `quorum-majority` in two points. A request keeps its number after a CANCEL, and
//!   `majority` means majorities of the live processes: majorities of all processes never drop a live voter, so nothing
//!   would ever be cancelled. Random runs hardly ever reach the case in which the number matters; the scenarios were
//!   found by exhaustive search.

use quorate_core::quorum::{AnyCoterie, AnyMonotone, AnySystem, LiveMajority, QuorumSystem};
use quorate_core::{Profile, Property, Specimen};

use super::quorum::{QuorumVoting, ViewRule, VotingRules};
use super::quorum_majority::Majorities;

/// One process of the specimen.
pub type QuorumWithoutAttempts = QuorumVoting<SameAttempt>;

/// The broken rule: a request keeps its attempt number however often it is cancelled.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SameAttempt;

impl VotingRules for SameAttempt {
    const PROFILE: Profile = Profile {
        name: "quorum-without-attempts",
        summary: "the quorum mutex, but a cancelled request keeps its number",
        source: "our own `quorum-majority` without one of its rules",
        specimen: Some(Specimen {
            breaks: Property::ME1,
            also_breaks: &[],
            why: "a vote still under way when its request is cancelled counts for the request that follows",
        }),
        ..Majorities::PROFILE
    };

    const OVER_VIEWS: ViewRule = ViewRule::Majority;

    const QUORUMS: &'static [&'static str] = Majorities::QUORUMS;

    const FRESH_ATTEMPTS: bool = false;

    fn system(requested: &AnySystem) -> AnySystem {
        match requested {
            AnySystem::Fixed(AnyCoterie::Majority(all)) => {
                AnySystem::monotone(AnyMonotone::LiveMajority(LiveMajority::new(all.processes())))
            }
            other => other.clone(),
        }
    }
}
