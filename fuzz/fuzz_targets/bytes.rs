//! Whatever arrives from a peer is read or refused.

#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../crates/quorate-net/tests/checks/mod.rs"]
mod checks;

fuzz_target!(|bytes: &[u8]| checks::bytes(bytes));
