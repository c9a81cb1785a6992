//! Pseudo-random numbers from a seed, so that a run can be repeated with the same faults.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng as _, SeedableRng};

/// A pseudo-random number generator.
#[derive(Debug)]
pub(crate) struct Rng(Xoshiro256PlusPlus);

impl Rng {
    pub(crate) fn new(seed: u64) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    /// Random number in a range.
    pub(crate) fn in_range(&mut self, range: std::ops::Range<u64>) -> u64 {
        range.start + self.0.next_u64() % (range.end - range.start)
    }

    /// Random index into `of` elements.
    pub(crate) fn index(&mut self, of: usize) -> usize {
        self.in_range(0..of as u64) as usize
    }

    /// `count` distinct random indices into `of` elements, in ascending order.
    pub(crate) fn sample(&mut self, count: usize, of: usize) -> Vec<usize> {
        let mut left: Vec<usize> = (0..of).collect();
        while left.len() > count {
            left.remove(self.index(left.len()));
        }
        left
    }
}
