#![doc = include_str!("../README.md")]
//!
//! # Main items
//!
//! A [`Service`] is a running cluster whose clients acquire and release locks. [`work`] contains the workloads and
//! measures them. [`peers`] are the services of others, and [`comparison`] puts all results into one table. [`engines`]
//! does the same for simulators and model checkers. [`round_trip`] measures a message and its answer on loopback in the
//! same run, so that results of different machines can be compared.

#![expect(clippy::disallowed_methods, reason = "measurements use real time")]

mod cluster;
pub mod comparison;
pub mod engines;
mod error;
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
pub use error::BenchError;
pub use measure::{Latency, Measurement};
pub use page::page;
pub use processes::{Processes, raise_open_file_limit};
pub use raw::{RoundTrip, round_trip};
pub use service::{LockClient, Service};
pub use storage::Storage;
pub use task::{BenchConfig, Task, perform};
