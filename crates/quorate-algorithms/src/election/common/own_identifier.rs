//! With what a process stands for election.

use quorate_core::election::Identifier;

/// An identifier that may change, and the one that is kept while an election is under way.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(in crate::election) struct OwnIdentifier {
    current: Identifier,
    frozen: Option<Identifier>,
}

impl OwnIdentifier {
    pub(in crate::election) fn new(identifier: Identifier) -> Self {
        Self { current: identifier, frozen: None }
    }

    /// The identifier is another one, from the next election on.
    pub(in crate::election) fn identify(&mut self, value: u64) {
        self.current.value = value;
    }

    /// An election begins: whatever the identifier is now, it is kept.
    pub(in crate::election) fn freeze(&mut self) -> Identifier {
        self.frozen = Some(self.current);
        self.current
    }

    /// The election is over.
    pub(in crate::election) fn unfreeze(&mut self) {
        self.frozen = None;
    }

    /// With what it stands in the election under way, or would in one that began now.
    pub(in crate::election) fn identifier(&self) -> Identifier {
        self.frozen.unwrap_or(self.current)
    }
}
