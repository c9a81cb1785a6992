//! Whom to ask for a lock.

use quorate_core::quorum::{AnyCoterie, QuorumSystem};
use quorate_core::{ProcessId, ProcessSet, VCube};

use super::member::Locks;
use super::message::Name;

impl<K: Name> Locks<K> {
    /// Whom to ask for a lock: the same for everybody while the same are up.
    pub(super) fn voters_of(&self, lock: &K) -> ProcessSet {
        let first = ProcessId::new((spread(lock) % self.n as u64) as u32);
        // From the first on in the order of its clusters: neighbours on the cube before those further away.
        let cube = VCube::new(self.n);
        let others = cube.clusters().flat_map(|s| cube.cluster(first, s));
        let mut live = core::iter::once(first)
            .chain(others)
            .filter(|member| !self.suspected.contains(*member));
        if let AnyCoterie::Majority(_) = self.coterie {
            let majority: ProcessSet = live.by_ref().take(self.n / 2 + 1).collect();
            let enough = self.is_quorum(&majority);
            return if enough { majority } else { ProcessSet::all(self.n) };
        }
        // With too few of them up, everybody is asked: somebody may be up all the same.
        live.find_map(|member| self.coterie.quorum(member, &self.suspected))
            .unwrap_or_else(|| ProcessSet::all(self.n))
    }
}

/// A number that differs for most names, the same everywhere.
fn spread(name: &impl core::hash::Hash) -> u64 {
    /// FNV-1a.
    struct Fnv(u64);
    impl core::hash::Hasher for Fnv {
        fn write(&mut self, bytes: &[u8]) {
            for byte in bytes {
                self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
            }
        }
        fn finish(&self) -> u64 {
            self.0 ^ self.0 >> 32
        }
    }
    let mut fnv = Fnv(0xcbf2_9ce4_8422_2325);
    name.hash(&mut fnv);
    core::hash::Hasher::finish(&fnv)
}

#[cfg(test)]
mod tests {
    use super::super::terms::Terms;
    use super::*;
    use quorate_core::Span;
    use std::vec::Vec;

    #[test]
    fn a_majority_is_asked_in_the_order_of_the_cube() {
        let terms = Terms { lease: Span(1_000), drift: quorate_core::Drift::NONE };
        let coterie = AnyCoterie::by_name("majority", 8).expect("a coterie");
        let mut locks = Locks::<u8>::new(ProcessId::new(0), coterie, terms);
        let numbers = |set: &ProcessSet| set.iter().map(ProcessId::number).collect::<Vec<_>>();
        let lock = (0..).find(|lock: &u8| spread(lock) % 8 == 5).expect("one of them");
        // c(5, 1) = (4), c(5, 2) = (7, 6), c(5, 3) = (1, ..).
        assert_eq!(numbers(&locks.voters_of(&lock)), [1, 4, 5, 6, 7]);
        locks.suspected.insert(ProcessId::new(4));
        // c(5, 3) = (1, 0, 3, 2): the next one takes its place.
        assert_eq!(numbers(&locks.voters_of(&lock)), [0, 1, 5, 6, 7]);
    }
}
