//! Checks that must hold for any received bytes: used by the tests and by the fuzzer.

use bytes::BytesMut;
use quorate_net::frame::{self, DATA_OVERHEAD, Frame};
use quorate_net::hello::{Hello, HelloReply};

/// Maximum message size in the checks.
const MAX_MESSAGE: usize = 256;

/// Every decoder accepts the bytes or refuses them. Accepted bytes are encoded to an equal message.
pub fn bytes(bytes: &[u8]) {
    frames(bytes);
    if let Some(bytes_after_prefix) = bytes.get(6..) {
        if let Ok(hello) = Hello::decode(bytes_after_prefix) {
            assert_eq!(Hello::decode(&hello.encode()[6..]), Ok(hello));
        }
        if let Ok(answer) = HelloReply::decode(bytes_after_prefix) {
            let again = HelloReply::decode(&answer.encode()[6..]);
            assert_eq!(again.map(|answer| answer.encode()), Ok(answer.encode()));
        }
    }
    let _ = quorate_net::codec::decode::<(u64, Option<String>, Vec<(u32, bool)>)>(bytes);
}

fn frames(mut rest: &[u8]) {
    while let Ok(Some((frame, size))) = frame::decode(rest, MAX_MESSAGE) {
        assert!(size <= MAX_MESSAGE + DATA_OVERHEAD && size <= rest.len());
        assert_eq!(encoded(frame)[..], rest[..size]);
        rest = &rest[size..];
    }
}

fn encoded(frame: Frame<'_>) -> BytesMut {
    let mut bytes = BytesMut::new();
    frame.encode(&mut bytes);
    bytes
}
