//! Resource allocation: only compatible claims are inside together, by messages alone.

mod raymond_k;
mod readers_writers;
mod sessions;

pub use raymond_k::RaymondK;
pub use readers_writers::ReadersWriters;
