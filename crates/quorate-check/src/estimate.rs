//! How many states there may be, told from a part of them.
//!
//! Worlds that come to an end have few states near the start and near the end and most in between. How many there are
//! at a depth is taken to rise and fall like exp(c d (D - d)), where D is the length of the longest way and c fits the
//! depth reached so far. That is an order of magnitude, and no more.

use crate::Model;

/// So many ways are walked to find out how long they are.
const WALKS: u64 = 64;

/// A way longer than this has perhaps no end.
const LONGEST: u32 = 20_000;

/// About how many states a model has, where `states` were found at all depths up to `depth`; none if ways may have no
/// end.
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
    // The sum grows with c: halve until it is met.
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

/// The length of a way from the start to an end, turned at random, the same for the same seed.
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
