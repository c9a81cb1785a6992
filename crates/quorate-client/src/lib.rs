#![doc = include_str!("../README.md")]
//!
//! # Main types
//!
//! - [`Client`] opens a [`Session`]. A session requests locks and elections ([`LockRequest`]) and receives a [`Guard`].
//! - [`blocking`] is the same for code that is not async.
//! - [`Credentials`] authenticate a client. [`Client::with_backend`] takes a [`Backend`].
//!
//! # Features
//!
//! | feature | default | effect |
//! |---|---|---|
//! | `etcd` | no | the backend `etcd://HOST:PORT`, with the same locks on an etcd cluster |

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
    BadName, ClusterTerms, Configuration, Failure, HolderChange, Kind, Member, MemberChange,
    MemberStatus, Members, MembersStatus, Name, NodeStatus, RequestInfo, RequestState, TermsChange,
    TokenStatus, escaped,
};
pub use session::Session;
pub use session_options::SessionOptions;

/// Default endpoint of a cluster.
pub const DEFAULT_ENDPOINT: &str = "127.0.0.1:7480";
