//! The published quorum mutex with its rule for crashes taken literally: a specimen that forgets requests.
//!
//! - **Source**: Lopes' monograph on a fault-tolerant quorum mutex over the VCube, Quadro 4.1 and the text on failures.
//! - **Assumes**: the same as `quorum-published`.
//! - **Guarantees**: it claims ME1 and ME2 and violates both, as `quorum-published` does. In addition, when the holder of its
//!   vote crashes, a voter drops the requests of all processes outside its own quorum. Such a process may have the
//!   voter in its quorum nevertheless. It is never answered and waits forever, even without contention after the crash.
//! - **Costs**: the same as `quorum-published`.
//! - **Departs from the paper**: as `quorum-published` does, except for the rule that this specimen shows.

use quorate_core::{Profile, Property, Specimen};

use super::quorum_published::{CrashRule, KeepsRequests, PublishedVoting};

/// One process of the specimen.
pub type QuorumPublishedDropping = PublishedVoting<DropsOutsiders>;

/// Requests of processes outside the voter's own quorum are dropped when the holder crashes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DropsOutsiders;

impl CrashRule for DropsOutsiders {
    const PROFILE: Profile = Profile {
        name: "quorum-published-dropping",
        summary: "the published quorum mutex, which drops requests from outside when a holder crashes",
        source: "Lopes' monograph on a quorum mutex over the VCube, Quadro 4.1 and the text on failures",
        specimen: Some(Specimen {
            breaks: Property::ME2,
            also_breaks: &[Property::ME1],
            why: "when the holder of its vote crashes, a voter drops the requests of processes outside its own quorum, \
                  which still wait for its vote",
        }),
        ..KeepsRequests::PROFILE
    };

    const DROPS_OUTSIDERS: bool = true;
}
