//! Where algorithms meet drivers: runs a scenario whose algorithm is known by name only.

mod by_name;

pub use by_name::{LabError, check, nearest, run};
