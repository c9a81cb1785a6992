//! The first words of a connection: who dials says [`Hello`], who answers says [`HelloReply`].
//!
//! The layout up to the versions never changes, so that any two builds can find out whether they understand each
//! other. A later version may append fields: what follows the known ones is not looked at.

use std::fmt;

use bytes::{Buf, BufMut, BytesMut};
use quorate_core::ProcessId;

use crate::refusal::{LONGEST_TEXT, Refusal};
use crate::terms::{LONGEST_TERMS, StatedTerms};
use crate::versions::Versions;

/// How every first word begins.
const MAGIC: [u8; 4] = *b"QRMH";
/// The bytes of the magic and of the length behind it.
pub(crate) const PREFIX: usize = 4 + 2;
/// A first word may have so many bytes after its prefix.
pub(crate) const MAX_LENGTH: usize = 1024;

const WELCOME: u8 = 1;
const REFUSED: u8 = 2;

/// The tag of the terms among the fields that were appended.
const TERMS: u8 = 1;

/// Which cluster a node belongs to; two clusters never talk to each other, even with the same certificate authority.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClusterId(pub u128);

/// One life of a node. Each start has a larger number than those before; a larger number means that all memory is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Incarnation(pub u64);

/// What has arrived so far from a life of the other side. It asks for the rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Received {
    /// Of which life.
    pub from: Incarnation,
    /// So many messages.
    pub messages: u64,
}

/// What a node says that dials another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hello {
    /// The versions of frames that it speaks.
    pub frames: Versions,
    /// The versions of the owner's messages that it speaks.
    pub messages: Versions,
    /// Its cluster.
    pub cluster: ClusterId,
    /// Who it is.
    pub from: ProcessId,
    /// Whom it wants to talk to.
    pub to: ProcessId,
    /// Its life.
    pub incarnation: Incarnation,
    /// What it has received; none if it has never heard from the other.
    pub received: Option<Received>,
    /// The terms of its cluster, as far as they concern these two nodes.
    pub terms: Option<StatedTerms>,
}

/// What a node answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HelloReply {
    /// Come in.
    Welcome(Welcome),
    /// No, and why.
    Refused(Refusal),
}

/// The answer to a [`Hello`] that was accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Welcome {
    /// The version of frames from now on.
    pub frames: u16,
    /// The version of the owner's messages from now on.
    pub messages: u16,
    /// The life of who answers.
    pub incarnation: Incarnation,
    /// What it has received.
    pub received: Option<Received>,
    /// The terms of its cluster, as far as they concern these two nodes.
    pub terms: Option<StatedTerms>,
}

/// Bytes that are no first word.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HelloError {
    /// Something else speaks there.
    #[error("it does not speak quorate's language between nodes")]
    Magic,
    /// It wants TLS.
    #[error("it speaks TLS, and this side was told to use plain TCP")]
    Tls,
    /// Longer than allowed.
    #[error("its first word has {0} bytes, where {MAX_LENGTH} are allowed")]
    TooLong(usize),
    /// Shorter than every version of it.
    #[error("its first word is too short")]
    TooShort,
}

/// How many bytes follow the prefix.
pub(crate) fn length(prefix: [u8; PREFIX]) -> Result<usize, HelloError> {
    let (magic, mut length) = prefix.split_at(MAGIC.len());
    if magic != MAGIC {
        // A record of TLS: 20 to 23, then the version, whose first byte has been 3 for ever.
        let tls = matches!(magic, [20..=23, 3, ..]);
        return Err(if tls { HelloError::Tls } else { HelloError::Magic });
    }
    match length.get_u16() as usize {
        long @ MAX_LENGTH.. if long > MAX_LENGTH => Err(HelloError::TooLong(long)),
        length => Ok(length),
    }
}

impl Hello {
    /// As bytes, with the prefix.
    pub fn encode(&self) -> BytesMut {
        framed(|bytes| {
            put_versions(bytes, self.frames);
            put_versions(bytes, self.messages);
            bytes.put_u128(self.cluster.0);
            bytes.put_u32(self.from.number());
            bytes.put_u32(self.to.number());
            bytes.put_u64(self.incarnation.0);
            put_received(bytes, self.received);
            put_terms(bytes, self.terms.as_ref());
        })
    }

    /// From the bytes after the prefix.
    pub fn decode(mut bytes: &[u8]) -> Result<Self, HelloError> {
        Ok(Self {
            frames: get_versions(&mut bytes)?,
            messages: get_versions(&mut bytes)?,
            cluster: ClusterId(bytes.try_get_u128()?),
            from: ProcessId::new(bytes.try_get_u32()?),
            to: ProcessId::new(bytes.try_get_u32()?),
            incarnation: Incarnation(bytes.try_get_u64()?),
            received: get_received(&mut bytes)?,
            terms: get_terms(bytes),
        })
    }
}

