#![doc = include_str!("../README.md")]
//!
//! # Main types
//!
//! - [`Mesh`] connects the nodes of a cluster, according to a [`Config`]. Its [`Events`] are messages and changes of
//!   connections.
//! - [`driver`] runs a process over a mesh. [`codec`] encodes any type that implements the `serde` traits.
//! - [`certs`] and [`authority`] create the certificates for [`Tls`].
//! - [`Network`] replaces TCP in tests.

mod accept;
pub mod authority;
mod backoff;
pub mod certs;
mod client_certificate;
pub mod codec;
mod config;
mod connection;
mod delivery;
mod dial;
pub mod driver;
mod event;
mod expiry;
pub mod frame;
mod handshake;
pub mod hello;
mod limits;
mod link;
mod mesh;
mod network;
mod refusal;
mod serve;
mod shared;
mod tls;

pub use client_certificate::{ClientCertificate, client_name};
pub use config::{Config, FRAME_VERSIONS, Security, StartError};
pub use event::{DisconnectReason, Event, Events};
pub use expiry::CertificateExpiry;
pub use hello::{ClusterId, Incarnation};
pub use limits::{InvalidLimits, Limits, MESSAGE_OVERHEAD};
pub use mesh::{Mesh, PeerStatus, SendError};
pub use network::{BoxFuture, Connection, Listener, Network, Stream, Tcp};
pub use quorate_core::Versions;
pub use refusal::{Refusal, RefusalReason};
pub use tls::{CertificateFiles, Tls, TlsError, node_name};
