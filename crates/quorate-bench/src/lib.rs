//! How fast locks are: the same work for quorate and for the services it is compared with.
//!
//! A [`Service`] is a running cluster whose clients take and free locks; [`work`] makes them do it in the ways that matter
//! and measures; [`peers`] are the services of others, and [`contest`]
//! puts all into one table; [`engines`] does that for simulators and checkers; [`round_trip`] is what the machine's loopback takes for a message and its answer, in the same run, so that
//! figures of different machines can be compared.

#![expect(clippy::disallowed_methods, reason = "what is measured is the time of the real world")]

mod cluster;
pub mod contest;
pub mod engines;
mod grid;
mod loopback;
mod measure;
mod page;
pub mod peers;
mod processes;
mod raw;
mod say;
mod service;
mod storage;
mod task;
pub mod work;

pub use cluster::{Cluster, Launch, Wire};
pub use measure::{Latency, Measured};
pub use page::page;
pub use processes::{Processes, allow_many_files};
pub use raw::{RoundTrip, round_trip};
pub use service::{LockClient, Service, Trouble};
pub use storage::Storage;
pub use task::{Effort, Task, perform};
