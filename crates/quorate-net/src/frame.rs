//! What goes over a connection once two nodes have agreed to talk: frames with their length in front.
//!
//! ```text
//! length: u32 | kind: u8 | acknowledged: u64 | data: sequence u64, payload
//!                                            | sign of life: nothing
//!                                            | farewell: nothing
//! ```
//!
//! Numbers are big endian; the length does not count itself. Every frame says how many messages its sender has
//! received, so that acknowledgements ride on whatever is sent. The decoder looks at what has arrived and never
//! reserves room because of what a length claims.

use bytes::{Buf, BufMut, BytesMut};

/// The bytes of the length.
const LENGTH: usize = 4;
/// The bytes of a frame's kind and acknowledgement.
const HEAD: usize = 1 + 8;
/// The bytes of a sequence number.
const SEQUENCE: usize = 8;

/// By how much a frame with a message is larger than the message.
pub const DATA_OVERHEAD: usize = LENGTH + HEAD + SEQUENCE;

const DATA: u8 = 1;
const ALIVE: u8 = 2;
const FAREWELL: u8 = 3;

/// One frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame<'a> {
    /// How many messages its sender has received on this link.
    pub acknowledged: u64,
    /// What else it says.
    pub body: Body<'a>,
}

/// What a frame says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Body<'a> {
    /// A message of the owner, counted from 1 on this link.
    Data {
        /// Its number.
        sequence: u64,
        /// Its bytes.
        payload: &'a [u8],
    },
    /// Nothing: a sign of life, or an acknowledgement that found nothing to ride on.
    Alive,
    /// The sender stops and will not say anything more.
    Farewell,
}

/// Bytes that no honest peer sends.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// Longer than allowed.
    #[error("a frame of {length} bytes, where {max} are allowed")]
    TooLong {
        /// Its length.
        length: usize,
        /// The largest length allowed.
        max: usize,
    },
    /// Too short for its kind.
    #[error("a frame of {0} bytes, too short for its kind")]
    TooShort(usize),
    /// No kind of this number.
    #[error("a frame of the unknown kind {0}")]
    UnknownKind(u8),
    /// Bytes where there should be none.
    #[error("{0} bytes after the end of a frame without contents")]
    Tail(usize),
}

impl Frame<'_> {
    /// Appends it to what is to be written.
    pub fn encode(&self, into: &mut BytesMut) {
        let (kind, contents) = match self.body {
            Body::Data { payload, .. } => (DATA, SEQUENCE + payload.len()),
            Body::Alive => (ALIVE, 0),
            Body::Farewell => (FAREWELL, 0),
        };
        let length = u32::try_from(HEAD + contents).expect("messages have less than 2 GiB");
        into.reserve(LENGTH + HEAD + contents);
        into.put_u32(length);
        into.put_u8(kind);
        into.put_u64(self.acknowledged);
        if let Body::Data { sequence, payload } = self.body {
            into.put_u64(sequence);
            into.put_slice(payload);
        }
    }
}

/// The first frame of what has arrived, and how many bytes it takes; none if it has not arrived completely. A message
/// may have `max` bytes.
pub fn decode(arrived: &[u8], max: usize) -> Result<Option<(Frame<'_>, usize)>, Malformed> {
    let Some((mut prefix, rest)) = arrived.split_at_checked(LENGTH) else { return Ok(None) };
    let length = prefix.get_u32() as usize;
    let max = max.saturating_add(HEAD + SEQUENCE);
    if length > max {
        return Err(Malformed::TooLong { length, max });
    }
    if length < HEAD {
        return Err(Malformed::TooShort(length));
    }
    let Some(mut frame) = rest.get(..length) else { return Ok(None) };
    let kind = frame.get_u8();
    let acknowledged = frame.get_u64();
    let body = match kind {
        DATA if frame.len() < SEQUENCE => return Err(Malformed::TooShort(length)),
        DATA => Body::Data { sequence: frame.get_u64(), payload: frame },
        ALIVE | FAREWELL if !frame.is_empty() => return Err(Malformed::Tail(frame.len())),
        ALIVE => Body::Alive,
        FAREWELL => Body::Farewell,
        unknown => return Err(Malformed::UnknownKind(unknown)),
    };
    Ok(Some((Frame { acknowledged, body }, LENGTH + length)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn encoded(frame: Frame<'_>) -> BytesMut {
        let mut bytes = BytesMut::new();
        frame.encode(&mut bytes);
        bytes
    }

    #[test]
    fn the_bytes_of_version_1_do_not_change() {
        let data = Frame { acknowledged: 7, body: Body::Data { sequence: 258, payload: b"hi" } };
        assert_eq!(
            encoded(data)[..],
            [0, 0, 0, 19, 1, 0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 1, 2, b'h', b'i']
        );
        let alive = Frame { acknowledged: 1, body: Body::Alive };
        assert_eq!(encoded(alive)[..], [0, 0, 0, 9, 2, 0, 0, 0, 0, 0, 0, 0, 1]);
        let farewell = Frame { acknowledged: 1, body: Body::Farewell };
        assert_eq!(encoded(farewell)[..], [0, 0, 0, 9, 3, 0, 0, 0, 0, 0, 0, 0, 1]);
    }

    #[test]
    fn a_length_is_refused_before_anything_else_has_arrived() {
        let max = 100 + HEAD + SEQUENCE;
        let length = max + 1;
        let prefix = (length as u32).to_be_bytes();
        assert_eq!(decode(&prefix, 100), Err(Malformed::TooLong { length, max }));
        assert_eq!(decode(&[0, 0, 0, 8], 100), Err(Malformed::TooShort(8)));
    }

    #[test]
    fn an_unknown_kind_and_a_tail_are_refused() {
        let mut bytes = encoded(Frame { acknowledged: 1, body: Body::Alive });
        bytes[LENGTH] = 9;
        assert_eq!(decode(&bytes, 100), Err(Malformed::UnknownKind(9)));
        let mut bytes =
            encoded(Frame { acknowledged: 1, body: Body::Data { sequence: 1, payload: b"" } });
        bytes[LENGTH] = ALIVE;
        assert_eq!(decode(&bytes, 100), Err(Malformed::Tail(8)));
    }

    proptest! {
        #[test]
        fn a_frame_is_read_as_it_was_written_and_not_before_it_is_there(
            acknowledged: u64, sequence: u64, payload: Vec<u8>, cut: prop::sample::Index,
        ) {
            let frame = Frame { acknowledged, body: Body::Data { sequence, payload: &payload } };
            let bytes = encoded(frame);
            prop_assert_eq!(decode(&bytes, payload.len()), Ok(Some((frame, bytes.len()))));
            prop_assert_eq!(decode(&bytes[..cut.index(bytes.len())], payload.len()), Ok(None));
        }

        #[test]
        fn whatever_arrives_is_read_or_refused(arrived: Vec<u8>) {
            if let Ok(Some((frame, size))) = decode(&arrived, 64) {
                prop_assert_eq!(&encoded(frame)[..], &arrived[..size]);
            }
        }
    }
}
