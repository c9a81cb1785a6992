//! Handshake of a client connection: protocol version and authentication token.

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

/// First bytes that a client sends. No HTTP request begins with them, so one port serves both protocols.
pub const MAGIC: [u8; 4] = *b"QRTC";

/// Protocol version of this build.
pub const VERSION: u16 = 6;

/// Error of a handshake.
#[derive(Debug, thiserror::Error)]
pub enum ClientHandshakeError {
    /// An I/O error on the connection.
    #[error("the connection broke: {0}")]
    Io(#[from] std::io::Error),
    /// The other side is not a quorate node, or the port is not its client port.
    #[error("the endpoint is not a quorate node, or not its client port")]
    NotQuorate,
    /// The two sides have different protocol versions.
    #[error(
        "the other side uses protocol version {theirs}, and this side {VERSION}: upgrade the older one"
    )]
    Version {
        /// Protocol version of the other side.
        theirs: u16,
    },
    /// The node has rejected the client. Contains the reason.
    #[error("the node does not let this client in: {0}")]
    Refused(String),
}

/// Performs the client's side of the handshake: sends the version and the token, if there is one, and
/// reads the node's answer.
pub async fn initiate<S: AsyncRead + AsyncWrite + Unpin>(
    stream: &mut S,
    token: Option<&str>,
) -> Result<(), ClientHandshakeError> {
    let token = token.unwrap_or("").as_bytes();
    let mut bytes = Vec::with_capacity(8 + token.len());
    bytes.extend(MAGIC);
    bytes.extend(VERSION.to_be_bytes());
    bytes.extend((token.len() as u16).to_be_bytes());
    bytes.extend(token);
    stream.write_all(&bytes).await?;
    stream.flush().await?;
    let mut answer = [0; 8];
    stream.read_exact(&mut answer).await?;
    if answer[..4] != MAGIC {
        return Err(ClientHandshakeError::NotQuorate);
    }
    let theirs = u16::from_be_bytes([answer[4], answer[5]]);
    let length = u16::from_be_bytes([answer[6], answer[7]]);
    if theirs != VERSION {
        return Err(ClientHandshakeError::Version { theirs });
    }
    if length > 0 {
        let mut why = vec![0; length.into()];
        stream.read_exact(&mut why).await?;
        return Err(ClientHandshakeError::Refused(String::from_utf8_lossy(&why).into_owned()));
    }
    Ok(())
}

/// Performs the node's side after it has read [`MAGIC`]: returns the token that the client presents, or an empty string.
pub async fn receive<S: AsyncRead + AsyncWrite + Unpin>(
    stream: &mut S,
) -> Result<String, ClientHandshakeError> {
    let mut bytes = [0; 4];
    stream.read_exact(&mut bytes).await?;
    let theirs = u16::from_be_bytes([bytes[0], bytes[1]]);
    if theirs != VERSION {
        respond(stream, "").await?;
        return Err(ClientHandshakeError::Version { theirs });
    }
    let mut token = vec![0; usize::from(u16::from_be_bytes([bytes[2], bytes[3]])).min(4096)];
    stream.read_exact(&mut token).await?;
    Ok(String::from_utf8_lossy(&token).into_owned())
}

/// Answers a client: an empty `refusal` accepts it, any other text is the reason of the rejection.
pub async fn respond<S: AsyncWrite + Unpin>(stream: &mut S, refusal: &str) -> std::io::Result<()> {
    let refusal = &refusal.as_bytes()[..refusal.len().min(1024)];
    let mut bytes = Vec::with_capacity(8 + refusal.len());
    bytes.extend(MAGIC);
    bytes.extend(VERSION.to_be_bytes());
    bytes.extend((refusal.len() as u16).to_be_bytes());
    bytes.extend(refusal);
    stream.write_all(&bytes).await?;
    stream.flush().await
}
