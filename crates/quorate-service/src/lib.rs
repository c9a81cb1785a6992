//! Named locks and elections among the nodes of a cluster.
//!
//! [`Keeper`] is a node without sockets: the locks of `quorate-algorithms` over the VCube diagnosis, sessions of clients
//! and their requests. [`Node`] runs one over a mesh, and lets clients in.

mod clock;
mod config;
mod connections;
mod disk;
mod door;
mod etcd;
mod files;
mod http;
mod keeper;
mod launch;
mod lease;
mod local;
mod measures;
mod node;
mod peer;
mod rights;
mod serve;
mod session;
mod spans;

pub use clock::now;
pub use config::{BadConfig, NodeConfig};
pub use disk::{Disk, DiskError, Remembered};
pub use files::raise_open_files;
pub use http::openapi;
pub use keeper::{Client, Deed, Keeper, Moving, Owner, Quotas, Settings, Trouble};
pub use launch::{Extras, launch};
pub use local::{LocalCluster, local_cluster, local_cluster_with};
pub use node::{CannotStart, Node, Reception, Start};
pub use peer::PeerMessage;
pub use rights::ClientConfig;
pub use spans::SpanSink;
