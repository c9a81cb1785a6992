//! Probability that a state is missed because its fingerprint is that of another state.

/// Upper bound on the probability that two of `states` states agree in `bits` bits of their fingerprints, which are taken for
/// random: one over 2^bits for each pair of states.
pub(super) fn probability(states: u64, bits: u32) -> f64 {
    let pairs = states as f64 * states.saturating_sub(1) as f64 / 2.0;
    (pairs * f64::from(bits).exp2().recip()).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_pair_of_states_counts_once() {
        assert_eq!(probability(0, 8), 0.0);
        assert_eq!(probability(1, 8), 0.0);
        assert_eq!(probability(2, 8), 1.0 / 256.0);
        assert_eq!(probability(4, 8), 6.0 / 256.0);
        assert_eq!(probability(100, 8), 1.0);
    }

    /// Draws sets of numbers, and counts the sets that contain a number twice.
    #[test]
    fn the_bound_is_met_by_random_fingerprints() {
        let (sets, states, bits) = (2_000_u64, 40, 16);
        let doubled = (0..sets).filter(|set| {
            let prints = (0..states).map(|state| crate::fingerprint_of(&(set, state)) as u16);
            let mut prints: Vec<u16> = prints.collect();
            prints.sort_unstable();
            prints.windows(2).any(|pair| pair[0] == pair[1])
        });
        let (share, bound) = (doubled.count() as f64 / sets as f64, probability(states, bits));
        // The share of 2,000 sets deviates by less than four times 0.0024.
        assert!((bound - 0.0098..bound + 0.0098).contains(&share), "{share}, bound {bound}");
    }
}
