//! Estimate of the number of states, from the part explored so far.
//!
//! Worlds that terminate have few states near the start and near the end, and most in between. The number of states at
//! depth d is assumed to rise and fall like exp(c d (D - d)), where D is the length of the longest path and c is fitted to
//! the depth reached so far. The result is an order of magnitude and no more.

use crate::Model;

/// Number of random walks that measure the length of paths.
const WALKS: u64 = 64;

/// Length beyond which a walk is assumed not to terminate.
const LONGEST: u32 = 20_000;

/// Estimates the number of states of a model, given that `states` were found at all depths up to `depth`. Returns `None`
/// if paths may not terminate.
pub fn estimate<M: Model + ?Sized>(model: &M, states: u64, depth: u32) -> Option<f64> {
    let longest = (0..WALKS).map(|seed| walk(model, seed)).collect::<Option<Vec<u32>>>()?;
    let longest = f64::from(longest.into_iter().max()?.max(depth + 1));
    let depth = f64::from(depth);
    let at = |c: f64, d: f64| (c * d * (longest - d)).exp();
    let up_to = |c: f64, end: f64| {
        let mut d = 0.0;
        let mut sum = 0.0;
        while d <= end {
            sum += at(c, d);
            d += 1.0;
        }
        sum
    };
    // The sum increases with c, so bisect.
    let (mut low, mut high) = (0.0, 10.0 / longest.max(1.0));
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        match up_to(middle, depth) < states as f64 {
            true => low = middle,
            false => high = middle,
        }
    }
    Some(up_to(low, longest))
}

/// Length of a random walk from the initial state to a final state, the same for the same seed. `None`
/// if it may not terminate.
fn walk<M: Model + ?Sized>(model: &M, seed: u64) -> Option<u32> {
    let mut state = model.initial_states().into_iter().next()?;
    let mut successors = Vec::new();
    let mut rng = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    for length in 0..LONGEST {
        successors.clear();
        model.successors(&state, &mut successors);
        if successors.is_empty() {
            return Some(length);
        }
        rng ^= rng << 13;
        rng ^= rng >> 7;
        rng ^= rng << 17;
        let turn = rng % successors.len() as u64;
        state = successors.swap_remove(turn as usize).state;
    }
    None
}
