//! Conversion of keys and values: etcd's are bytes, quorate's names and texts are strings.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use quorate_protocol::{Kind, Name, RequestInfo};
use tonic::Status;

/// Prefix of a text that encodes bytes.
const ENCODED: &str = "base64:";

/// Parses bytes as a name.
pub(super) fn name(kind: Kind, bytes: &[u8]) -> Result<Name, Status> {
    if bytes.is_empty() {
        return Err(Status::invalid_argument("etcdserver: key is not provided"));
    }
    let text = std::str::from_utf8(bytes)
        .map_err(|_| Status::invalid_argument("the name is not valid UTF-8"))?;
    Name::new(kind, text).map_err(|bad| Status::invalid_argument(bad.to_string()))
}

/// Returns the key of a lease for a name.
pub(super) fn key(name: &str, lease: i64) -> Vec<u8> {
    format!("{name}/{lease:x}").into_bytes()
}

/// Splits a key into its name and its lease.
pub(super) fn split(kind: Kind, key: &[u8]) -> Option<(Name, i64)> {
    let (name, lease) = std::str::from_utf8(key).ok()?.rsplit_once('/')?;
    let lease = u64::from_str_radix(lease, 16).ok()?;
    Some((Name::new(kind, name).ok()?, lease as i64))
}

/// Encodes bytes as a text from which [`bytes()`] restores them.
pub(super) fn text(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) if !text.starts_with(ENCODED) => text.to_owned(),
        _ => format!("{ENCODED}{}", STANDARD.encode(bytes)),
    }
}

/// Returns the bytes that a text encodes.
pub(super) fn bytes(text: &str) -> Vec<u8> {
    let encoded = text.strip_prefix(ENCODED).and_then(|text| STANDARD.decode(text).ok());
    encoded.unwrap_or_else(|| text.as_bytes().to_vec())
}

/// Returns the key of a request. A request of a session without a lease has a key that cannot belong to a lease.
pub(super) fn key_of(info: &RequestInfo) -> Vec<u8> {
    let name = info.name.text();
    match info.lease {
        0 => format!("{name}/quorate-{}-{}", info.stamp, info.tie_breaker).into_bytes(),
        lease => key(name, lease),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_tells_its_name_and_its_lease() {
        assert_eq!(key("foo", 777), b"foo/309");
        for lease in [777, 1, i64::MAX, -1] {
            let (name, found) = split(Kind::Lock, &key("a/b", lease)).expect("a key");
            assert_eq!((name.text(), found), ("a/b", lease));
        }
        for no_key in ["foo", "foo/", "/309", "foo/xyz", "foo/+309"] {
            let split = split(Kind::Lock, no_key.as_bytes());
            assert!(split.is_none() || no_key == "foo/+309", "{no_key}");
        }
    }

    #[test]
    fn values_come_back_as_they_were() {
        for value in [&b""[..], b"leader-1", b"base64:x", b"\xff\x00", "São".as_bytes()] {
            assert_eq!(bytes(&text(value)), value);
        }
    }
}
