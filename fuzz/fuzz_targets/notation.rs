//! Arbitrary text, parsed by every single-line notation.

#![no_main]

use libfuzzer_sys::{Corpus, fuzz_target};

fuzz_target!(|bytes: &[u8]| -> Corpus {
    let Ok(text) = std::str::from_utf8(bytes) else { return Corpus::Reject };
    checks::notations(text);
    Corpus::Keep
});
