//! Frames with a length prefix, which are exchanged over a connection after the handshake.
//!
//! ```text
//! length: u32 | kind: u8 | acknowledged: u64 | data: sequence u64, payload
//!                                            | sign of life: nothing
//!                                            | farewell: nothing
//! ```
//!
//! Numbers are big endian. The length does not include itself. Every frame carries the number of messages that its sender
//! has received, so that acknowledgements are piggybacked on all traffic. The decoder reads only bytes that have arrived.
//! It never allocates memory based on the claimed length.

use bytes::{Buf, BufMut, BytesMut};

/// Size of the length prefix, in bytes.
const LENGTH: usize = 4;
/// Size of a frame's kind and acknowledgement, in bytes.
const HEAD: usize = 1 + 8;
/// Size of a sequence number, in bytes.
const SEQUENCE: usize = 8;

/// Size of a frame with a message, minus the size of the message.
pub const DATA_OVERHEAD: usize = LENGTH + HEAD + SEQUENCE;

const DATA: u8 = 1;
const ALIVE: u8 = 2;
const FAREWELL: u8 = 3;

/// One frame of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame<'a> {
    /// Number of messages that the sender has received on this link.
    pub acknowledged: u64,
    /// The contents of the frame.
    pub body: Body<'a>,
}

/// The contents of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Body<'a> {
    /// A message of the owner. Messages are numbered from 1 on this link.
    Data {
        /// Sequence number of the message.
        sequence: u64,
        /// Bytes of the message.
        payload: &'a [u8],
    },
    /// Nothing: a keep-alive, or an acknowledgement that could not be piggybacked.
    Alive,
    /// The sender stops and sends nothing more.
    Farewell,
}

/// Error for bytes that are not a valid frame.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// The frame exceeds the length limit.
    #[error("a frame of {length} bytes; at most {max} are allowed")]
    TooLong {
        /// Length of the frame, in bytes.
        length: usize,
        /// Maximum length of a frame, in bytes.
        max: usize,
    },
    /// The frame is too short for its kind.
    #[error("a frame of {0} bytes, too short for its kind")]
    TooShort(usize),
    /// The kind of the frame is unknown.
    #[error("a frame of the unknown kind {0}")]
    UnknownKind(u8),
    /// The frame has bytes where there should be none.
    #[error("{0} bytes after the end of a frame without contents")]
    Tail(usize),
}

impl Frame<'_> {
    /// Appends the frame to a buffer.
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

/// Decodes the first frame of the bytes that have arrived, and returns it with its size; `None` if the frame is incomplete.
/// A message may have at most `max` bytes.
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
