//! A set in sorted chunks.

use core::borrow::Borrow;
use core::fmt;
use core::ops::RangeBounds;

use super::iter::{self, Iter};
use super::map::SortedMap;

/// Set that is sorted.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SortedSet<T> {
    map: SortedMap<T, ()>,
}

impl<T> SortedSet<T> {
    /// Creates an empty set, which uses no memory.
    pub const fn new() -> Self {
        Self { map: SortedMap::new() }
    }

    /// Returns the number of elements.
    pub const fn len(&self) -> usize {
        self.map.len()
    }

    /// Returns whether there are no elements.
    pub const fn is_empty(&self) -> bool {
        self.map.is_empty()
    }

    /// Removes all elements and frees their memory.
    pub fn clear(&mut self) {
        self.map.clear();
    }

    /// Iterates over the elements in ascending order.
    pub fn iter(&self) -> SetIter<'_, T> {
        SetIter(self.map.iter())
    }

    /// Returns the least element.
    pub fn first(&self) -> Option<&T> {
        self.map.first_key_value().map(|(element, ())| element)
    }

    /// Returns the greatest element.
    pub fn last(&self) -> Option<&T> {
        self.map.last_key_value().map(|(element, ())| element)
    }

    /// Removes the least element and returns it.
    pub fn pop_first(&mut self) -> Option<T> {
        self.map.pop_first().map(|(element, ())| element)
    }

    /// Removes the greatest element and returns it.
    pub fn pop_last(&mut self) -> Option<T> {
        self.map.pop_last().map(|(element, ())| element)
    }

    /// Removes the elements for which `keep` is false.
    pub fn retain(&mut self, mut keep: impl FnMut(&T) -> bool) {
        self.map.retain(|element, ()| keep(element));
    }
}

impl<T: Ord> SortedSet<T> {
    /// Returns whether an element is in the set.
    pub fn contains<Q: Ord + ?Sized>(&self, element: &Q) -> bool
    where
        T: Borrow<Q>,
    {
        self.map.contains_key(element)
    }

    /// Adds an element. Returns whether it was not in the set before.
    pub fn insert(&mut self, element: T) -> bool {
        self.map.insert(element, ()).is_none()
    }

    /// Removes an element. Returns whether it was in the set.
    pub fn remove<Q: Ord + ?Sized>(&mut self, element: &Q) -> bool
    where
        T: Borrow<Q>,
    {
        self.map.remove(element).is_some()
    }

    /// Iterates over the elements within the bounds. Bounds in the wrong order contain no elements.
    pub fn range<Q: Ord + ?Sized>(&self, bounds: impl RangeBounds<Q>) -> SetIter<'_, T>
    where
        T: Borrow<Q>,
    {
        SetIter(self.map.range(bounds))
    }

    /// Returns whether all elements are also in `other`.
    pub fn is_subset(&self, other: &Self) -> bool {
        self.iter().all(|element| other.contains(element))
    }
}

impl<T> Default for SortedSet<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: fmt::Debug> fmt::Debug for SortedSet<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self).finish()
    }
}

impl<T: Ord> Extend<T> for SortedSet<T> {
    fn extend<I: IntoIterator<Item = T>>(&mut self, elements: I) {
        self.map.extend(elements.into_iter().map(|element| (element, ())));
    }
}

impl<T: Ord> FromIterator<T> for SortedSet<T> {
    fn from_iter<I: IntoIterator<Item = T>>(elements: I) -> Self {
        let mut set = Self::new();
        set.extend(elements);
        set
    }
}

impl<T: Ord, const N: usize> From<[T; N]> for SortedSet<T> {
    fn from(elements: [T; N]) -> Self {
        elements.into_iter().collect()
    }
}

/// Iterator over the elements of a set.
pub struct SetIter<'a, T>(Iter<'a, T, ()>);

impl<T> Clone for SetIter<'_, T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<'a, T> Iterator for SetIter<'a, T> {
    type Item = &'a T;

    fn next(&mut self) -> Option<&'a T> {
        self.0.next().map(|(element, ())| element)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}

impl<T> ExactSizeIterator for SetIter<'_, T> {}

impl<T> DoubleEndedIterator for SetIter<'_, T> {
    fn next_back(&mut self) -> Option<Self::Item> {
        self.0.next_back().map(|(element, ())| element)
    }
}

/// Iterator that takes the elements of a set.
pub struct SetIntoIter<T>(iter::IntoIter<T, ()>);

impl<T> Iterator for SetIntoIter<T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        self.0.next().map(|(element, ())| element)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}

impl<T> ExactSizeIterator for SetIntoIter<T> {}

impl<T> DoubleEndedIterator for SetIntoIter<T> {
    fn next_back(&mut self) -> Option<T> {
        self.0.next_back().map(|(element, ())| element)
    }
}

impl<T> IntoIterator for SortedSet<T> {
    type Item = T;
    type IntoIter = SetIntoIter<T>;

    fn into_iter(self) -> SetIntoIter<T> {
        SetIntoIter(self.map.into_iter())
    }
}

impl<'a, T> IntoIterator for &'a SortedSet<T> {
    type Item = &'a T;
    type IntoIter = SetIter<'a, T>;

    fn into_iter(self) -> SetIter<'a, T> {
        self.iter()
    }
}
