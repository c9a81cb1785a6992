//! With what a process stands for election.

use quorate_core::election::Identifier;

/// An identifier that may change, and the one that is kept while an election is under way.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(in crate::election) struct Standing {
    now: Identifier,
    kept: Option<Identifier>,
}

impl Standing {
    pub(in crate::election) fn new(identifier: Identifier) -> Self {
        Self { now: identifier, kept: None }
    }

    /// The identifier is another one, from the next election on.
    pub(in crate::election) fn identify(&mut self, value: u64) {
        self.now.value = value;
    }

    /// An election begins: whatever the identifier is now, it is kept.
    pub(in crate::election) fn keep(&mut self) -> Identifier {
        self.kept = Some(self.now);
        self.now
    }

    /// The election is over.
    pub(in crate::election) fn release(&mut self) {
        self.kept = None;
    }

    /// With what it stands in the election under way, or would in one that began now.
    pub(in crate::election) fn identifier(&self) -> Identifier {
        self.kept.unwrap_or(self.now)
    }
}
