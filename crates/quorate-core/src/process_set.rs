//! A set of processes as a bit set: ordered, hashable, and without allocation up to 128 members.

use core::fmt;
use core::ops::{BitAnd, BitOr, Sub};

use crate::ProcessId;
use crate::words::{BITS, Words};

/// A set of processes. Iteration is in ascending order on every machine, so replays are identical.
///
/// Sets with the same members are equal, whatever their history. An empty set of a large world costs nothing.
#[derive(PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProcessSet {
    words: Words,
}

impl ProcessSet {
    /// Creates an empty set.
    #[inline]
    pub const fn new() -> Self {
        Self { words: Words::EMPTY }
    }

    /// The processes 0 to n - 1.
    pub fn all(n: usize) -> Self {
        Self { words: Words::ones(n) }
    }

    /// All of n processes except this one.
    pub fn others(n: usize, this: ProcessId) -> Self {
        let mut set = Self::all(n);
        set.remove(this);
        set
    }

    /// The set as words of 64 bits each, for serialisation.
    #[cfg(feature = "serde")]
    pub(crate) fn words(&self) -> &[u64] {
        self.words.trimmed()
    }

    /// Creates a set from its words.
    #[cfg(feature = "serde")]
    pub(crate) fn from_words(words: &[u64]) -> Self {
        Self { words: Words::new(words) }
    }

    /// Adds a process. Returns `true` if it was not a member before.
    #[inline]
    pub fn insert(&mut self, process: ProcessId) -> bool {
        let (word, bit) = word_and_bit(process);
        self.words.set(word, bit)
    }

    /// Removes a process. Returns `true` if it was a member.
    #[inline]
    pub fn remove(&mut self, process: ProcessId) -> bool {
        let (word, bit) = word_and_bit(process);
        let Some(found) = self.words.get_mut(word) else { return false };
        let was_in = *found & bit != 0;
        *found &= !bit;
        if *found == 0 {
            self.words.trim();
        }
        was_in
    }

    /// Returns `true` if the process is a member.
    #[inline]
    pub fn contains(&self, process: ProcessId) -> bool {
        let (word, bit) = word_and_bit(process);
        self.words.get(word) & bit != 0
    }

    /// Number of members of the set.
    #[inline]
    pub fn len(&self) -> usize {
        self.words.count()
    }

    /// Returns `true` if the set has no members.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// Removes all members and keeps the allocated memory.
    #[inline]
    pub fn clear(&mut self) {
        self.words.clear();
    }

    /// The smallest member, if any.
    #[inline]
    pub fn first(&self) -> Option<ProcessId> {
        self.iter().next()
    }

    /// The greatest member, if any.
    #[inline]
    pub fn last(&self) -> Option<ProcessId> {
        let words = self.words.trimmed();
        let high = BITS - 1 - words.last()?.leading_zeros() as usize;
        Some(ProcessId::from_index((words.len() - 1) * BITS + high))
    }

    /// The smallest process that is not a member and not less than `from`.
    pub fn next_absent(&self, from: ProcessId) -> ProcessId {
        let (first, bit) = word_and_bit(from);
        let words = self.words.as_slice();
        let mut earlier = bit - 1;
        for (word, found) in words.iter().enumerate().skip(first) {
            let absent = !(found | earlier);
            if absent != 0 {
                return ProcessId::from_index(word * BITS + absent.trailing_zeros() as usize);
            }
            earlier = 0;
        }
        from.max(ProcessId::from_index(words.len() * BITS))
    }

    /// Iterates over the members in ascending order.
    #[inline]
    pub fn iter(&self) -> Iter<'_> {
        Iter { words: self.words.as_slice(), next_word: 0, rest: 0 }
    }

    /// Returns `true` if every member is also a member of `other`.
    #[inline]
    pub fn is_subset(&self, other: &Self) -> bool {
        self.words.is_subset(&other.words)
    }

    /// Returns `true` if the two sets have no member in common.
    #[inline]
    pub fn is_disjoint(&self, other: &Self) -> bool {
        self.words.is_disjoint(&other.words)
    }

    /// Adds all members of `other`.
    #[inline]
    pub fn union_with(&mut self, other: &Self) {
        self.words.unite(&other.words);
    }

    /// Removes all processes that are not members of `other`.
    #[inline]
    pub fn intersect_with(&mut self, other: &Self) {
        self.words.intersect(&other.words);
    }

    /// Removes all members of `other`.
    #[inline]
    pub fn subtract(&mut self, other: &Self) {
        self.words.subtract(&other.words);
    }
}

impl Clone for ProcessSet {
    #[inline]
    fn clone(&self) -> Self {
        Self { words: self.words.clone() }
    }

    #[inline]
    fn clone_from(&mut self, other: &Self) {
        self.words.clone_from(&other.words);
    }
}

impl Default for ProcessSet {
    #[inline]
    fn default() -> Self {
        Self::new()
    }
}

#[inline]
fn word_and_bit(process: ProcessId) -> (usize, u64) {
    (process.index() / BITS, 1 << (process.index() % BITS))
}

impl BitOr for &ProcessSet {
    type Output = ProcessSet;
    #[inline]
    fn bitor(self, other: Self) -> ProcessSet {
        let mut set = self.clone();
        set.union_with(other);
        set
    }
}

impl BitAnd for &ProcessSet {
    type Output = ProcessSet;
    #[inline]
    fn bitand(self, other: Self) -> ProcessSet {
        let mut set = self.clone();
        set.intersect_with(other);
        set
    }
}