impl HelloReply {
    /// As bytes, with the prefix.
    pub fn encode(&self) -> BytesMut {
        framed(|bytes| match self {
            Self::Welcome(welcome) => {
                bytes.put_u8(WELCOME);
                bytes.put_u16(welcome.frames);
                bytes.put_u16(welcome.messages);
                bytes.put_u64(welcome.incarnation.0);
                put_received(bytes, welcome.received);
                put_terms(bytes, welcome.terms.as_ref());
            }
            Self::Refused(refusal) => {
                bytes.put_u8(REFUSED);
                bytes.put_u8(refusal.reason.code());
                bytes.put_slice(refusal.text().as_bytes());
            }
        })
    }

    /// From the bytes after the prefix.
    pub fn decode(mut bytes: &[u8]) -> Result<Self, HelloError> {
        match bytes.try_get_u8()? {
            WELCOME => Ok(Self::Welcome(Welcome {
                frames: bytes.try_get_u16()?,
                messages: bytes.try_get_u16()?,
                incarnation: Incarnation(bytes.try_get_u64()?),
                received: get_received(&mut bytes)?,
                terms: get_terms(bytes),
            })),
            REFUSED => Ok(Self::Refused(Refusal::from_wire(bytes.try_get_u8()?, bytes))),
            _ => Err(HelloError::Magic),
        }
    }
}

fn framed(write: impl FnOnce(&mut BytesMut)) -> BytesMut {
    const { assert!(LONGEST_TEXT + 2 <= MAX_LENGTH && LONGEST_TERMS + 128 <= MAX_LENGTH) };
    let mut bytes = BytesMut::with_capacity(128);
    bytes.put_slice(&MAGIC);
    bytes.put_u16(0);
    write(&mut bytes);
    let length = u16::try_from(bytes.len() - PREFIX).expect("first words are short");
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

/// A life has a number above zero, so that zero says that nothing is known of any.
fn put_received(bytes: &mut BytesMut, received: Option<Received>) {
    bytes.put_u64(received.map_or(0, |received| received.from.0));
    bytes.put_u64(received.map_or(0, |received| received.messages));
}

fn get_received(bytes: &mut &[u8]) -> Result<Option<Received>, HelloError> {
    let (from, messages) = (bytes.try_get_u64()?, bytes.try_get_u64()?);
    Ok((from > 0).then_some(Received { from: Incarnation(from), messages }))
}

/// Fields that were appended later have a tag and a length: unknown ones are skipped.
fn put_terms(bytes: &mut BytesMut, terms: Option<&StatedTerms>) {
    let Some(terms) = terms else { return };
    bytes.put_u8(TERMS);
    bytes.put_u16((terms.digest.len() + terms.text.len()) as u16);
    bytes.put_slice(&terms.digest);
    bytes.put_slice(terms.text.as_bytes());
}

fn get_terms(mut bytes: &[u8]) -> Option<StatedTerms> {
    loop {
        let (tag, length) = (bytes.try_get_u8().ok()?, bytes.try_get_u16().ok()?);
        let field = bytes.split_off(..usize::from(length))?;
        if tag == TERMS {
            let (digest, text) = field.split_first_chunk()?;
            return Some(StatedTerms::from_wire(*digest, text));
        }
    }
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
    /// The time, as nanoseconds since 1970: larger at each start as long as nobody turns the clock back. Who cannot rely
    /// on that keeps a counter on disk.
    #[expect(
        clippy::disallowed_methods,
        reason = "a start of a node is an event of the real world"
    )]
    pub fn from_clock() -> Self {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        Self(since.map_or(1, |since| u64::try_from(since.as_nanos()).unwrap_or(u64::MAX).max(1)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::refusal::RefusalReason;
    use crate::terms::Terms;
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
            terms: None,
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
    fn terms_are_found_behind_fields_that_are_not_known() {
        let terms = Terms::default().with("lease_ms", 5);
        let terms = terms.between(ProcessId::new(6), ProcessId::new(7));
        let mut bytes = hello().encode();
        bytes.put_slice(&[9, 0, 2, 1, 2]);
        put_terms(&mut bytes, terms.as_ref());
        assert_eq!(Hello::decode(&bytes[PREFIX..]), Ok(Hello { terms, ..hello() }));
    }

    #[test]
    fn answers_are_read_as_they_were_written() {
        let terms = Terms::default().with("lease_ms", 5);
        let welcome = Welcome {
            frames: 1,
            messages: 2,
            incarnation: Incarnation(3),
            received: None,
            terms: terms.between(ProcessId::new(0), ProcessId::new(1)),
        };
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
