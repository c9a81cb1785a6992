//! What can go wrong.

use quorate_protocol::handshake::ClientHandshakeError;
use quorate_protocol::{BadName, Failure};

use crate::backend::BadBackend;

/// What can go wrong.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The cluster says so.
    #[error(transparent)]
    Failed(#[from] Failure),
    /// No node can be talked to.
    #[error("no node can be reached: {0}")]
    Unreachable(String),
    /// What is there is not what was expected.
    #[error(transparent)]
    Handshake(#[from] ClientHandshakeError),
    /// A name that cannot be one.
    #[error(transparent)]
    Name(#[from] BadName),
    /// A backend that cannot be one.
    #[error(transparent)]
    Backend(#[from] BadBackend),
    /// The backend cannot give this; the text says what to do instead.
    #[error("{0}")]
    Unsupported(String),
    /// Certificates that cannot be used.
    #[error("the certificates cannot be used: {0}")]
    Credentials(String),
    /// An answer to another question.
    #[error("the node answered something else than was asked")]
    UnexpectedAnswer,
    /// The client is no more.
    #[error("the client has been closed")]
    Closed,
}
