//! Multicast: processes that deliver messages to all or to some of the others.

mod basic;
mod causal;
mod fifo;
mod reliable;
mod vcube;

pub use basic::Basic;
pub use causal::{Causal, CausalOrder};
pub use fifo::{Fifo, FifoOrder};
pub use reliable::Reliable;
pub use vcube::VcubeMulticast;
