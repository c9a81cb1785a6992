//! Connects algorithms with drivers: runs the algorithm that a scenario names, once in virtual time or in every
//! interleaving. All algorithms are compiled here for all drivers, and nowhere else, because that takes long.

mod by_name;
pub mod exhaustive;
mod setup;

pub use by_name::{CannotRun, check, nearest, promised_cost, run, run_driven, shape};
