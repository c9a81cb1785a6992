//! Multicast: processes that deliver messages to all or to some of the others.

mod basic;
mod vcube;

pub use basic::Basic;
pub use vcube::VcubeMulticast;
