//! Multicast: processes that deliver messages to all processes or to a group of them.

mod basic;
mod bracha;
mod bracha_echo_only;
mod causal;
mod fifo;
mod reliable;
mod total_from_consensus;
mod total_isis;
mod total_lamport;
mod total_sequencer;
mod vcube;

pub use basic::Basic;
pub use bracha::Bracha;
pub use bracha_echo_only::BrachaEchoOnly;
pub use causal::{Causal, CausalOrder};
pub use fifo::{Fifo, FifoOrder};
pub use reliable::Reliable;
pub use total_from_consensus::TotalFromConsensus;
pub use total_isis::TotalIsis;
pub use total_lamport::TotalLamport;
pub use total_sequencer::TotalSequencer;
pub use vcube::{TreeBody, VcubeMulticast};
