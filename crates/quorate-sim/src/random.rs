//! Seeded randomness that is the same on every machine and in every version.
//!
//! The generator is xoshiro256++. The sampling functions (bounded integers, times of several laws) are written here and pinned
//! by golden values, because those of libraries may change their values from one release to the next. Independent uses take
//! independent streams of one seed, so that adding a fault to a run does not change the delays of its messages.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// A stream of random numbers.
#[derive(Clone, Debug)]
pub struct Random(Xoshiro256PlusPlus);

/// The use of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// Delays of messages on links.
    Delays = 1,
    /// Loss, duplication, reordering and omission.
    Links = 2,
    /// Victims and times of faults.
    Faults = 3,
    /// Detection delays of the oracle.
    Detection = 4,
    /// Random choices of traitors.
    Traitors = 5,
    /// Processes and times of user requests.
    Users = 6,
    /// Offsets and drifts of clocks.
    Clocks = 8,
    /// Processes and times of identifier changes.
    Identifiers = 20,
    /// The worlds that a campaign derives from a seed.
    Worlds = 16,
    /// Choices of an experiment before it creates a scenario.
    Experiment = 7,
    /// Claims of users in resource allocation.
    Claims = 24,
    /// Steps of users that follow no script of the scenario.
    Scripts = 21,
    /// Pauses between the steps of users.
    Pauses = 22,
}

impl Random {
    /// Creates the stream of this seed for this use.
    pub fn new(seed: u64, stream: Stream) -> Self {
        // An odd multiplier separates the streams of neighbouring seeds. The generator's own seeding spreads the rest.
        Self(Xoshiro256PlusPlus::seed_from_u64(
            seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ ((stream as u64) << 56) ^ stream as u64,
        ))
    }

    /// Creates a stream for one of many uses of the same kind. It does not depend on how many others there are.
    #[must_use]
    pub fn fork(mut self, number: u64) -> Self {
        let own = self.next_u64() ^ number.wrapping_mul(0xd134_2543_de82_ef95);
        Self(Xoshiro256PlusPlus::seed_from_u64(own))
    }

    /// Returns 64 random bits.
    #[inline(always)]
    pub fn next_u64(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Uniform in 0 .. bound, without bias (Lemire's method). The bound must not be zero.
    #[inline(always)]
    pub fn below(&mut self, bound: u64) -> u64 {
        let mut product = u128::from(self.next_u64()) * u128::from(bound);
        if (product as u64) < bound {
            let threshold = bound.wrapping_neg() % bound;
            while (product as u64) < threshold {
                product = u128::from(self.next_u64()) * u128::from(bound);
            }
        }
        (product >> 64) as u64
    }

    /// Uniform in low ..= high.
    #[inline(always)]
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        match (high - low).checked_add(1) {
            Some(bound) => low + self.below(bound),
            None => self.next_u64(),
        }
    }

    /// Uniform in [0, 1).
    pub fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// True with this probability.
    pub fn chance(&mut self, probability: f64) -> bool {
        self.unit() < probability
    }

    /// Exponential with this mean, in whole nanoseconds. The logarithm is that of libm, because that of the standard
    /// library may differ between machines.
    pub fn exponential(&mut self, mean: u64) -> u64 {
        (-(mean as f64) * libm::log(1.0 - self.unit())) as u64
    }

    /// Pareto with this least value and this shape, in whole nanoseconds: longer than x with probability
    /// (scale / x)^shape.
    pub fn pareto(&mut self, scale: u64, shape: f64) -> u64 {
        (scale as f64 * libm::pow(1.0 - self.unit(), -1.0 / shape)) as u64
    }

    /// Log-normal with this median, in whole nanoseconds. Sigma is the standard deviation of the logarithm.
    pub fn log_normal(&mut self, median: u64, sigma: f64) -> u64 {
        // The Box-Muller transform. Its second value is not used, so that each delay takes two random numbers.
        let radius = libm::sqrt(-2.0 * libm::log(1.0 - self.unit()));
        let normal = radius * libm::cos(core::f64::consts::TAU * self.unit());
        (median as f64 * libm::exp(sigma * normal)) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_those_of_every_other_machine() {
        let mut random = Random::new(7, Stream::Delays);
        let drawn: Vec<u64> = (0..4).map(|_| random.between(1, 1000)).collect();
        let exponential: Vec<u64> = (0..4).map(|_| random.exponential(1_000_000)).collect();
        insta::assert_debug_snapshot!((drawn, exponential));
    }

    #[test]
    fn heavy_tails_are_those_of_every_other_machine() {
        let mut random = Random::new(7, Stream::Delays);
        let pareto: Vec<u64> = (0..4).map(|_| random.pareto(1_000_000, 1.5)).collect();
        let log_normal: Vec<u64> = (0..4).map(|_| random.log_normal(1_000_000, 1.0)).collect();
        assert_eq!(pareto, [6_216_358, 1_506_660, 2_771_827, 1_546_588]);
        assert_eq!(log_normal, [438_313, 3_468_694, 881_928, 385_474]);
    }

    #[test]
    fn bounds_are_kept_and_reached() {
        let mut random = Random::new(1, Stream::Faults);
        let mut seen = [0u32; 5];
        for _ in 0..10_000 {
            seen[random.below(5) as usize] += 1;
        }
        assert!(seen.iter().all(|&count| (1800..2200).contains(&count)), "{seen:?}");
        assert_eq!(random.between(3, 3), 3);
        let _ = random.between(0, u64::MAX);
    }

    #[test]
    fn exponential_times_have_their_mean() {
        let mut random = Random::new(3, Stream::Delays);
        let total: u64 = (0..100_000).map(|_| random.exponential(1000)).sum();
        assert!((98_000_000..102_000_000).contains(&total), "{total}");
    }

    #[test]
    fn streams_of_one_seed_differ() {
        let first = |seed, stream| Random::new(seed, stream).next_u64();
        assert_ne!(first(0, Stream::Delays), first(0, Stream::Links));
        assert_ne!(first(0, Stream::Delays), first(1, Stream::Delays));
    }
}
