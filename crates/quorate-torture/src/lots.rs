//! Chance that a seed repeats.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// A source of chance.
#[derive(Debug)]
pub(crate) struct Lots(Xoshiro256PlusPlus);

impl Lots {
    pub(crate) fn new(seed: u64) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    /// One of these numbers.
    pub(crate) fn among(&mut self, range: std::ops::Range<u64>) -> u64 {
        range.start + self.0.next_u64() % (range.end - range.start)
    }

    /// One of so many.
    pub(crate) fn index(&mut self, of: usize) -> usize {
        self.among(0..of as u64) as usize
    }

    /// So many different ones of so many, in ascending order.
    pub(crate) fn some(&mut self, count: usize, of: usize) -> Vec<usize> {
        let mut left: Vec<usize> = (0..of).collect();
        while left.len() > count {
            left.remove(self.index(left.len()));
        }
        left
    }
}
