//! The voters of a cluster: which sets of them are quorums, and which of them a request asks first.

use core::hash::{Hash, Hasher};

use quorate_core::quorum::{AnyCoterie, QuorumSystem};
use quorate_core::{ProcessId, ProcessSet, VCube};

/// The voters of a cluster and its quorum system.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Electorate {
    coterie: AnyCoterie,
}

impl Electorate {
    /// Creates the electorate of this coterie.
    pub fn new(coterie: AnyCoterie) -> Self {
        Self { coterie }
    }

    /// Number of voters in the cluster.
    pub fn len(&self) -> usize {
        self.coterie.processes()
    }

    /// Returns `true` if there are no voters.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The set of all voters.
    pub fn all(&self) -> ProcessSet {
        ProcessSet::all(self.len())
    }

    /// Returns `true` if these voters contain a quorum.
    pub fn is_quorum(&self, voters: &ProcessSet) -> bool {
        match &self.coterie {
            AnyCoterie::Majority(_) => voters.len() * 2 > self.len(),
            coterie => {
                let others = &self.all() - voters;
                voters.iter().any(|voter| {
                    let quorum = coterie.quorum(voter, &others);
                    quorum.is_some_and(|quorum| quorum.is_subset(voters))
                })
            }
        }
    }

    /// The quorum that every request for this lock asks first, so that the voters' numbers agree. It is the same for
    /// all clients that avoid the same voters. All voters if the remaining voters contain no quorum.
    pub fn preferred(&self, lock: &impl Hash, avoid: &ProcessSet) -> ProcessSet {
        let n = self.len();
        let first = ProcessId::new((spread(lock) % n.max(1) as u64) as u32);
        // Neighbours in the VCube come before voters further away.
        let cube = VCube::new(n);
        let others = cube.clusters().flat_map(|s| cube.cluster(first, s));
        let mut live =
            core::iter::once(first).chain(others).filter(|voter| !avoid.contains(*voter));
        if let AnyCoterie::Majority(_) = self.coterie {
            let majority: ProcessSet = live.by_ref().take(n / 2 + 1).collect();
            return if self.is_quorum(&majority) { majority } else { self.all() };
        }
        live.find_map(|voter| self.coterie.quorum(voter, avoid)).unwrap_or_else(|| self.all())
    }
}

/// FNV-1a, a hash that is the same on every machine.
fn spread(name: &impl Hash) -> u64 {
    struct Fnv(u64);
    impl Hasher for Fnv {
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
    fnv.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    #[test]
    fn a_majority_is_asked_in_the_order_of_the_cube() {
        let electorate = Electorate::new(AnyCoterie::by_name("majority", 8).expect("a coterie"));
        let numbers = |set: &ProcessSet| set.iter().map(ProcessId::number).collect::<Vec<_>>();
        let lock = (0..).find(|lock: &u8| spread(lock) % 8 == 5).expect("one of them");
        // c(5, 1) = (4), c(5, 2) = (7, 6), c(5, 3) = (1, 0, 3, 2).
        assert_eq!(numbers(&electorate.preferred(&lock, &ProcessSet::new())), [1, 4, 5, 6, 7]);
        let avoid = ProcessSet::from_iter([ProcessId::new(4)]);
        assert_eq!(numbers(&electorate.preferred(&lock, &avoid)), [0, 1, 5, 6, 7]);
    }

    #[test]
    fn an_electorate_of_one_is_not_empty() {
        let electorate = Electorate::new(AnyCoterie::by_name("majority", 1).expect("a coterie"));
        assert!(!electorate.is_empty() && electorate.len() == 1);
    }
}
