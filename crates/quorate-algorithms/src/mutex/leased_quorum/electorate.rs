//! The voters of a cluster: which sets of them are quorums, and which of them a request asks first.
//!
//! The voters may change. Then there is a chain of configurations, each with an index, and an electorate belongs to one of
//! them. While the voters change from one set to another the electorate is joint: a quorum contains a quorum of each set.

use alloc::vec::Vec;
use core::hash::{Hash, Hasher};

use quorate_core::quorum::{AnyCoterie, QuorumSystem};
use quorate_core::{ProcessId, ProcessSet, VCube};

/// The voters of one configuration and their quorum system.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Electorate {
    index: u64,
    /// One body, or two while the voters change.
    bodies: Vec<Body>,
    /// The voters of all bodies.
    voters: ProcessSet,
}

/// A set of voters with a quorum system.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Body {
    /// The voters in ascending order. The coterie knows them by their positions.
    members: Vec<ProcessId>,
    coterie: AnyCoterie,
}

impl Electorate {
    /// Creates the electorate of this coterie, whose voters never change.
    pub fn new(coterie: AnyCoterie) -> Self {
        Self::stable(0, &ProcessSet::all(coterie.processes()), coterie)
    }

    /// Creates an electorate with these voters.
    ///
    /// # Panics
    ///
    /// If the coterie is of another number of processes.
    pub fn stable(index: u64, voters: &ProcessSet, coterie: AnyCoterie) -> Self {
        assert_eq!(voters.len(), coterie.processes(), "a coterie of another size");
        let body = Body { members: voters.iter().collect(), coterie };
        Self { index, bodies: alloc::vec![body], voters: voters.clone() }
    }

    /// The electorate between two others. Each of its quorums contains one of both.
    #[must_use]
    pub fn joint(from: &Self, to: &Self) -> Self {
        let bodies = from.bodies.iter().chain(&to.bodies).cloned().collect();
        Self { index: from.index + 1, bodies, voters: &from.voters | &to.voters }
    }

    /// The same electorate in a configuration of this index.
    #[must_use]
    pub fn at(self, index: u64) -> Self {
        Self { index, ..self }
    }

    /// Index of the configuration.
    pub fn index(&self) -> u64 {
        self.index
    }

    /// Number of voters of all bodies.
    pub fn len(&self) -> usize {
        self.voters.len()
    }

    /// Returns `true` if there are no voters.
    pub fn is_empty(&self) -> bool {
        self.voters.is_empty()
    }

    /// The set of all voters.
    pub fn all(&self) -> ProcessSet {
        self.voters.clone()
    }

    /// Greater than the index of every voter.
    pub fn bound(&self) -> usize {
        self.voters.last().map_or(0, |last| last.index() + 1)
    }

    /// Returns `true` if this process is a voter.
    pub fn contains(&self, voter: ProcessId) -> bool {
        self.voters.contains(voter)
    }

    /// Returns `true` if these voters contain a quorum.
    pub fn is_quorum(&self, voters: &ProcessSet) -> bool {
        self.bodies.iter().all(|body| body.is_quorum(voters))
    }

    /// The quorum that every request for this lock asks first, so that the voters' numbers agree. It is the same for
    /// all clients that avoid the same voters. All voters if the remaining voters contain no quorum.
    pub fn preferred(&self, lock: &impl Hash, avoid: &ProcessSet) -> ProcessSet {
        let spread = spread(lock);
        let quorums = self.bodies.iter().map(|body| body.preferred(spread, avoid));
        let all: Option<Vec<ProcessSet>> = quorums.collect();
        let union = |quorums: Vec<ProcessSet>| quorums.iter().flatten().collect();
        all.map_or_else(|| self.all(), union)
    }
}

impl Body {
    fn is_quorum(&self, voters: &ProcessSet) -> bool {
        let positions = || {
            let members = self.members.iter().enumerate();
            members.filter(|(_, member)| voters.contains(**member)).map(|(position, _)| position)
        };
        match &self.coterie {
            AnyCoterie::Majority(_) => positions().count() * 2 > self.members.len(),
            coterie => {
                let voted: ProcessSet = positions().map(ProcessId::from_index).collect();
                let others = &ProcessSet::all(self.members.len()) - &voted;
                voted.iter().any(|voter| {
                    let quorum = coterie.quorum(voter, &others);
                    quorum.is_some_and(|quorum| quorum.is_subset(&voted))
                })
            }
        }
    }

    /// A quorum without the voters to avoid, if there is one.
    fn preferred(&self, spread: u64, avoid: &ProcessSet) -> Option<ProcessSet> {
        let n = self.members.len();
        let first = ProcessId::new((spread % n.max(1) as u64) as u32);
        // Neighbours in the VCube come before voters further away.
        let cube = VCube::new(n);
        let others = cube.clusters().flat_map(|s| cube.cluster(first, s));
        let member = |position: ProcessId| self.members[position.index()];
        let mut live = core::iter::once(first)
            .chain(others)
            .filter(|position| position.index() < n && !avoid.contains(member(*position)));
        if let AnyCoterie::Majority(_) = self.coterie {
            let majority: ProcessSet = live.take(n / 2 + 1).map(member).collect();
            return (majority.len() * 2 > n).then_some(majority);
        }
        let avoided =
            self.members.iter().enumerate().filter(|(_, member)| avoid.contains(**member));
        let avoided = avoided.map(|(position, _)| ProcessId::from_index(position)).collect();
        let quorum = live.find_map(|voter| self.coterie.quorum(voter, &avoided))?;
        Some(quorum.iter().map(member).collect())
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

    fn majority(index: u64, voters: &[u32]) -> Electorate {
        let voters: ProcessSet = voters.iter().copied().map(ProcessId::new).collect();
        let coterie = AnyCoterie::by_name("majority", voters.len()).expect("a coterie");
        Electorate::stable(index, &voters, coterie)
    }

    fn set(voters: &[u32]) -> ProcessSet {
        voters.iter().copied().map(ProcessId::new).collect()
    }

    #[test]
    fn a_joint_quorum_has_a_quorum_of_both_sets_of_voters() {
        let (from, to) = (majority(4, &[0, 1, 2]), majority(6, &[1, 2, 7]));
        let joint = Electorate::joint(&from, &to);
        assert_eq!((joint.index(), joint.len(), joint.bound()), (5, 4, 8));
        assert!(joint.is_quorum(&set(&[1, 2])) && joint.is_quorum(&set(&[0, 1, 7])));
        assert!(!joint.is_quorum(&set(&[0, 1])) && !joint.is_quorum(&set(&[1, 7])));
        assert!(joint.contains(ProcessId::new(7)) && !joint.contains(ProcessId::new(3)));
        for lock in 0..20_u8 {
            let avoid = set(&[0]);
            let asked = joint.preferred(&lock, &avoid);
            assert!(joint.is_quorum(&asked) && asked.is_disjoint(&avoid), "{asked:?}");
            // Without the two voters that both sets share there is no quorum, so all are asked.
            assert_eq!(joint.preferred(&lock, &set(&[1, 2])), joint.all());
        }
    }

    #[test]
    fn a_coterie_knows_voters_by_their_positions() {
        let voters = set(&[2, 3, 5, 9]);
        let grid = AnyCoterie::by_name("grid-fixed", 4).expect("a coterie");
        let electorate = Electorate::stable(2, &voters, grid);
        let asked = electorate.preferred(&0_u8, &set(&[0, 1]));
        assert!(asked.is_subset(&voters) && electorate.is_quorum(&asked), "{asked:?}");
        assert!(!electorate.is_quorum(&set(&[0, 1, 4, 6, 7])));
    }

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
