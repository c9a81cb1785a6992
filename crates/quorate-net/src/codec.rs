//! Messages as bytes: postcard, a compact and documented format without field names.
//!
//! The format is not self-describing. Enum variants may only be appended, and fields may not be added at all. A change of a
//! message requires a new message version, and nodes continue to speak the old version with nodes that know no other.

use bytes::Bytes;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Error for bytes that are not the expected message.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a message that this version knows: {0}")]
pub struct DecodeError(String);

/// Encodes a message as bytes.
pub fn encode<M: Serialize>(message: &M) -> Bytes {
    let bytes = postcard::to_stdvec(message);
    bytes.expect("messages are plain data, which can always be encoded").into()
}

/// Decodes a message; fails if bytes are left over.
pub fn decode<M: DeserializeOwned>(bytes: &[u8]) -> Result<M, DecodeError> {
    match postcard::take_from_bytes(bytes) {
        Ok((message, [])) => Ok(message),
        Ok((_, tail)) => Err(DecodeError(format!("{} trailing bytes", tail.len()))),
        Err(error) => Err(DecodeError(error.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_read_as_it_was_written_and_not_with_a_tail() {
        let bytes = encode(&(7u64, "seven"));
        assert_eq!(decode::<(u64, String)>(&bytes), Ok((7, "seven".to_owned())));
        let tail = [&bytes[..], b"x"].concat();
        assert!(decode::<(u64, String)>(&tail).is_err());
        assert!(decode::<(u64, String)>(&bytes[1..]).is_err());
    }
}
