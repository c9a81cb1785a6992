//! Common parts of all generators of scenarios: the random source, the unit of time, and the assumptions of an algorithm.

use quorate_core::{Assumption, Profile, Span, Time};
use quorate_sim::random::{Random, Stream};
use quorate_sim::{Delay, Timing};

/// Typical message delay in nanoseconds. All other times are drawn relative to it.
pub(super) const UNIT: u64 = 1_000_000;

/// Random source of one scenario.
pub(super) struct Dice(Random);

impl Dice {
    /// Creates the random source of the scenario of this seed.
    pub(super) fn new(seed: u64) -> Self {
        Self(Random::new(seed, Stream::Worlds))
    }

    pub(super) fn between(&mut self, low: u64, high: u64) -> u64 {
        self.0.between(low, high)
    }

    pub(super) fn chance(&mut self, probability: f64) -> bool {
        self.0.chance(probability)
    }

    /// Bounds that hold from the start, known or unknown, or from some later time on.
    pub(super) fn timing(&mut self) -> Option<Timing> {
        match self.between(0, 3) {
            0 => None,
            1 => Some(Timing::UnknownBound),
            _ => Some(Timing::Eventually(Time(self.between(0, 100 * UNIT)))),
        }
    }

    /// A message delay, with an upper bound if `bounded` is set.
    pub(super) fn delay(&mut self, bounded: bool) -> Delay {
        match self.between(0, if bounded { 1 } else { 2 }) {
            0 => Delay::Constant(Span(UNIT)),
            1 => {
                let low = self.between(UNIT / 1_000, UNIT);
                Delay::Uniform(Span(low), Span(self.between(UNIT, 5 * UNIT)))
            }
            _ => Delay::Exponential(Span(UNIT)),
        }
    }
}

/// Whether the algorithm requires this assumption.
pub(super) fn assumes(profile: &Profile, assumption: Assumption) -> bool {
    profile.assumes.contains(&assumption)
}
