//! The quorum mutex without attempt numbers: a specimen that lets two processes in.
//!
//! - **Source**: our own `quorum` without one of its rules.
//! - **Assumes**: as `quorum` does over view-dependent systems.
//! - **Guarantees**: claims ME1 and ME2 and breaks ME1: a vote that was under way when its request was cancelled is
//!   taken for an answer to the request that is sent to the same voter later.
//! - **Costs**: as `quorum`.
//! - **Departs from the paper**: from `quorum` in that a request keeps its number after a CANCEL, and in that
//!   `majority` means majorities of the live: those of all never give up a live voter, and nothing is ever cancelled.
//!   Chance hardly ever finds the run in which the number matters; the scenarios were found by exhaustive search.

use quorate_core::quorum::{AnyCoterie, AnyPerView, AnySystem, LiveMajority, QuorumSystem};
use quorate_core::{Profile, Property, Specimen};

use super::quorum::{AttemptRule, Attempts, QuorumVoting};

/// One process of the specimen.
pub type QuorumWithoutAttempts = QuorumVoting<SameAttempt>;

/// The broken rule: a request is the same request however often it is cancelled.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SameAttempt;

impl AttemptRule for SameAttempt {
    const PROFILE: Profile = Profile {
        name: "quorum-without-attempts",
        summary: "the quorum mutex, but a cancelled request keeps its number",
        source: "our own `quorum` without one of its rules",
        specimen: Some(Specimen {
            breaks: Property::ME1,
            why: "a vote still under way when its request is cancelled counts for the request that follows",
        }),
        ..Attempts::PROFILE
    };

    const FRESH_ATTEMPTS: bool = false;

    fn system(requested: &AnySystem) -> AnySystem {
        match requested {
            AnySystem::Fixed(AnyCoterie::Majority(all)) => {
                AnySystem::PerView(AnyPerView::LiveMajority(LiveMajority::new(all.processes())))
            }
            other => other.clone(),
        }
    }
}
