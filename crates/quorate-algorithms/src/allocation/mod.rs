//! Resource allocation: only compatible claims are inside together, by messages alone.

mod dining_naive;
mod dining_philosophers;
mod drinking_philosophers;
mod forks;
mod group_mutex;
mod quorum_k;
mod raymond_k;
mod readers_writers;
mod sessions;

pub use dining_naive::DiningNaive;
pub use dining_philosophers::DiningPhilosophers;
pub use drinking_philosophers::DrinkingPhilosophers;
pub use group_mutex::GroupMutex;
pub use quorum_k::QuorumK;
pub use raymond_k::RaymondK;
pub use readers_writers::ReadersWriters;
