//! The quorum mutex with majorities of the processes outside the settled crashes: the rule that `quorum` had before.
//!
//! - **Source**: our own; see `quorum` for the monograph and the other corrections.
//! - **Assumes**: the same as `quorum`.
//! - **Guarantees**: the same as `quorum`.
//! - **Costs**: 3K messages for a quorum of K without contention or failures, up to 6K with contention. Over
//!   view-dependent systems K is more than half of the processes, whatever the system assigns. A crash costs up to n - 1
//!   acknowledgements of each process.
//! - **Departs from the paper**: as `quorum`, but over view-dependent systems a process asks the quorum of the processes
//!   that it believes alive, extended to more than half of the processes outside the settled crashes. That rule is safe
//!   over systems that are not monotone too. The two rules must not be mixed in one system: a quorum of one and a
//!   majority of the other need not intersect.

use quorate_core::Profile;

use super::quorum::{QuorumVoting, SettledQuorums, ViewRule, VotingRules};
use crate::Sound;

/// One process of the algorithm.
pub type QuorumMajority = QuorumVoting<Majorities>;

/// The rules of the algorithm: majorities of the processes outside the settled crashes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Majorities;

impl VotingRules for Majorities {
    const PROFILE: Profile = Profile {
        name: "quorum-majority",
        summary: "the quorum mutex with majorities instead of settled quorums, for comparison",
        source: "our own variant of `quorum`",
        cost: "3K to 6K messages per entry, K at least half of the processes; a crash is acknowledged by everyone to \
               everyone",
        ..SettledQuorums::PROFILE
    };

    const OVER_VIEWS: ViewRule = ViewRule::Majority;

    const QUORUMS: &'static [&'static str] = &[
        "vcube",
        "tree",
        "grid",
        "grid-fixed",
        "majority",
        "majority-live",
        "plane",
        "wall",
        "grid-rebuilt",
    ];
}

impl Sound for QuorumMajority {}
