//! Digests for pinned expectations.

use std::hash::Hasher;
use std::io::{self, Write};

/// FNV-1a with 64 bits: the same on every machine and in every version of the compiler, unlike the hashes of `std`.
pub(crate) struct Fnv(u64);

impl Fnv {
    pub(crate) fn new() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }

    /// Four hexadecimal digits. A test compares hundreds of them, so a change that no digit shows is unlikely.
    pub(crate) fn short(&self) -> String {
        let halves = (self.0 >> 32) ^ self.0;
        format!("{:04x}", ((halves >> 16) ^ halves) & 0xffff)
    }

    fn add(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}

impl Write for Fnv {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.add(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// States are hashed, so that digests do not contain the names of private fields. Integers are hashed by their values:
/// their bytes in memory differ between machines.
impl Hasher for Fnv {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        self.add(bytes);
    }

    fn write_u16(&mut self, value: u16) {
        self.add(&value.to_le_bytes());
    }

    fn write_u32(&mut self, value: u32) {
        self.add(&value.to_le_bytes());
    }

    fn write_u64(&mut self, value: u64) {
        self.add(&value.to_le_bytes());
    }

    fn write_u128(&mut self, value: u128) {
        self.add(&value.to_le_bytes());
    }

    fn write_usize(&mut self, value: usize) {
        self.write_u64(value as u64);
    }

    fn write_isize(&mut self, value: isize) {
        self.write_u64(value as u64);
    }
}
