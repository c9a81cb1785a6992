//! Agreement: processes that decide the same, though some crash and some lie.

mod chandra_toueg;
mod consensus_from_total;
mod rotating;
mod sync_consensus;
mod sync_consensus_short;
mod two_phase_commit;

pub use chandra_toueg::ChandraToueg;
pub use consensus_from_total::ConsensusFromTotal;
pub use rotating::Rotating;
pub use sync_consensus::SyncConsensus;
pub use sync_consensus_short::SyncConsensusShort;
pub use two_phase_commit::TwoPhaseCommit;
