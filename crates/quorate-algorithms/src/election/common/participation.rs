//! Participation of a process in a sequence of elections.
//!
//! Elections are numbered: a new election has the number after the last election known to its starter. So a late message of
//! a finished election is recognised, and a message of the next election may overtake the end of the current one.

use quorate_core::election::Identifier;

use super::OwnIdentifier;

/// The election that a process takes part in, and its identifier there.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(in crate::election) struct Participation {
    own_identifier: OwnIdentifier,
    /// The last election that this process has joined.
    joined: u64,
    /// The last election whose outcome is known.
    decided: u64,
}

impl Participation {
    pub(in crate::election) fn new(identifier: Identifier) -> Self {
        Self { own_identifier: OwnIdentifier::new(identifier), joined: 0, decided: 0 }
    }

    pub(in crate::election) fn identify(&mut self, value: u64) {
        self.own_identifier.identify(value);
    }

    /// Whether this process takes part in an election that is not over.
    pub(in crate::election) fn is_under_way(&self) -> bool {
        self.joined > self.decided
    }

    /// The number of the election in progress, or of the last one.
    pub(in crate::election) fn number(&self) -> u64 {
        self.joined
    }

    /// The number of the next election.
    pub(in crate::election) fn next(&self) -> u64 {
        self.joined.saturating_add(1)
    }

    /// Whether that election is over, either because its outcome is known or because this process has joined a later one.
    pub(in crate::election) fn is_over(&self, number: u64) -> bool {
        number <= self.decided || number < self.joined
    }

    /// Whether that election is later than every election that this process has joined.
    pub(in crate::election) fn is_new(&self, number: u64) -> bool {
        number > self.joined
    }

    /// Joins that election with the current identifier.
    pub(in crate::election) fn join(&mut self, number: u64) -> Identifier {
        self.joined = number;
        self.own_identifier.freeze()
    }

    /// The identifier in the election in progress, or else the current one.
    pub(in crate::election) fn identifier(&self) -> Identifier {
        self.own_identifier.identifier()
    }

    /// Records that the outcome of that election is known. Returns whether it was new.
    pub(in crate::election) fn note_outcome(&mut self, number: u64) -> bool {
        let news = number > self.decided;
        self.decided = self.decided.max(number);
        news
    }

    /// Applies a recorded outcome. Returns false if this process takes part in a later election, whose
    /// outcome will replace it.
    pub(in crate::election) fn adopt_outcome(&mut self, number: u64) -> bool {
        if self.joined > number {
            return false;
        }
        self.joined = number;
        self.own_identifier.unfreeze();
        true
    }
}
