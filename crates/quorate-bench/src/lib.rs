//! How fast locks are: the same work for quorate and for the services it is compared with.
//!
//! A [`Service`] is a running cluster whose clients take and free locks; [`work`] makes them do it in the ways that matter
//! and measures; [`peers`] are the services of others, and [`comparison`]
//! puts all into one table; [`engines`] does that for simulators and checkers; [`round_trip`] is what the machine's loopback takes for a message and its answer, in the same run, so that
//! figures of different machines can be compared.

#![expect(clippy::disallowed_methods, reason = "what is measured is the time of the real world")]

mod cluster;
pub mod comparison;
pub mod engines;
mod format;
mod loopback;
mod measure;
mod page;
pub mod peers;
mod processes;
mod raw;
mod service;
mod storage;
mod task;
mod text_table;
pub mod work;

pub use cluster::{Launch, QuorateCluster, Wire};
pub use measure::{Latency, Measurement};
pub use page::page;
pub use processes::{Processes, raise_open_file_limit};
pub use raw::{RoundTrip, round_trip};
pub use service::{BenchError, LockClient, Service};
pub use storage::Storage;
pub use task::{BenchConfig, Task, perform};
