#![doc = include_str!("../README.md")]
//!
//! # Main types
//!
//! - [`NodeCore`] is a node without I/O. It hosts the voter of `leased_quorum`, and runs relays for sessions whose clients do
//!   not connect to the voters themselves.
//! - [`Node`] runs a core over a mesh and accepts clients. [`launch()`] starts it from a [`NodeConfig`].
//! - [`local_cluster`] starts a whole cluster in one process.

mod auth;
mod clock;
mod config;
mod connections;
mod core;
mod disk;
mod etcd;
mod event_loop;
mod files;
mod http;
mod launch;
mod lease;
mod local;
mod local_client;
mod members_file;
mod metrics;
mod node;
mod peer;
mod recover;
mod serve;
mod spans;
mod vote_file;

pub use crate::core::{Action, CallerId, NodeCore, Owner, Quotas, Settings, VoterStart};
pub use auth::ClientConfig;
pub use clock::now;
pub use config::{BadConfig, NodeConfig};
pub use disk::{Disk, DiskError, DurableState};
pub use files::raise_open_files;
#[cfg(feature = "openapi")]
pub use http::openapi;
pub use launch::{Extras, FirstStart, launch};
pub use local::{LocalCluster, local_cluster, local_cluster_with};
pub use node::{CannotStart, ListenerConfig, Node, Start};
pub use peer::PeerMessage;
pub use recover::{Recovered, recover};
pub use spans::SpanSink;
