//! How a connection begins: who speaks what.

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

/// The first bytes of a client. No request of HTTP begins like this, so that one port serves both.
pub const MAGIC: [u8; 4] = *b"QRTC";

/// The version that this build speaks.
pub const VERSION: u16 = 4;

/// Why there is no talking.
#[derive(Debug, thiserror::Error)]
pub enum Unfit {
    /// The connection broke.
    #[error("the connection broke: {0}")]
    Io(#[from] std::io::Error),
    /// It is something else.
    #[error("this is not a node of quorate, or not its port for clients")]
    Stranger,
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
pub async fn greet<S: AsyncRead + AsyncWrite + Unpin>(
    stream: &mut S,
    token: Option<&str>,
) -> Result<(), Unfit> {
    let token = token.unwrap_or("").as_bytes();
    let mut words = Vec::with_capacity(8 + token.len());
    words.extend(MAGIC);
    words.extend(VERSION.to_be_bytes());
    words.extend((token.len() as u16).to_be_bytes());
    words.extend(token);
    stream.write_all(&words).await?;
    stream.flush().await?;
    let mut answer = [0; 8];
    stream.read_exact(&mut answer).await?;
    if answer[..4] != MAGIC {
        return Err(Unfit::Stranger);
    }
    let theirs = u16::from_be_bytes([answer[4], answer[5]]);
    let length = u16::from_be_bytes([answer[6], answer[7]]);
    if theirs != VERSION {
        return Err(Unfit::Version { theirs });
    }
    if length > 0 {
        let mut why = vec![0; length.into()];
        stream.read_exact(&mut why).await?;
        return Err(Unfit::Refused(String::from_utf8_lossy(&why).into_owned()));
    }
    Ok(())
}

/// A node's part, after it has seen [`MAGIC`]: what the client shows to be let in.
pub async fn hear<S: AsyncRead + AsyncWrite + Unpin>(stream: &mut S) -> Result<String, Unfit> {
    let mut words = [0; 4];
    stream.read_exact(&mut words).await?;
    let theirs = u16::from_be_bytes([words[0], words[1]]);
    if theirs != VERSION {
        answer(stream, "").await?;
        return Err(Unfit::Version { theirs });
    }
    let mut token = vec![0; usize::from(u16::from_be_bytes([words[2], words[3]])).min(4096)];
    stream.read_exact(&mut token).await?;
    Ok(String::from_utf8_lossy(&token).into_owned())
}

/// What a node answers: nothing if the client is welcome, or why it is not.
pub async fn answer<S: AsyncWrite + Unpin>(stream: &mut S, why_not: &str) -> std::io::Result<()> {
    let why_not = &why_not.as_bytes()[..why_not.len().min(1024)];
    let mut words = Vec::with_capacity(8 + why_not.len());
    words.extend(MAGIC);
    words.extend(VERSION.to_be_bytes());
    words.extend((why_not.len() as u16).to_be_bytes());
    words.extend(why_not);
    stream.write_all(&words).await?;
    stream.flush().await
}
