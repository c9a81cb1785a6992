//! Votes and tokens: the means by which a process permits others to enter.

use crate::ProcessSet;

/// The location of the vote or of the token of a process.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Permission {
    /// The process has nothing to give, or no process has it at present.
    #[default]
    Free,
    /// The process has a token.
    Token,
    /// These processes have its vote.
    GivenTo(ProcessSet),
}

impl Permission {
    /// The vote that these processes have; free if there are none.
    pub fn given_to(holders: impl IntoIterator<Item = crate::ProcessId>) -> Self {
        let holders: ProcessSet = holders.into_iter().collect();
        if holders.is_empty() { Self::Free } else { Self::GivenTo(holders) }
    }

    /// The token of a process that has one.
    pub const fn token(is_here: bool) -> Self {
        if is_here { Self::Token } else { Self::Free }
    }
}
