#![doc = include_str!("../README.md")]
//!
//! # Main items
//!
//! - [`run`] runs the algorithm that a scenario names once, in virtual time. [`run_driven`] lets its processes run elsewhere.
//! - [`exhaustive`] explores every interleaving of it.
//! - [`check`] tells whether a scenario can be run; [`CannotRun`] is the reason why it cannot.
//! - [`Catalogue`] lists the algorithms. A program can add its own:
//!
//! ```no_run
//! # use quorate_run::{Catalogue, CatalogueError, Entry};
//! # use quorate_algorithms::mutex::Central as OwnMutex;
//! # fn main() -> Result<(), CatalogueError> {
//! Catalogue::standard().with(Entry::mutex::<OwnMutex>())?.install()?;
//! # Ok(())
//! # }
//! ```

mod by_name;
mod catalogue;
mod conformance;
mod erasure;
mod error;
pub mod exhaustive;
mod facts;
mod setup;
mod simulate;

pub use by_name::{check, detector_round, profile, promised_cost, run, run_driven, shape};
pub use catalogue::{Catalogue, CatalogueError, Entry, catalogue};
pub use conformance::{conformance, has_model};
pub use error::CannotRun;
pub use facts::Facts;
