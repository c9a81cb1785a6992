//! Agreement: processes that reach the same decision although some of them crash or lie.

mod ben_or;
mod byzantine_generals;
mod byzantine_generals_obedient;
mod chandra_toueg;
mod consensus_from_generals;
mod consensus_from_total;
mod interactive_consistency;
mod paxos;
mod paxos_any_value;
mod reduction;
mod rotating;
mod signed_generals;
mod signing;
mod sync_consensus;
mod sync_consensus_short;
mod three_phase_commit;
mod two_phase_commit;

pub use ben_or::BenOr;
pub use byzantine_generals::ByzantineGenerals;
pub use byzantine_generals_obedient::ByzantineGeneralsObedient;
pub use chandra_toueg::ChandraToueg;
pub use consensus_from_generals::ConsensusFromGenerals;
pub use consensus_from_total::ConsensusFromTotal;
pub use interactive_consistency::InteractiveConsistency;
pub use paxos::Paxos;
pub use paxos_any_value::PaxosAnyValue;
pub use rotating::Rotating;
pub use signed_generals::SignedGenerals;
pub use signing::PublicKeys;
pub use sync_consensus::SyncConsensus;
pub use sync_consensus_short::SyncConsensusShort;
pub use three_phase_commit::ThreePhaseCommit;
pub use two_phase_commit::TwoPhaseCommit;
