//! Where algorithms meet drivers: runs a scenario whose algorithm is known by name only, or many drawn from seeds;
//! makes experiments of them, and analyses quorum systems.

mod by_name;
pub mod campaign;
pub mod exhaustive;
pub mod experiment;
pub mod quorums;

pub use by_name::{LabError, check, nearest, run};
