//! Agreement: processes that decide the same, though some crash and some lie.

mod byzantine_generals;
mod byzantine_generals_obedient;
mod consensus_from_generals;
mod interactive_consistency;
mod reduction;
mod signed_generals;
mod signing;
mod sync_consensus;
mod sync_consensus_short;

pub use byzantine_generals::ByzantineGenerals;
pub use byzantine_generals_obedient::ByzantineGeneralsObedient;
pub use consensus_from_generals::ConsensusFromGenerals;
pub use interactive_consistency::InteractiveConsistency;
pub use signed_generals::SignedGenerals;
pub use signing::PublicKeys;
pub use sync_consensus::SyncConsensus;
pub use sync_consensus_short::SyncConsensusShort;
