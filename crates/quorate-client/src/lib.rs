//! Locks and elections of a quorate cluster.
//!
//! ```no_run
//! # async fn example() -> Result<(), quorate_client::Error> {
//! use quorate_client::{Client, SessionOptions};
//!
//! let client = Client::new(["127.0.0.1:7480"]);
//! let session = client.session(SessionOptions::default()).await?;
//! let guard = session.lock("deploy")?.why("release 7").acquire().await?;
//! tokio::select! {
//!     () = guard.expiring() => { /* stop: somebody else may have the lock soon */ }
//!     () = deploy(guard.token()) => guard.release().await?,
//! }
//! # Ok(())
//! # }
//! # async fn deploy(_token: u64) {}
//! ```
//!
//! A lock is relied on for a time only. The time is counted from when the client last asked for more, by a clock that
//! counts the time that the machine sleeps, and ends before the cluster may give the lock to somebody else. Whatever is
//! guarded by a lock should be told the token and refuse smaller ones.
//!
//! A session is connected to all nodes of the cluster and collects the votes of a quorum itself, so that no single node can
//! take its locks along. Nodes tell clients each other's addresses: naming one of them is enough while that one runs. A
//! client that reaches only one node is relayed by it.
//!
//! [`Client::with_backend`] takes a [`Backend`]: with the feature `etcd` a cluster of etcd gives the same locks, `etcd://HOST:PORT`.

mod backend;
pub mod blocking;
mod client;
mod clock;
mod connection;
mod credentials;
mod direct;
mod error;
#[cfg(feature = "etcd")]
mod etcd;
mod guard;
mod session;
mod shares;
mod spans;
mod staggered;

pub use backend::{Backend, BackendKind, BadBackend};
pub use client::{Client, Listing};
pub use clock::Moment;
pub use credentials::Credentials;
pub use error::Error;
pub use guard::{Guard, LockRequest, Loss};
pub use quorate_protocol::{
    BadName, Failure, HolderChange, Kind, MemberStatus, Name, NodeStatus, RequestInfo,
    RequestState, TokenStatus, escaped,
};
pub use session::{Session, SessionOptions};

/// Where a cluster listens if nobody says otherwise.
pub const DEFAULT_ENDPOINT: &str = "127.0.0.1:7480";
