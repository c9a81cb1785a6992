//! Ranges of protocol versions, and the version that two sides have in common.

use core::fmt;

/// A range of versions, from the oldest to the newest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Versions {
    /// The oldest supported version.
    pub oldest: u16,
    /// The newest supported version.
    pub newest: u16,
}

impl Versions {
    /// A range of one version.
    pub const fn only(version: u16) -> Self {
        Self { oldest: version, newest: version }
    }

    /// The newest version that both ranges contain.
    pub fn common(self, other: Self) -> Option<u16> {
        let newest = self.newest.min(other.newest);
        (newest >= self.oldest && newest >= other.oldest).then_some(newest)
    }

    /// Whether the range contains this version.
    pub const fn contains(self, version: u16) -> bool {
        self.oldest <= version && version <= self.newest
    }
}

impl fmt::Display for Versions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.oldest == self.newest {
            write!(f, "{}", self.newest)
        } else {
            write!(f, "{} to {}", self.oldest, self.newest)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_nodes_speak_the_newest_that_both_know() {
        let old = Versions { oldest: 1, newest: 2 };
        let new = Versions { oldest: 2, newest: 5 };
        assert_eq!(old.common(new), Some(2));
        assert_eq!(new.common(old), Some(2));
        assert_eq!(Versions::only(1).common(new), None);
        assert_eq!(new.common(new), Some(5));
    }

    #[test]
    fn a_range_that_is_upside_down_is_common_with_nothing() {
        let nonsense = Versions { oldest: 9, newest: 1 };
        assert_eq!(nonsense.common(Versions { oldest: 1, newest: 9 }), None);
    }
}
