//! Named locks and elections among the nodes of a cluster.
//!
//! [`Keeper`] is a node without sockets: the locks of `quorate-algorithms` over the VCube diagnosis, sessions of clients
//! and their requests. [`Node`] runs one over a mesh, and lets clients in.

mod clock;
mod config;
mod disk;
mod keeper;
mod launch;
mod local;
mod node;
mod peer;
mod serve;
mod session;

pub use clock::now;
pub use config::{BadConfig, NodeConfig};
pub use disk::{Disk, DiskError, Remembered};
pub use keeper::{Client, Deed, Keeper, Settings};
pub use launch::launch;
pub use local::{LocalCluster, local_cluster};
pub use node::{CannotStart, Node, Start};
pub use peer::PeerMessage;
