//! How a connection begins: who speaks what.

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

/// The first bytes of a client. No request of HTTP begins like this, so that one port serves both.
pub const MAGIC: [u8; 4] = *b"QRTC";

/// The version that this build speaks.
pub const VERSION: u16 = 4;

/// Why there is no talking.
#[derive(Debug, thiserror::Error)]
pub enum ClientHandshakeError {
    /// The connection broke.
    #[error("the connection broke: {0}")]
    Io(#[from] std::io::Error),
    /// It is something else.
    #[error("this is not a node of quorate, or not its port for clients")]
    NotQuorate,
    /// Another version.
    #[error(
        "the other side speaks version {theirs}, and this one {VERSION}: upgrade the older one"
    )]
    Version {
        /// What the other side speaks.
        theirs: u16,
    },
    /// It wants to know who we are.
    #[error("the node does not let this client in: {0}")]
    Refused(String),
}

/// A client's first words: the version, and its token if it has one.
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

/// A node's part, after it has seen [`MAGIC`]: what the client shows to be let in.
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

/// What a node answers: nothing if the client is welcome, or why it is not.
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
