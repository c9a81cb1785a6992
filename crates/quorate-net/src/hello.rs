//! The handshake messages of a connection: the dialling node sends [`Hello`], the accepting node answers [`HelloReply`].
//!
//! The layout up to the versions never changes, so that any two builds can find out whether they are compatible. A later
//! version may append fields: bytes after the known fields are ignored.

use std::fmt;

use bytes::{Buf, BufMut, BytesMut};
use quorate_core::ProcessId;

use crate::refusal::{LONGEST_TEXT, Refusal};
use quorate_core::Versions;

/// First bytes of every handshake message.
const MAGIC: [u8; 4] = *b"QRMH";
/// Size of the magic and of the length after it.
pub(crate) const PREFIX: usize = 4 + 2;
/// Maximum length of a handshake message after its prefix, in bytes.
pub(crate) const MAX_LENGTH: usize = 1024;

const WELCOME: u8 = 1;
const REFUSED: u8 = 2;

/// Identifier of a cluster. Nodes of different clusters refuse each other, even with the same certificate authority.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClusterId(pub u128);

/// Incarnation of a node: one run of its process. Each start has a greater number than all earlier ones. A greater number
/// means that the node has lost its state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Incarnation(pub u64);

/// Number of messages received from an incarnation of the peer. The peer sends the rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Received {
    /// Incarnation of the peer that sent them.
    pub from: Incarnation,
    /// Number of messages received so far.
    pub messages: u64,
}

/// First message of a node that dials another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hello {
    /// Versions of frames that the node supports.
    pub frames: Versions,
    /// Versions of the owner's messages that the node supports.
    pub messages: Versions,
    /// Cluster of the node.
    pub cluster: ClusterId,
    /// Number of the node.
    pub from: ProcessId,
    /// Number of the node that it wants to reach.
    pub to: ProcessId,
    /// Incarnation of the node.
    pub incarnation: Incarnation,
    /// Messages received from the other node; `None` if there was no connection before.
    pub received: Option<Received>,
}

/// Answer to a [`Hello`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HelloReply {
    /// The connection is accepted.
    Welcome(Welcome),
    /// The connection is refused, with a reason.
    Refused(Refusal),
}

/// Answer to a [`Hello`] that was accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Welcome {
    /// Version of frames on this connection.
    pub frames: u16,
    /// Version of the owner's messages on this connection.
    pub messages: u16,
    /// Incarnation of the answering node.
    pub incarnation: Incarnation,
    /// Messages received from the dialling node.
    pub received: Option<Received>,
}

/// Error for bytes that are not a handshake message.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HelloError {
    /// The peer speaks another protocol.
    #[error("not quorate's node protocol")]
    Magic,
    /// The peer speaks TLS.
    #[error("one side uses TLS, the other plain TCP: configure both alike")]
    Tls,
    /// The message exceeds the length limit.
    #[error("a hello of {0} bytes; at most {MAX_LENGTH} are allowed")]
    TooLong(usize),
    /// The message is shorter than in any version.
    #[error("the hello is too short")]
    TooShort,
}

/// Number of bytes after the prefix.
pub(crate) fn length(prefix: [u8; PREFIX]) -> Result<usize, HelloError> {
    let (magic, mut length) = prefix.split_at(MAGIC.len());
    if magic != MAGIC {
        // A TLS record: content type 20 to 23, then the version, whose first byte is 3 in all versions.
        let tls = matches!(magic, [20..=23, 3, ..]);
        return Err(if tls { HelloError::Tls } else { HelloError::Magic });
    }
    match length.get_u16() as usize {
        long @ MAX_LENGTH.. if long > MAX_LENGTH => Err(HelloError::TooLong(long)),
        length => Ok(length),
    }
}

impl Hello {
    /// Encodes the message, including the prefix.
    pub fn encode(&self) -> BytesMut {
        framed(|bytes| {
            put_versions(bytes, self.frames);
            put_versions(bytes, self.messages);
            bytes.put_u128(self.cluster.0);
            bytes.put_u32(self.from.number());
            bytes.put_u32(self.to.number());
            bytes.put_u64(self.incarnation.0);
            put_received(bytes, self.received);
        })
    }

    /// Decodes the message from the bytes after the prefix.
    pub fn decode(mut bytes: &[u8]) -> Result<Self, HelloError> {
        Ok(Self {
            frames: get_versions(&mut bytes)?,
            messages: get_versions(&mut bytes)?,
            cluster: ClusterId(bytes.try_get_u128()?),
            from: ProcessId::new(bytes.try_get_u32()?),
            to: ProcessId::new(bytes.try_get_u32()?),
            incarnation: Incarnation(bytes.try_get_u64()?),
            received: get_received(&mut bytes)?,
        })
    }
}

impl HelloReply {
    /// Encodes the message, including the prefix.
    pub fn encode(&self) -> BytesMut {
        framed(|bytes| match self {
            Self::Welcome(welcome) => {
                bytes.put_u8(WELCOME);
                bytes.put_u16(welcome.frames);
                bytes.put_u16(welcome.messages);
                bytes.put_u64(welcome.incarnation.0);
                put_received(bytes, welcome.received);
            }
            Self::Refused(refusal) => {
                bytes.put_u8(REFUSED);
                bytes.put_u8(refusal.reason.code());
                bytes.put_slice(refusal.text().as_bytes());
            }
        })
    }

