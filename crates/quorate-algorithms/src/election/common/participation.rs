//! The part that a process takes in one election after the other.
//!
//! Elections are numbered: who begins one gives it the number after the last that it has heard of. A message of an
//! election that is over is recognised, however late it comes, and one of the next may overtake the end of this one.

use quorate_core::election::Identifier;

use super::OwnIdentifier;

/// Which election a process takes part in, and with what.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(in crate::election) struct Participation {
    own_identifier: OwnIdentifier,
    /// The last election that it has joined.
    joined: u64,
    /// The last election of which it has heard the outcome.
    decided: u64,
}

impl Participation {
    pub(in crate::election) fn new(identifier: Identifier) -> Self {
        Self { own_identifier: OwnIdentifier::new(identifier), joined: 0, decided: 0 }
    }

    pub(in crate::election) fn identify(&mut self, value: u64) {
        self.own_identifier.identify(value);
    }

    /// Whether an election is under way for this process.
    pub(in crate::election) fn is_under_way(&self) -> bool {
        self.joined > self.decided
    }

    /// The election under way, or the last one.
    pub(in crate::election) fn number(&self) -> u64 {
        self.joined
    }

    /// The number of the next election.
    pub(in crate::election) fn next(&self) -> u64 {
        self.joined.saturating_add(1)
    }

    /// Whether that election is over, for this process or because there is a later one.
    pub(in crate::election) fn is_over(&self, number: u64) -> bool {
        number <= self.decided || number < self.joined
    }

    /// Whether it has not joined that election, which is later than any other that it has heard of.
    pub(in crate::election) fn is_new(&self, number: u64) -> bool {
        number > self.joined
    }

    /// Joins that election with what it stands for now.
    pub(in crate::election) fn join(&mut self, number: u64) -> Identifier {
        self.joined = number;
        self.own_identifier.freeze()
    }

    /// With what it stands.
    pub(in crate::election) fn identifier(&self) -> Identifier {
        self.own_identifier.identifier()
    }

    /// The outcome of that election has come; tells whether nobody has told it before.
    pub(in crate::election) fn note_outcome(&mut self, number: u64) -> bool {
        let news = number > self.decided;
        self.decided = self.decided.max(number);
        news
    }

    /// Whether the outcome of that election, which has come, is for this process: it takes part in no later one.
    pub(in crate::election) fn adopt_outcome(&mut self, number: u64) -> bool {
        if self.joined > number {
            return false;
        }
        self.joined = number;
        self.own_identifier.unfreeze();
        true
    }
}
