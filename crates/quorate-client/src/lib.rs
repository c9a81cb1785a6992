//! Client library for the locks and elections of a quorate cluster.
//!
//! ```no_run
//! # async fn example() -> Result<(), quorate_client::Error> {
//! use quorate_client::{Client, SessionOptions};
//!
//! let client = Client::new(["127.0.0.1:7480"]);
//! let session = client.session(SessionOptions::default()).await?;
//! let guard = session.lock("deploy")?.why("release 7").acquire().await?;
//! tokio::select! {
//!     () = guard.expiring() => { /* stop: another client may get the lock soon */ }
//!     () = deploy(guard.token()) => guard.release().await?,
//! }
//! # Ok(())
//! # }
//! # async fn deploy(_token: u64) {}
//! ```
//!
//! A guard is valid for a limited time only. The time is counted from the client's last keep-alive, by a clock that
//! includes the time during which the machine sleeps. It ends before the cluster may grant the lock to another session.
//! Pass the token to the resource that the lock guards. The resource should refuse smaller tokens.
//!
//! A session is connected to all nodes of the cluster and collects the votes of a quorum itself, so that it keeps its locks
//! when a single node fails. Nodes advertise each other's addresses to clients: one endpoint is enough while its node runs.
//! A session that reaches only one node is relayed by that node.
//!
//! [`Client::with_backend`] takes a [`Backend`]. With the feature `etcd`, the backend `etcd://HOST:PORT` gives the same
//! locks.

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
mod job;
mod lock_status;
mod open_session;
mod session;
mod session_options;
mod session_state;
mod shares;
mod spans;
mod staggered;

pub use backend::{Backend, BackendKind, BadBackend};
pub use client::{Client, Listing};
pub use clock::Moment;
pub use credentials::Credentials;
pub use error::Error;
pub use guard::{Guard, LockRequest};
pub use lock_status::Loss;
pub use quorate_protocol::{
    BadName, Failure, HolderChange, Kind, MemberStatus, Name, NodeStatus, RequestInfo,
    RequestState, TokenStatus, escaped,
};
pub use session::Session;
pub use session_options::SessionOptions;

/// Default endpoint of a cluster.
pub const DEFAULT_ENDPOINT: &str = "127.0.0.1:7480";
