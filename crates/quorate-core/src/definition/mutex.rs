//! Mutual exclusion.

/// ME1: at most one process is inside. Returns two that are inside at the same time, in the order given.
pub fn two_inside<T>(inside: impl IntoIterator<Item = T>) -> Option<(T, T)> {
    let mut inside = inside.into_iter();
    Some((inside.next()?, inside.next()?))
}

/// Fencing: tokens grow. Returns the greatest earlier token if it is not smaller than this one.
pub fn token_not_exceeded(earlier: impl IntoIterator<Item = u64>, token: u64) -> Option<u64> {
    earlier.into_iter().max().filter(|greatest| *greatest >= token)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_are_one_too_many() {
        assert_eq!(two_inside([0; 0]), None);
        assert_eq!(two_inside([3]), None);
        assert_eq!(two_inside([3, 1, 2]), Some((3, 1)));
    }

    #[test]
    fn tokens_have_to_grow() {
        assert_eq!(token_not_exceeded([], 0), None);
        assert_eq!(token_not_exceeded([3, 5, 4], 6), None);
        assert_eq!(token_not_exceeded([3, 5, 4], 5), Some(5));
        assert_eq!(token_not_exceeded([3, 5, 4], 4), Some(5));
    }
}
