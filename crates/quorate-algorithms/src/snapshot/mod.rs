//! Snapshots: algorithms that record the global state of a computation while it goes on.

mod chandy_lamport;
mod chandy_lamport_unordered;
mod common;
mod lai_yang;

pub use chandy_lamport::ChandyLamport;
pub use chandy_lamport_unordered::ChandyLamportUnordered;
pub use lai_yang::LaiYang;