    /// Decodes the message from the bytes after the prefix.
    pub fn decode(mut bytes: &[u8]) -> Result<Self, HelloError> {
        match bytes.try_get_u8()? {
            WELCOME => Ok(Self::Welcome(Welcome {
                frames: bytes.try_get_u16()?,
                messages: bytes.try_get_u16()?,
                incarnation: Incarnation(bytes.try_get_u64()?),
                received: get_received(&mut bytes)?,
            })),
            REFUSED => Ok(Self::Refused(Refusal::from_wire(bytes.try_get_u8()?, bytes))),
            _ => Err(HelloError::Magic),
        }
    }
}

fn framed(write: impl FnOnce(&mut BytesMut)) -> BytesMut {
    const { assert!(LONGEST_TEXT + 2 <= MAX_LENGTH) };
    let mut bytes = BytesMut::with_capacity(128);
    bytes.put_slice(&MAGIC);
    bytes.put_u16(0);
    write(&mut bytes);
    let length = u16::try_from(bytes.len() - PREFIX).expect("handshake messages are short");
    bytes[MAGIC.len()..PREFIX].copy_from_slice(&length.to_be_bytes());
    bytes
}

fn put_versions(bytes: &mut BytesMut, versions: Versions) {
    bytes.put_u16(versions.oldest);
    bytes.put_u16(versions.newest);
}

fn get_versions(bytes: &mut &[u8]) -> Result<Versions, HelloError> {
    Ok(Versions { oldest: bytes.try_get_u16()?, newest: bytes.try_get_u16()? })
}

/// Incarnations are greater than zero, so that zero encodes `None`.
fn put_received(bytes: &mut BytesMut, received: Option<Received>) {
    bytes.put_u64(received.map_or(0, |received| received.from.0));
    bytes.put_u64(received.map_or(0, |received| received.messages));
}

fn get_received(bytes: &mut &[u8]) -> Result<Option<Received>, HelloError> {
    let (from, messages) = (bytes.try_get_u64()?, bytes.try_get_u64()?);
    Ok((from > 0).then_some(Received { from: Incarnation(from), messages }))
}

impl From<bytes::TryGetError> for HelloError {
    fn from(_: bytes::TryGetError) -> Self {
        Self::TooShort
    }
}

impl fmt::Display for ClusterId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl fmt::Display for Incarnation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Incarnation {
    /// Nanoseconds since 1970: greater at each start as long as the clock is not set back. A node that cannot rely on that
    /// keeps a counter on disk.
    #[expect(clippy::disallowed_methods, reason = "incarnations are numbered by wall-clock time")]
    pub fn from_clock() -> Self {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        Self(since.map_or(1, |since| u64::try_from(since.as_nanos()).unwrap_or(u64::MAX).max(1)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::refusal::RefusalReason;
    use proptest::prelude::*;

    fn hello() -> Hello {
        Hello {
            frames: Versions { oldest: 1, newest: 2 },
            messages: Versions { oldest: 3, newest: 4 },
            cluster: ClusterId(5),
            from: ProcessId::new(6),
            to: ProcessId::new(7),
            incarnation: Incarnation(8),
            received: Some(Received { from: Incarnation(9), messages: 10 }),
        }
    }

    #[test]
    fn the_bytes_of_a_hello_do_not_change() {
        let mut expected = b"QRMH".to_vec();
        expected.extend([0, 56, 0, 1, 0, 2, 0, 3, 0, 4]);
        for (size, value) in [(16, 5u8), (4, 6), (4, 7), (8, 8), (8, 9), (8, 10)] {
            expected.extend(std::iter::repeat_n(0, size - 1).chain([value]));
        }
        assert_eq!(hello().encode()[..], expected);
    }

    #[test]
    fn what_a_later_version_appends_is_not_looked_at() {
        let mut bytes = hello().encode();
        bytes.put_slice(b"something new");
        assert_eq!(Hello::decode(&bytes[PREFIX..]), Ok(hello()));
    }

    #[test]
    fn answers_are_read_as_they_were_written() {
        let welcome =
            Welcome { frames: 1, messages: 2, incarnation: Incarnation(3), received: None };
        let refusal = Refusal::new(RefusalReason::Cluster, "another cluster");
        for answer in [HelloReply::Welcome(welcome), HelloReply::Refused(refusal)] {
            assert_eq!(HelloReply::decode(&answer.encode()[PREFIX..]), Ok(answer));
        }
    }

    #[test]
    fn other_languages_are_recognised() {
        assert_eq!(length([0x16, 3, 1, 2, 0, 1]), Err(HelloError::Tls));
        assert_eq!(length(*b"GET / "), Err(HelloError::Magic));
        assert_eq!(length([b'Q', b'R', b'M', b'H', 4, 1]), Err(HelloError::TooLong(1025)));
        assert_eq!(length([b'Q', b'R', b'M', b'H', 4, 0]), Ok(1024));
    }

    proptest! {
        #[test]
        fn whatever_arrives_is_read_or_refused(bytes: Vec<u8>) {
            let _ = (Hello::decode(&bytes), HelloReply::decode(&bytes));
        }
    }
}
