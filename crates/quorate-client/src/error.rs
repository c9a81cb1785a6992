//! Errors of the client.

use quorate_protocol::handshake::ClientHandshakeError;
use quorate_protocol::{BadName, Failure};

use crate::backend::BadBackend;

/// Error of a client call.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The cluster refused the call.
    #[error(transparent)]
    Failed(#[from] Failure),
    /// No node is reachable; the text is the last error.
    #[error("no node can be reached: {0}")]
    Unreachable(String),
    /// The last node that was tried does not admit this client. The text names the node and its reason: the credentials are
    /// missing or wrong, or the node has too many connections.
    #[error("no node can be reached: {0}")]
    NotAdmitted(String),
    /// The peer is not a compatible quorate node, or refused the handshake.
    #[error(transparent)]
    Handshake(#[from] ClientHandshakeError),
    /// The name of a lock or an election is invalid.
    #[error(transparent)]
    Name(#[from] BadName),
    /// The address of the backend is invalid.
    #[error(transparent)]
    Backend(#[from] BadBackend),
    /// The backend does not support this call; the text names an alternative.
    #[error("{0}")]
    Unsupported(String),
    /// The certificates are unusable.
    #[error("the certificates cannot be used: {0}")]
    Credentials(String),
    /// The answer does not match the call.
    #[error("the answer of the node does not match the call")]
    UnexpectedAnswer,
    /// The client has been closed.
    #[error("the client has been closed")]
    Closed,
}
