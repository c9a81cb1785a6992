//! Experiments: many runs, summarized in one table.
//!
//! An experiment is a flat list of independent cells. Each cell is a function of its parameters and its seed. Cells run on
//! all available threads (`sweep.rs`) and are collected in order, so that the number of threads changes nothing.

mod agreements;
mod byzantine;
mod clock_sync;
mod comparison;
mod consensus_rounds;
mod crashes;
mod definition;
mod detectors;
mod election_cost;
mod error;
mod exact;
mod findings;
mod list;
mod literature;
mod mutex_cost;
mod mutex_faults;
mod quorum_run;
mod replay;
mod request;
mod series;
mod settled_versus_majority;
mod shard;
mod statistics;
mod sweep;
mod table;
mod thesis;
mod vcube_diagnosis;
mod verification;
mod without_cancel;

pub use definition::{Experiment, Options, Sizes};
pub use error::ExperimentError;
pub use findings::{Block, Findings};
pub use list::EXPERIMENTS;
pub use request::ExperimentProgress;
pub use shard::ExperimentShard;
pub use statistics::Statistics;
pub use table::{Row, Table, Value};

use definition::doubling;
use request::Request;
