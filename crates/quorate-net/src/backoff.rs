//! Exponential backoff between redials, with jitter so that nodes do not dial in step.

use std::time::Duration;

/// Pauses that double each time. Each is shortened randomly, to at least half its length.
#[derive(Clone, Debug)]
pub(crate) struct Backoff {
    first: Duration,
    longest: Duration,
    next: Duration,
    rng_state: u64,
}

impl Backoff {
    /// Creates a sequence of pauses. Equal seeds give equal pauses.
    pub(crate) fn new(first: Duration, longest: Duration, seed: u64) -> Self {
        Self { first, longest: longest.max(first), next: first, rng_state: seed }
    }

    /// Returns the next pause and doubles the one after it.
    pub(crate) fn pause(&mut self) -> Duration {
        let whole = self.next;
        self.next = (whole * 2).min(self.longest);
        whole.mul_f64(0.5 + 0.5 * self.draw())
    }

    /// Restarts from the shortest pause, after a success.
    pub(crate) fn reset(&mut self) {
        self.next = self.first;
    }

    /// Continues with the longest pause, after a failure that a quick redial will not fix.
    pub(crate) fn skip_to_longest(&mut self) {
        self.next = self.longest;
    }

    /// Random number between 0 and 1 (splitmix64).
    fn draw(&mut self) -> f64 {
        self.rng_state = self.rng_state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.rng_state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_the_longest_and_stay_within_their_half() {
        let millis = Duration::from_millis;
        let mut backoff = Backoff::new(millis(10), millis(35), 7);
        for whole in [10, 20, 35, 35] {
            let pause = backoff.pause();
            assert!(millis(whole) / 2 <= pause && pause <= millis(whole), "{pause:?}");
        }
        backoff.reset();
        assert!(backoff.pause() <= millis(10));
    }

    #[test]
    fn two_nodes_do_not_dial_in_step() {
        let pause =
            |seed| Backoff::new(Duration::from_secs(1), Duration::from_secs(1), seed).pause();
        assert_ne!(pause(1), pause(2));
        assert_eq!(pause(1), pause(1));
    }

    #[test]
    fn a_refusal_is_followed_by_the_longest_pause() {
        let millis = Duration::from_millis;
        let mut backoff = Backoff::new(millis(1), millis(64), 7);
        backoff.skip_to_longest();
        assert!(backoff.pause() >= millis(32));
    }

    #[test]
    fn the_generator_is_splitmix64() {
        // The first outputs for the seed 0, as published with the generator.
        let mut backoff = Backoff::new(Duration::ZERO, Duration::ZERO, 0);
        for output in [0xe220_a839_7b1d_cdaf_u64, 0x6e78_9e6a_a1b9_65f4, 0x06c4_5d18_8009_454f] {
            assert_eq!(backoff.draw(), (output >> 11) as f64 / (1u64 << 53) as f64);
        }
    }
}
