//! The position of a process on the ring, which is in the order of the process numbers.

use quorate_core::ProcessId;

/// A position on a ring of `n` processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::election) struct Ring {
    pub(in crate::election) id: ProcessId,
    pub(in crate::election) n: usize,
}

/// A direction round the ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(in crate::election) enum Direction {
    /// From each process to the one with the next number.
    Onwards,
    /// From each process to the one with the previous number.
    Backwards,
}

impl Direction {
    pub(in crate::election) const BOTH: [Self; 2] = [Self::Onwards, Self::Backwards];

    pub(in crate::election) fn opposite(self) -> Self {
        match self {
            Self::Onwards => Self::Backwards,
            Self::Backwards => Self::Onwards,
        }
    }
}

impl Ring {
    pub(in crate::election) fn next(self) -> ProcessId {
        self.neighbour(Direction::Onwards)
    }

    pub(in crate::election) fn neighbour(self, direction: Direction) -> ProcessId {
        let step = match direction {
            Direction::Onwards => 1,
            Direction::Backwards => self.n - 1,
        };
        ProcessId::from_index((self.id.index() + step) % self.n)
    }

    pub(in crate::election) fn is_alone(self) -> bool {
        self.n == 1
    }
}
