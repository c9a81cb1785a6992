//! Consensus in f rounds, one too few: a specimen in which a chain of crashes leaves two processes with different values.
//!
//! - **Source**: Coulouris, Dollimore, Kindberg and Blair, "Distributed Systems: Concepts and Design", 5th edition,
//!   section 15.5: any algorithm that tolerates f crashes needs f + 1 rounds.
//! - **Assumes**: synchronous rounds; at most f processes crash and do not recover; no message is lost; no process lies.
//! - **Guarantees**: claims agreement, validity and termination and breaks agreement: in each round a process crashes
//!   after it has sent its value only to the process that crashes next, and the last one has sent it to only one of
//!   the processes that decide.
//! - **Costs**: f n (n - 1) messages without crashes; f rounds.
//! - **Departs from the paper**: only in the number of rounds.

use quorate_core::{Assumption, Layer, Profile, Property, Specimen};

use super::sync_consensus::{FloodSet, Rounds};

/// One process of the specimen.
pub type SyncConsensusShort = FloodSet<FRounds>;

/// The broken number of rounds: f, which is one too few.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FRounds;

impl Rounds for FRounds {
    const PROFILE: Profile = Profile {
        name: "sync-consensus-short",
        layer: Layer::Agreement,
        summary: "the same in f rounds, which is one too few",
        source: "Coulouris et al., Distributed Systems, 5th edition, section 15.5",
        specimen: Some(Specimen {
            breaks: Property::Agreement,
            also_breaks: &[],
            why: "a crash in every round may keep a value from all but one of those that decide",
        }),
        assumes: &[
            Assumption::NoLoss,
            Assumption::FewCrashes,
            Assumption::CrashStop,
            Assumption::Synchrony,
            Assumption::Honesty,
        ],
        guarantees: &[Property::Agreement, Property::Validity, Property::Termination],
        cost: "f n (n - 1) messages, f rounds",
        never_quiescent: false,
    };

    const FORMULA: &'static str = "f n (n - 1)";

    fn rounds(f: usize) -> u64 {
        f as u64
    }
}
