//! Seeded pseudo-random numbers (SplitMix64), and clocks that drift.

use quorate_core::{Drift, Time};

pub(super) const MS: u64 = 1_000_000;
pub(super) const SECOND: u64 = 1_000 * MS;
/// Maximum drift: clocks gain or lose up to one twentieth.
pub(super) const DRIFT: i64 = Drift::ONE / 20;

#[derive(Debug)]
pub(in crate::core) struct Rng(pub(in crate::core) u64);

impl Rng {
    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }

    pub(super) fn next_u128(&mut self) -> u128 {
        u128::from(self.next()) << 64 | u128::from(self.next())
    }

    pub(in crate::core) fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound.max(1)
    }

    pub(in crate::core) fn index(&mut self, len: usize) -> usize {
        self.below(len as u64) as usize
    }

    pub(in crate::core) fn one_in(&mut self, many: u64) -> bool {
        self.below(many) == 0
    }
}

/// The boot clock of one machine.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    offset: u64,
    drift: i64,
}

impl Clock {
    pub(super) fn new(rng: &mut Rng) -> Self {
        // Mistakes in lease arithmetic show at the extremes.
        let drift = match rng.below(4) {
            0 => DRIFT,
            1 => -DRIFT,
            _ => rng.below(2 * DRIFT as u64 + 1) as i64 - DRIFT,
        };
        Self { offset: rng.below(1_000 * SECOND), drift }
    }

    /// Resets the clock, as a reboot of the machine does.
    pub(super) fn reset(&mut self, rng: &mut Rng) {
        self.offset = rng.below(1_000 * SECOND);
    }

    pub(super) fn local_time(&self, now: u64) -> Time {
        let rate = i128::from(Drift::ONE + self.drift);
        Time(self.offset + (i128::from(now) * rate / i128::from(Drift::ONE)) as u64)
    }

    /// Returns the true time at which this clock shows `time` or slightly more.
    pub(super) fn world_time(&self, time: Time) -> u64 {
        let elapsed = time.0.saturating_sub(self.offset);
        let rate = i128::from(Drift::ONE + self.drift);
        (i128::from(elapsed) * i128::from(Drift::ONE)).div_euclid(rate) as u64 + 2
    }
}
