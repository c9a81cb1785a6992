//! Handshake of a client connection: protocol versions and authentication token.
//!
//! ```text
//! client   MAGIC  newest  oldest  length  token       newest, oldest and length have two bytes, the most significant first
//! node     MAGIC  newest  oldest  length  refusal     no refusal: the newest version that both support is used from now on
//! ```
//!
//! Up to version 6 there was no range: `newest` was followed by `length`. Each side finds this out from `newest`, so that it can
//! say that the other one is too old.

use quorate_core::Versions;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

/// First bytes that a client sends. No HTTP request begins with them, so one port serves both protocols.
pub const MAGIC: [u8; 4] = *b"QRTC";

/// Versions of the messages that this build understands. A release understands those of the release before too.
pub const VERSIONS: Versions = Versions::only(7);

/// The first version whose handshake contains a range.
const WITH_RANGE: u16 = 7;

/// Maximum number of bytes of a token that a node reads.
const TOKEN_MOST: usize = 4096;

/// Maximum number of bytes of a refusal.
const REFUSAL_MOST: usize = 1024;

/// Error of a handshake.
#[derive(Debug, thiserror::Error)]
pub enum ClientHandshakeError {
    /// An I/O error on the connection.
    #[error("the connection broke: {0}")]
    Io(#[from] std::io::Error),
    /// The other side is not a quorate node, or the port is not its client port.
    #[error("the endpoint is not a quorate node, or not its client port")]
    NotQuorate,
    /// The two sides have no protocol version in common.
    #[error(
        "the other side uses protocol version {theirs}, and this side {ours}: upgrade the older one"
    )]
    Version {
        /// Versions that the other side understands.
        theirs: Versions,
        /// Versions that this side understands.
        ours: Versions,
    },
    /// The node has rejected the client. Contains the reason.
    #[error("the node does not let this client in: {0}")]
    Refused(String),
}

/// Performs the client's side of the handshake: sends its versions and the token, if there is one, and
/// reads the node's answer. Returns the version that both sides use.
pub async fn initiate<S: AsyncRead + AsyncWrite + Unpin>(
    stream: &mut S,
    ours: Versions,
    token: Option<&str>,
) -> Result<u16, ClientHandshakeError> {
    send(stream, ours, token.unwrap_or("").as_bytes()).await?;
    let mut magic = [0; 4];
    stream.read_exact(&mut magic).await?;
    if magic != MAGIC {
        return Err(ClientHandshakeError::NotQuorate);
    }
    let version = agree(stream, ours).await?;
    let refusal = text(stream, usize::from(u16::MAX)).await?;
    if refusal.is_empty() { Ok(version) } else { Err(ClientHandshakeError::Refused(refusal)) }
}

/// Performs the node's side after it has read [`MAGIC`]: returns the version that both sides use, and the token that the client
/// presents, or an empty string.
pub async fn receive<S: AsyncRead + AsyncWrite + Unpin>(
    stream: &mut S,
    ours: Versions,
) -> Result<(u16, String), ClientHandshakeError> {
    let agreed = agree(stream, ours).await;
    if let Err(ClientHandshakeError::Version { .. }) = agreed {
        respond(stream, ours, "").await?;
    }
    Ok((agreed?, text(stream, TOKEN_MOST).await?))
}

/// Answers a client: an empty `refusal` accepts it, any other text is the reason of the rejection.
pub async fn respond<S: AsyncWrite + Unpin>(
    stream: &mut S,
    ours: Versions,
    refusal: &str,
) -> std::io::Result<()> {
    send(stream, ours, &refusal.as_bytes()[..refusal.len().min(REFUSAL_MOST)]).await
}

async fn send<S: AsyncWrite + Unpin>(
    stream: &mut S,
    ours: Versions,
    text: &[u8],
) -> std::io::Result<()> {
    let mut bytes = Vec::with_capacity(10 + text.len());
    bytes.extend(MAGIC);
    bytes.extend(ours.newest.to_be_bytes());
    bytes.extend(ours.oldest.to_be_bytes());
    bytes.extend((text.len() as u16).to_be_bytes());
    bytes.extend(text);
    stream.write_all(&bytes).await?;
    stream.flush().await
}

/// Reads the other side's versions, and returns the newest that both sides support.
async fn agree<S: AsyncRead + Unpin>(
    stream: &mut S,
    ours: Versions,
) -> Result<u16, ClientHandshakeError> {
    let newest = stream.read_u16().await?;
    let oldest = if newest < WITH_RANGE { newest } else { stream.read_u16().await? };
    let theirs = Versions { oldest, newest };
    ours.common(theirs).ok_or(ClientHandshakeError::Version { theirs, ours })
}

async fn text<S: AsyncRead + Unpin>(stream: &mut S, most: usize) -> std::io::Result<String> {
    let mut bytes = vec![0; usize::from(stream.read_u16().await?).min(most)];
    stream.read_exact(&mut bytes).await?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
