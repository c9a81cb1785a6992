//! What must hold for any bytes that arrive: used by the tests and by the fuzzer.

use bytes::BytesMut;
use quorate_net::frame::{self, DATA_OVERHEAD, Frame};
use quorate_net::hello::{Answer, Hello};

/// The largest message that the checks allow.
const MOST: usize = 256;

/// Every decoder reads the bytes or refuses them; what was read is written as it was.
pub fn bytes(bytes: &[u8]) {
    frames(bytes);
    if let Some(word) = bytes.get(6..) {
        if let Ok(hello) = Hello::decode(word) {
            assert_eq!(Hello::decode(&hello.encode()[6..]), Ok(hello));
        }
        if let Ok(answer) = Answer::decode(word) {
            let again = Answer::decode(&answer.encode()[6..]);
            assert_eq!(again.map(|answer| answer.encode()), Ok(answer.encode()));
        }
    }
    let _ = quorate_net::codec::decode::<(u64, Option<String>, Vec<(u32, bool)>)>(bytes);
}

fn frames(mut rest: &[u8]) {
    while let Ok(Some((frame, size))) = frame::decode(rest, MOST) {
        assert!(size <= MOST + DATA_OVERHEAD && size <= rest.len());
        assert_eq!(encoded(frame)[..], rest[..size]);
        rest = &rest[size..];
    }
}

fn encoded(frame: Frame<'_>) -> BytesMut {
    let mut bytes = BytesMut::new();
    frame.encode(&mut bytes);
    bytes
}
