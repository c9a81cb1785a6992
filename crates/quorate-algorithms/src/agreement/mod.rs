//! Agreement: processes that decide the same, though some crash and some lie.

mod sync_consensus;
mod sync_consensus_short;

pub use sync_consensus::SyncConsensus;
pub use sync_consensus_short::SyncConsensusShort;
