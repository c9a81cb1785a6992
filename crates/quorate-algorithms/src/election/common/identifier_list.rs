//! The list of identifiers that grows as it travels round the ring. It is a persistent linked list: each process
//! prepends its identifier and shares the rest without copying. So a process can keep the lists that it has passed
//! on without n copies.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;
use core::hash::{Hash, Hasher};

use quorate_core::ProcessId;
use quorate_core::election::Identifier;

/// A list of identifiers, the last added first.
#[derive(Clone, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(into = "Vec<Identifier>", from = "Vec<Identifier>"))]
pub struct IdentifierList {
    last: Option<Arc<ListNode>>,
    len: u64,
}

struct ListNode {
    identifier: Identifier,
    before: Option<Arc<ListNode>>,
}

impl IdentifierList {
    /// The same list with one more identifier.
    pub(in crate::election) fn with(&self, identifier: Identifier) -> Self {
        let entry = ListNode { identifier, before: self.last.clone() };
        Self { last: Some(Arc::new(entry)), len: self.len + 1 }
    }

    pub(in crate::election) fn len(&self) -> u64 {
        self.len
    }

    pub(in crate::election) fn contains(&self, process: ProcessId) -> bool {
        self.iter().any(|identifier| identifier.process == process)
    }

    pub(in crate::election) fn iter(&self) -> impl Iterator<Item = Identifier> + '_ {
        let mut next = self.last.as_deref();
        core::iter::from_fn(move || {
            let entry = next?;
            next = entry.before.as_deref();
            Some(entry.identifier)
        })
    }
}

/// The serialised form is a plain list, the last added first.
impl From<IdentifierList> for Vec<Identifier> {
    fn from(list: IdentifierList) -> Self {
        list.iter().collect()
    }
}

impl From<Vec<Identifier>> for IdentifierList {
    fn from(list: Vec<Identifier>) -> Self {
        list.into_iter().rev().fold(Self::default(), |list, identifier| list.with(identifier))
    }
}

/// Drops node by node. The automatic recursive drop would overflow the stack with a long list.
impl Drop for IdentifierList {
    fn drop(&mut self) {
        let mut next = self.last.take();
        while let Some(mut entry) = next.and_then(Arc::into_inner) {
            next = entry.before.take();
        }
    }
}

impl PartialEq for IdentifierList {
    fn eq(&self, other: &Self) -> bool {
        self.len == other.len && self.iter().eq(other.iter())
    }
}

impl Eq for IdentifierList {}

impl Hash for IdentifierList {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.len.hash(state);
        self.iter().for_each(|identifier| identifier.hash(state));
    }
}

/// Example: `[6 (p6), 5 (p5)]`.
impl fmt::Debug for IdentifierList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut list = f.debug_list();
        self.iter().for_each(|identifier| {
            list.entry(&format_args!("{identifier}"));
        });
        list.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::format;

    fn list(processes: impl IntoIterator<Item = u32>) -> IdentifierList {
        let identifier =
            |number: u32| Identifier { value: number.into(), process: ProcessId::new(number) };
        processes
            .into_iter()
            .fold(IdentifierList::default(), |list, number| list.with(identifier(number)))
    }

    #[test]
    fn a_list_knows_its_members() {
        let list = list([5, 6, 0]);
        assert_eq!(list.len(), 3);
        assert!(list.contains(ProcessId::new(6)) && !list.contains(ProcessId::new(1)));
        assert_eq!(format!("{list:?}"), "[0 (p0), 6 (p6), 5 (p5)]");
    }

    #[test]
    fn a_long_list_is_built_and_dropped() {
        let (one, other) = (list(0..200_000), list(0..200_000));
        let kept = one.clone();
        assert_eq!(one, other);
        drop(one);
        assert_eq!(kept.iter().count(), 200_000);
    }

    #[test]
    fn lists_are_equal_if_their_members_are_equal_in_their_order() {
        assert_eq!(list([5, 6]), list([5, 6]));
        assert_ne!(list([5, 6]), list([6, 5]));
        assert_ne!(list([5, 6]), list([5, 6, 7]));
        assert_ne!(list([5, 6]), list([6]));
    }
}
