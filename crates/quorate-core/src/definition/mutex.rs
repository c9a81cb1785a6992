//! Mutual exclusion.

/// ME1: at most one process is inside. Returns two that are inside at the same time, in the order given.
pub fn two_inside<T>(inside: impl IntoIterator<Item = T>) -> Option<(T, T)> {
    let mut inside = inside.into_iter();
    Some((inside.next()?, inside.next()?))
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
}
