//! Arbitrary bytes from a peer are decoded or rejected, without a panic.

#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../crates/quorate-net/tests/checks/mod.rs"]
mod checks;

fuzz_target!(|bytes: &[u8]| checks::bytes(bytes));
