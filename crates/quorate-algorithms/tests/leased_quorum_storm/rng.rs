//! Seeded pseudo-random numbers (SplitMix64), and clocks that drift.

use quorate_core::{Drift, Time};

pub(crate) const MS: u64 = 1_000_000;
pub(crate) const TTL: u64 = 200 * MS;
/// Maximum drift: clocks gain or lose up to a twentieth.
pub(crate) const DRIFT: i64 = Drift::ONE / 20;

pub(crate) struct Rng(pub(crate) u64);

impl Rng {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }

    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound.max(1)
    }

    pub(crate) fn index(&mut self, len: usize) -> usize {
        self.below(len as u64) as usize
    }

    pub(crate) fn one_in(&mut self, many: u64) -> bool {
        self.below(many) == 0
    }
}

/// The clock of one machine.
#[derive(Clone, Copy)]
pub(crate) struct Clock {
    offset: u64,
    gains: i64,
}

impl Clock {
    pub(crate) fn new(rng: &mut Rng) -> Self {
        // Mistakes in lease arithmetic show at the extremes.
        let gains = match rng.below(4) {
            0 => DRIFT,
            1 => -DRIFT,
            _ => rng.below(2 * DRIFT as u64 + 1) as i64 - DRIFT,
        };
        Self { offset: rng.below(1_000 * MS), gains }
    }

    /// Sets a new offset, as after a reboot of the machine.
    pub(crate) fn reset(&mut self, rng: &mut Rng) {
        self.offset = rng.below(1_000 * MS);
    }

    pub(crate) fn local_time(&self, now: u64) -> Time {
        let rate = i128::from(Drift::ONE + self.gains);
        Time(self.offset + (i128::from(now) * rate / i128::from(Drift::ONE)) as u64)
    }

    /// The true time at which this clock shows `time` or slightly more.
    pub(crate) fn true_time(&self, time: Time) -> u64 {
        let shown = time.0.saturating_sub(self.offset);
        let rate = i128::from(Drift::ONE + self.gains);
        (i128::from(shown) * i128::from(Drift::ONE)).div_euclid(rate) as u64 + 2
    }
}
