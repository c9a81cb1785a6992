//! Messages as bytes: postcard, a compact and documented format without names of fields.
//!
//! It does not describe itself. Variants of enums may only be appended, fields not at all: whoever changes a message raises
//! the version of the messages, and speaks the old one to those who know no other.

use bytes::Bytes;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Bytes that are not the message expected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a message that this version knows: {0}")]
pub struct DecodeError(String);

/// A message as bytes.
pub fn encode<M: Serialize>(message: &M) -> Bytes {
    let bytes = postcard::to_stdvec(message);
    bytes.expect("messages are plain data, which is always encoded").into()
}

/// Bytes as a message; bytes behind its end are refused.
pub fn decode<M: DeserializeOwned>(bytes: &[u8]) -> Result<M, DecodeError> {
    match postcard::take_from_bytes(bytes) {
        Ok((message, [])) => Ok(message),
        Ok((_, tail)) => Err(DecodeError(format!("{} bytes too many", tail.len()))),
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
