//! The identifier with which a process stands for election.

use quorate_core::election::Identifier;

/// An identifier that may change, and the value that is kept while an election is in progress.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(in crate::election) struct OwnIdentifier {
    current: Identifier,
    frozen: Option<Identifier>,
}

impl OwnIdentifier {
    pub(in crate::election) fn new(identifier: Identifier) -> Self {
        Self { current: identifier, frozen: None }
    }

    /// Changes the identifier, effective from the next election on.
    pub(in crate::election) fn identify(&mut self, value: u64) {
        self.current.value = value;
    }

    /// Keeps the current identifier for the election that begins, and returns it.
    pub(in crate::election) fn freeze(&mut self) -> Identifier {
        self.frozen = Some(self.current);
        self.current
    }

    /// Releases the kept identifier when the election is over.
    pub(in crate::election) fn unfreeze(&mut self) {
        self.frozen = None;
    }

    /// The identifier in the election in progress, or else the current one.
    pub(in crate::election) fn identifier(&self) -> Identifier {
        self.frozen.unwrap_or(self.current)
    }
}