impl Sub for &ProcessSet {
    type Output = ProcessSet;
    #[inline]
    fn sub(self, other: Self) -> ProcessSet {
        ProcessSet { words: self.words.without(&other.words) }
    }
}

impl FromIterator<ProcessId> for ProcessSet {
    fn from_iter<I: IntoIterator<Item = ProcessId>>(members: I) -> Self {
        let mut set = Self::new();
        set.extend(members);
        set
    }
}

impl Extend<ProcessId> for ProcessSet {
    fn extend<I: IntoIterator<Item = ProcessId>>(&mut self, members: I) {
        for member in members {
            self.insert(member);
        }
    }
}

impl<'a> IntoIterator for &'a ProcessSet {
    type Item = ProcessId;
    type IntoIter = Iter<'a>;
    fn into_iter(self) -> Iter<'a> {
        self.iter()
    }
}

/// Iterator over the members of a [`ProcessSet`] in ascending order.
#[derive(Clone, Debug)]
pub struct Iter<'a> {
    words: &'a [u64],
    next_word: usize,
    rest: u64,
}

impl Iterator for Iter<'_> {
    type Item = ProcessId;
    #[inline]
    fn next(&mut self) -> Option<ProcessId> {
        while self.rest == 0 {
            self.rest = *self.words.get(self.next_word)?;
            self.next_word += 1;
        }
        let bit = self.rest.trailing_zeros() as usize;
        self.rest &= self.rest - 1;
        Some(ProcessId::from_index((self.next_word - 1) * BITS + bit))
    }
}

/// Formats the set as `{0, 3, 5}`.
impl fmt::Display for ProcessSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter().map(ProcessId::number)).finish()
    }
}

impl fmt::Debug for ProcessSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::cmp::Ordering;
    use proptest::prelude::*;
    use std::collections::BTreeSet;
    use std::hash::{DefaultHasher, Hash, Hasher};
    use std::string::ToString;
    use std::vec::Vec;

    fn numbers() -> impl Strategy<Value = BTreeSet<u32>> {
        proptest::collection::btree_set(prop_oneof![0u32..64, 0u32..200, 0u32..5000], 0..40)
    }

    fn set(numbers: &BTreeSet<u32>) -> ProcessSet {
        numbers.iter().copied().map(ProcessId::new).collect()
    }

    fn twin(set: &ProcessSet) -> BTreeSet<u32> {
        set.iter().map(ProcessId::number).collect()
    }

    fn hash(set: &ProcessSet) -> u64 {
        let mut hasher = DefaultHasher::new();
        set.hash(&mut hasher);
        hasher.finish()
    }

    /// The same set after it was large, so that its words are on the heap.
    fn shrunk(mut set: ProcessSet) -> ProcessSet {
        set.insert(ProcessId::new(5000));
        set.remove(ProcessId::new(5000));
        set
    }

    proptest! {
        #[test]
        fn algebra_agrees_with_a_tree_set(a in numbers(), b in numbers(), large in any::<[bool; 2]>()) {
            let made = |numbers, large| if large { shrunk(set(numbers)) } else { set(numbers) };
            let (x, y) = (made(&a, large[0]), made(&b, large[1]));
            prop_assert_eq!(twin(&(&x | &y)), &a | &b);
            prop_assert_eq!(twin(&(&x & &y)), &a & &b);
            prop_assert_eq!(twin(&(&x - &y)), &a - &b);
            prop_assert_eq!(x.is_subset(&y), a.is_subset(&b));
            prop_assert_eq!(x.is_disjoint(&y), a.is_disjoint(&b));
            prop_assert_eq!(x.len(), a.len());
            prop_assert_eq!(x.first().map(ProcessId::number), a.first().copied());
            prop_assert_eq!(x.last().map(ProcessId::number), a.last().copied());
            prop_assert_eq!(x.is_empty(), a.is_empty());
        }

        #[test]
        fn equal_members_are_equal_sets_whatever_the_history(a in numbers(), gone in numbers()) {
            let mut x = set(&a);
            for &number in &gone {
                x.insert(ProcessId::new(number));
            }
            for &number in gone.difference(&a) {
                prop_assert!(x.remove(ProcessId::new(number)));
            }
            prop_assert_eq!(&x, &set(&a));
            prop_assert_eq!(x.cmp(&set(&a)), Ordering::Equal);
            prop_assert_eq!(hash(&x), hash(&set(&a)));
            let mut copy = set(&gone);
            copy.clone_from(&x);
            prop_assert_eq!(copy, x);
        }

        #[test]
        fn the_next_absent_is_found(a in numbers(), from in 0u32..300) {
            let expected = (from..).find(|number| !a.contains(number));
            prop_assert_eq!(set(&a).next_absent(ProcessId::new(from)).number(), expected.unwrap_or(0));
        }

        #[test]
        fn members_come_in_ascending_order(a in numbers()) {
            let members: Vec<u32> = set(&a).iter().map(ProcessId::number).collect();
            prop_assert!(members.is_sorted());
        }
    }

    #[test]
    fn all_has_exactly_the_first_n() {
        for n in [0, 1, 63, 64, 65, 128, 130] {
            let all = ProcessSet::all(n);
            assert_eq!(all, ProcessId::all(n).collect());
            assert_eq!(all.len(), n);
        }
    }

    #[test]
    fn a_hundred_and_twenty_eight_members_need_no_allocation() {
        assert!(matches!(ProcessSet::all(128).words, Words::Inline(_)));
        assert!(size_of::<ProcessSet>() <= 24);
    }

    #[test]
    fn reads_as_a_set() {
        assert_eq!(set(&BTreeSet::from([5, 0, 3])).to_string(), "{0, 3, 5}");
    }
}
