//! Raft in which a leader commits entries of earlier terms by counting replicas: a specimen that loses committed entries.
//!
//! - **Source**: Ongaro and Ousterhout, "In Search of an Understandable Consensus Algorithm", USENIX ATC 2014, figure 8:
//!   section 5.4.2 explains why the rule is wrong.
//! - **Assumes**: the same as `raft`.
//! - **Guarantees**: claims those of `raft` and breaks leader completeness and state machine safety: a majority has an entry of an
//!   earlier term, and the leader commits it. A process with an entry of a later term at the same index can still be
//!   elected by that majority, and overwrites it.
//! - **Costs**: those of `raft`.
//! - **Departs from the paper**: only in the rule by which a leader commits, besides the departures of `raft`.

use quorate_core::{Layer, Profile, Property, Specimen};

use super::raft::{ASSUMES, CommitRule, GUARANTEES, Server};

/// One server of the specimen.
pub type RaftCommitsOldTerms = Server<AnyTerm>;

/// The broken rule: an entry of any term is committed as soon as a majority has it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct AnyTerm;

impl CommitRule for AnyTerm {
    const PROFILE: Profile = Profile {
        name: "raft-commits-old-terms",
        layer: Layer::Replication,
        summary: "the same, but a leader also commits entries of earlier terms by counting replicas",
        source: "Ongaro and Ousterhout, USENIX ATC 2014, figure 8",
        specimen: Some(Specimen {
            breaks: Property::LeaderCompleteness,
            also_breaks: &[
                Property::StateMachineSafety,
                Property::CommandIntegrity,
                Property::CommandLiveness,
            ],
            why: "a majority that has an entry of an earlier term may elect a leader that overwrites it",
        }),
        assumes: ASSUMES,
        guarantees: GUARANTEES,
        cost: "2(n - 1) messages per command, and one more if another process than the leader gets it; heartbeats",
        never_quiescent: true,
    };

    fn commits(_: u64, _: u64) -> bool {
        true
    }
}
