//! Fingerprints of states have 128 bits, of which 100 are kept (`visited.rs`). The probability that two of a billion
//! different states share those is below 10^-12.

use std::hash::{Hash, Hasher};

/// Hash value that identifies a state.
pub type Fingerprint = u128;

/// Returns the fingerprint of any hashable value.
pub fn fingerprint_of(value: &impl Hash) -> Fingerprint {
    let mut hasher = FingerprintHasher::default();
    value.hash(&mut hasher);
    hasher.fingerprint()
}

/// A hasher with two lanes, the same on every machine and in every run.
#[derive(Clone, Copy, Debug)]
pub struct FingerprintHasher {
    left: u64,
    right: u64,
}

const LEFT: u64 = 0x9e37_79b9_7f4a_7c15;
const RIGHT: u64 = 0xd6e8_feb8_6659_fd93;

impl Default for FingerprintHasher {
    fn default() -> Self {
        Self { left: LEFT, right: RIGHT }
    }
}

impl FingerprintHasher {
    /// Combines both lanes after a final mix.
    pub fn fingerprint(self) -> Fingerprint {
        let left = folded(self.left ^ self.right.rotate_left(32), LEFT);
        let right = folded(self.right ^ self.left.rotate_left(17), RIGHT);
        u128::from(left) << 64 | u128::from(right)
    }
}

/// XOR of both halves of the product, so that every bit of either factor counts.
const fn folded(a: u64, b: u64) -> u64 {
    let product = a as u128 * b as u128;
    product as u64 ^ (product >> 64) as u64
}

impl Hasher for FingerprintHasher {
    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.write_u64(u64::from_le_bytes(word));
        }
        self.write_u64(bytes.len() as u64);
    }

    #[inline]
    fn write_u64(&mut self, word: u64) {
        self.left = folded(self.left ^ word, LEFT).wrapping_add(RIGHT);
        self.right = folded(self.right.rotate_left(29) ^ word, RIGHT).wrapping_add(LEFT);
    }

    #[inline]
    fn write_u8(&mut self, word: u8) {
        self.write_u64(word.into());
    }

    #[inline]
    fn write_u16(&mut self, word: u16) {
        self.write_u64(word.into());
    }

    #[inline]
    fn write_u32(&mut self, word: u32) {
        self.write_u64(word.into());
    }

    #[inline]
    fn write_usize(&mut self, word: usize) {
        self.write_u64(word as u64);
    }

    #[inline]
    fn write_u128(&mut self, word: u128) {
        self.write_u64(word as u64);
        self.write_u64((word >> 64) as u64);
    }

    fn finish(&self) -> u64 {
        self.fingerprint() as u64
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn near_values_have_far_fingerprints() {
        let pairs = (0..300_u32).flat_map(|a| (0..300_u32).map(move |b| (a, b)));
        let all: BTreeSet<Fingerprint> = pairs.map(|pair| fingerprint_of(&pair)).collect();
        assert_eq!(all.len(), 90_000);
        let halves: BTreeSet<u32> = all.iter().map(|print| (*print >> 96) as u32).collect();
        // About one pair of 90,000 random values of 32 bits should collide.
        assert!(halves.len() > 89_980, "{}", halves.len());
        let low: BTreeSet<u32> = all.iter().map(|print| *print as u32).collect();
        assert!(low.len() > 89_980, "{}", low.len());
    }

    #[test]
    fn lengths_count() {
        assert_ne!(fingerprint_of(&[0_u8; 3].as_slice()), fingerprint_of(&[0_u8; 4].as_slice()));
        assert_ne!(fingerprint_of(&""), fingerprint_of(&"\0"));
    }
}
