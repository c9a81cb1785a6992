//! The claims that wait for a vote, the best first.
//!
//! There are few claims, and they change with every other message. A sorted vector is enough; a tree is not needed.

use alloc::vec::Vec;
use core::fmt;
use core::hash::{Hash, Hasher};

/// An ordered set of claims.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct ClaimQueue<C> {
    /// The best claim is the last one, so that removing it does not move the others.
    claims: Vec<C>,
}

impl<C> Default for ClaimQueue<C> {
    fn default() -> Self {
        Self { claims: Vec::new() }
    }
}

impl<C> ClaimQueue<C> {
    /// Iterates from the best to the worst claim.
    pub(super) fn iter(&self) -> impl Iterator<Item = &C> {
        self.claims.iter().rev()
    }
}

impl<C: Copy + Ord> ClaimQueue<C> {
    /// Adds a claim unless it is present.
    pub(super) fn insert(&mut self, claim: C) {
        let worse = self.claims.iter().take_while(|other| **other > claim).count();
        if self.claims.get(worse) != Some(&claim) {
            self.claims.insert(worse, claim);
        }
    }

    /// Removes a claim. Returns `true` if it was present.
    pub(super) fn remove(&mut self, claim: &C) -> bool {
        let place = self.claims.iter().position(|other| other == claim);
        place.map(|place| self.claims.remove(place)).is_some()
    }

    pub(super) fn first(&self) -> Option<C> {
        self.claims.last().copied()
    }

    /// Removes and returns the best claim.
    pub(super) fn pop_first(&mut self) -> Option<C> {
        self.claims.pop()
    }

    /// Removes all claims for which `stays` returns `false`.
    pub(super) fn retain(&mut self, stays: impl FnMut(&C) -> bool) {
        self.claims.retain(stays);
    }
}

/// Formats the queue as a set.
impl<C: fmt::Debug> fmt::Debug for ClaimQueue<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

/// Hashes like a `SortedSet` with the same claims.
impl<C: Hash> Hash for ClaimQueue<C> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_usize(self.claims.len());
        self.iter().for_each(|claim| claim.hash(state));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use quorate_core::SortedSet;
    use std::format;
    use std::hash::DefaultHasher;

    fn hash(of: &impl Hash) -> u64 {
        let mut hasher = DefaultHasher::new();
        of.hash(&mut hasher);
        hasher.finish()
    }

    proptest! {
        #[test]
        fn is_an_ordered_set(steps in prop::collection::vec((0..4, 0..20), 0..100)) {
            let mut queue = ClaimQueue::default();
            let mut twin = SortedSet::new();
            for (what, claim) in steps {
                match what {
                    0 => prop_assert_eq!(queue.remove(&claim), twin.remove(&claim)),
                    1 => prop_assert_eq!(queue.pop_first(), twin.pop_first()),
                    _ => {
                        queue.insert(claim);
                        twin.insert(claim);
                    }
                }
                prop_assert_eq!(queue.first(), twin.first().copied());
                prop_assert!(queue.iter().eq(&twin));
                prop_assert_eq!(hash(&queue), hash(&twin));
                prop_assert_eq!(format!("{queue:?}"), format!("{twin:?}"));
            }
        }
    }
}
