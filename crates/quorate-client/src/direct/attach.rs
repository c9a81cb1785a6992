//! Attaching: connecting to a node and binding the connection to a session.

use std::io;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use quorate_protocol::frame::{self, Reader};
use quorate_protocol::{
    Attached, Call, CallResponse, ClientMessage, Failure, ServerMessage, SessionKey, handshake,
};
use tokio::io::AsyncWriteExt;

use crate::clock::Moment;
use crate::credentials::{Dialler, Stream};
use crate::error::Error;

/// Call number of attach calls. A call with a single request has the number of that request.
pub(super) const ATTACH: u64 = u64::MAX;

/// Maximum time to connect to a node and to receive its answer to the attach call.
const ATTACH_TIMEOUT: Duration = Duration::from_secs(5);

/// Identity of the session, the same at every node.
#[derive(Clone, Debug)]
pub(super) struct SessionIdentity {
    pub(super) key: SessionKey,
    pub(super) client_name: String,
    pub(super) client_location: String,
}

impl SessionIdentity {
    fn attach(&self, candidate: Option<u64>) -> Call {
        let (client_name, client_location) =
            (self.client_name.clone(), self.client_location.clone());
        Call::Attach { session: self.key, client_name, client_location, candidate }
    }

    /// An attach call to a node that the session is already attached to, to learn the addresses that it knows by now.
    pub(super) fn attach_again(&self, candidate: u64) -> Bytes {
        let mut bytes = BytesMut::new();
        put(ATTACH, self.attach(Some(candidate)), &mut bytes);
        bytes.freeze()
    }
}

/// Appends a call to `bytes`, as a frame.
pub(super) fn put(number: u64, call: Call, bytes: &mut BytesMut) {
    frame::put(&ClientMessage { number, sent: Moment::now().0, call }, bytes);
}

/// Reason why a node cannot be used.
#[derive(Debug, thiserror::Error)]
pub(super) enum AttachError {
    #[error(transparent)]
    Handshake(#[from] handshake::ClientHandshakeError),
    #[error(transparent)]
    Failed(#[from] Failure),
    #[error("the address belongs to another node")]
    OtherNode,
}

impl AttachError {
    /// Error of a client that has found no usable node, if this is the last failure, at `endpoint`.
    pub(super) fn into_error(self, endpoint: &str) -> Error {
        let why = format!("{endpoint}: {self}");
        match self {
            Self::Handshake(handshake::ClientHandshakeError::Refused(_)) => Error::NotAdmitted(why),
            _ => Error::Unreachable(why),
        }
    }
}

impl From<io::Error> for AttachError {
    fn from(error: io::Error) -> Self {
        Self::Handshake(error.into())
    }
}

/// A connection that is bound to the session.
pub(super) struct Connection {
    pub(super) reader: Reader<Box<dyn Stream>>,
    pub(super) attached: Attached,
}

/// Connects to a node and binds the connection to the session.
pub(super) async fn attach(
    dialler: &Dialler,
    endpoint: &str,
    identity: &SessionIdentity,
    candidate: Option<u64>,
) -> Result<Connection, AttachError> {
    let connect = async {
        let mut stream = dialler.dial(endpoint).await?;
        handshake::initiate(&mut stream, handshake::VERSIONS, dialler.token.as_deref()).await?;
        let mut bytes = BytesMut::new();
        put(ATTACH, identity.attach(candidate), &mut bytes);
        stream.write_all(&bytes).await?;
        stream.flush().await?;
        let mut reader = Reader::new(stream, frame::SERVER_FRAME_MAX);
        loop {
            match reader.next::<ServerMessage>().await? {
                Some(ServerMessage::Response(ATTACH, CallResponse::Attached(attached))) => {
                    return Ok(Connection { reader, attached: *attached });
                }
                Some(ServerMessage::Response(ATTACH, CallResponse::Failed(failure))) => {
                    return Err(failure.into());
                }
                Some(_) => {}
                None => return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into()),
            }
        }
    };
    let late = || Err(io::Error::from(io::ErrorKind::TimedOut).into());
    tokio::time::timeout(ATTACH_TIMEOUT, connect).await.unwrap_or_else(|_| late())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_refused_handshake_means_that_the_client_is_not_admitted() {
        let refused = handshake::ClientHandshakeError::Refused("an unknown token".to_owned());
        let Error::NotAdmitted(why) = AttachError::from(refused).into_error("a:1") else {
            panic!("a node refused the client");
        };
        assert_eq!(why, "a:1: the node does not let this client in: an unknown token");
        let broken = AttachError::from(io::Error::from(io::ErrorKind::TimedOut));
        for other in [broken, Failure::Leaving.into(), AttachError::OtherNode] {
            assert!(matches!(other.into_error("a:1"), Error::Unreachable(_)));
        }
    }
}
