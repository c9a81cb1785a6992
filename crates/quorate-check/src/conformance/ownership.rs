//! The owners of elements: processes, and the environment. An action is one of the owner of its acting parameter.

use quorate_core::ProcessId;

use super::structure::ElementId;

/// A process, or the environment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Owner(Option<ProcessId>);

impl Owner {
    pub(super) const ENVIRONMENT: Self = Self(None);

    pub(super) fn process(id: ProcessId) -> Self {
        Self(Some(id))
    }

    /// Index of the owner in lists of owners. The environment is the first one.
    pub(super) fn index(self) -> usize {
        self.0.map_or(0, |id| id.index() + 1)
    }
}

/// The owner of every element.
#[derive(Clone, Debug)]
pub(super) struct Ownership {
    /// Owners of the elements of each sort.
    owners: Vec<Vec<Owner>>,
    /// Elements of each sort by the index of their owner.
    owned: Vec<Vec<Vec<ElementId>>>,
}

impl Ownership {
    pub(super) fn new(sorts: usize) -> Self {
        Self { owners: vec![Vec::new(); sorts], owned: vec![Vec::new(); sorts] }
    }

    /// Adds an element of a sort, with the next number.
    pub(super) fn add(&mut self, sort: usize, number: ElementId, owner: Option<ProcessId>) {
        let owner = Owner(owner);
        assert_eq!(usize::from(number), self.owners[sort].len(), "elements are added in order");
        self.owners[sort].push(owner);
        let owned = &mut self.owned[sort];
        if owned.len() <= owner.index() {
            owned.resize(owner.index() + 1, Vec::new());
        }
        owned[owner.index()].push(number);
    }

    pub(super) fn owner(&self, sort: usize, number: ElementId) -> Owner {
        self.owners[sort][usize::from(number)]
    }

    /// Elements of a sort that this owner has, in ascending order.
    pub(super) fn owned(&self, sort: usize, owner: Owner) -> &[ElementId] {
        self.owned[sort].get(owner.index()).map_or(&[], Vec::as_slice)
    }
}
