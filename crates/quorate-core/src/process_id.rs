//! The identifier of a process.

use core::fmt;

/// The identifier of a process, a number from 0 to n - 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct ProcessId(u32);

impl ProcessId {
    /// The process with this number.
    pub const fn new(number: u32) -> Self {
        Self(number)
    }

    /// The process at this index of an array of processes.
    pub fn from_index(index: usize) -> Self {
        Self(u32::try_from(index).expect("a world has at most 2^32 processes"))
    }

    /// Index of the process in an array of processes.
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// The number of the process.
    pub const fn number(self) -> u32 {
        self.0
    }

    /// The processes 0 to n - 1 in order.
    pub fn all(n: usize) -> impl DoubleEndedIterator<Item = Self> + ExactSizeIterator {
        (0..n).map(Self::from_index)
    }
}

impl fmt::Display for ProcessId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "p{}", self.0)
    }
}
