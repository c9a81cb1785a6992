//! Resource allocation: exclusion that is more general than a mutex. A process claims something, enters and leaves, and
//! only compatible claims are inside together.

use alloc::vec::Vec;
use core::fmt;

use crate::{Process, ProcessId, ProcessSet, SortedSet};

/// Something that a process needs for its stay inside. [`crate::definition::allocation`] defines which claims are
/// compatible.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Claim {
    /// One of k equal permits.
    Permit,
    /// Shared access: readers may be inside together.
    Read,
    /// Exclusive access: a writer is inside alone.
    Write,
    /// Membership in a group with this number: members of one group may be inside together.
    Group(u32),
    /// Exclusive use of each of these resources.
    Resources(SortedSet<Resource>),
}

/// A resource that two processes share, such as a fork or a bottle. It is named after them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Resource {
    lower: ProcessId,
    higher: ProcessId,
}

impl Resource {
    /// The resource that two processes share, in any order.
    pub fn between(a: ProcessId, b: ProcessId) -> Self {
        Self { lower: a.min(b), higher: a.max(b) }
    }

    /// The process with which `this` shares the resource. `None` if it is not a resource of `this`.
    pub fn other(self, this: ProcessId) -> Option<ProcessId> {
        match this {
            _ if this == self.lower => Some(self.higher),
            _ if this == self.higher => Some(self.lower),
            _ => None,
        }
    }
}

impl Claim {
    /// The resources that a process shares with these others.
    pub fn shared_with(this: ProcessId, others: &ProcessSet) -> Self {
        Self::Resources(others.iter().map(|other| Resource::between(this, other)).collect())
    }
}

impl fmt::Display for Claim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Permit => f.write_str("permit"),
            Self::Read => f.write_str("read"),
            Self::Write => f.write_str("write"),
            Self::Group(number) => write!(f, "group {number}"),
            Self::Resources(resources) => {
                for (index, resource) in resources.iter().enumerate() {
                    let separator = if index == 0 { "" } else { " " };
                    write!(f, "{separator}{resource}")?;
                }
                Ok(())
            }
        }
    }
}

impl fmt::Display for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.lower.number(), self.higher.number())
    }
}

/// The kind of claims that an algorithm serves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ClaimKind {
    /// Each claim is for one of k permits.
    #[default]
    Permit,
    /// Each claim is to read or to write.
    ReadWrite,
    /// Each claim is for a group.
    Group,
    /// Each claim is for all resources that a process shares with its neighbours.
    AllResources,
    /// Each claim is for some of the resources that a process shares with its neighbours.
    SomeResources,
}

impl ClaimKind {
    /// Whether claims are for resources between neighbours of a conflict graph.
    pub const fn has_neighbours(self) -> bool {
        matches!(self, Self::AllResources | Self::SomeResources)
    }

    /// Whether a process may make this claim.
    pub fn admits(self, this: ProcessId, neighbours: &ProcessSet, claim: &Claim) -> bool {
        match (self, claim) {
            (Self::Permit, Claim::Permit)
            | (Self::ReadWrite, Claim::Read | Claim::Write)
            | (Self::Group, Claim::Group(_)) => true,
            (Self::AllResources, _) => *claim == Claim::shared_with(this, neighbours),
            (Self::SomeResources, Claim::Resources(resources)) => {
                let is_own =
                    |it: &Resource| it.other(this).is_some_and(|it| neighbours.contains(it));
                resources.iter().all(is_own)
            }
            _ => false,
        }
    }
}

/// The processes that share resources: the edges of a graph, with one resource for each edge.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ConflictGraph {
    /// Each process shares a resource with the next one, and the last with the first.
    #[default]
    Ring,
    /// Every two processes share a resource.
    Complete,
}

impl ConflictGraph {
    /// The processes with which a process shares a resource, among n processes.
    pub fn neighbours(self, n: usize, this: ProcessId) -> ProcessSet {
        let mut neighbours = match self {
            Self::Ring => {
                let sides = [this.index() + 1, this.index() + n - 1];
                sides.map(|side| ProcessId::from_index(side % n)).into_iter().collect()
            }
            Self::Complete => ProcessSet::all(n),
        };
        neighbours.remove(this);
        neighbours
    }

    /// The least and the greatest number of neighbours among n processes.
    pub fn degrees(self, n: usize) -> (u64, u64) {
        let degrees: Vec<u64> =
            ProcessId::all(n.min(3)).map(|it| self.neighbours(n, it).len() as u64).collect();
        let least = degrees.iter().copied().min().unwrap_or(0);
        (least, degrees.into_iter().max().unwrap_or(0))
    }
}

/// A command of the user to a process that takes part in resource allocation.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Command {
    /// Request to enter with this claim.
    Request(Claim),
    /// Leave, and give up the claim.
    Release,
}

/// An output of an allocation algorithm to its user.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Output {
    /// The user has entered. Only compatible claims are inside.
    Entered,
    /// The process has given up the request because no quorum is alive.
    NoQuorum,
}

/// A command that is invalid in the present state. The state has not changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Misuse {
    /// `Request` while the process waits or is inside.
    #[error("this process has already asked to enter")]
    AlreadyAsked,
    /// `Release` while the process is not inside.
    #[error("this process is not inside")]
    NotInside,
    /// `Request` with a claim of a kind that the algorithm does not serve.
    #[error("this algorithm does not serve such a claim")]
    OtherClaim,
}

/// A process that runs an allocation algorithm.
pub trait Allocation: Process<Command = Command, Output = Output, Misuse = Misuse> {}

impl<P: Process<Command = Command, Output = Output, Misuse = Misuse>> Allocation for P {}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(numbers: &[u32]) -> ProcessSet {
        numbers.iter().copied().map(ProcessId::new).collect()
    }

    #[test]
    fn no_process_is_its_own_neighbour() {
        let ring = |n, id| ConflictGraph::Ring.neighbours(n, ProcessId::new(id));
        assert_eq!(ring(1, 0), set(&[]));
        assert_eq!(ring(2, 0), set(&[1]));
        assert_eq!(ring(5, 0), set(&[1, 4]));
        assert_eq!(ConflictGraph::Complete.neighbours(4, ProcessId::new(2)), set(&[0, 1, 3]));
        assert_eq!([1, 2, 3, 9].map(|n| ConflictGraph::Ring.degrees(n).1), [0, 1, 2, 2]);
        assert_eq!([1, 2, 3, 9].map(|n| ConflictGraph::Complete.degrees(n).1), [0, 1, 2, 8]);
    }

    #[test]
    fn a_claim_fits_the_kind_and_the_neighbours() {
        let (p0, both) = (ProcessId::new(0), set(&[1, 4]));
        let one = Claim::shared_with(p0, &set(&[4]));
        let all = Claim::shared_with(p0, &both);
        assert!(ClaimKind::SomeResources.admits(p0, &both, &one));
        assert!(!ClaimKind::AllResources.admits(p0, &both, &one));
        assert!(ClaimKind::AllResources.admits(p0, &both, &all));
        let far = Claim::shared_with(p0, &set(&[2]));
        assert!(!ClaimKind::SomeResources.admits(p0, &both, &far));
        assert!(!ClaimKind::SomeResources.admits(ProcessId::new(1), &set(&[0, 2]), &one));
        assert!(ClaimKind::ReadWrite.admits(p0, &both, &Claim::Write));
        assert!(!ClaimKind::Permit.admits(p0, &both, &Claim::Write));
    }
}
