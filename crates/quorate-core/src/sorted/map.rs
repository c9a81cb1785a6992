//! A map in sorted chunks.

use alloc::vec::Vec;
use core::borrow::Borrow;
use core::cmp::Ordering;
use core::fmt;
use core::hash::{Hash, Hasher};
use core::mem;
use core::ops::{Bound, Index, RangeBounds};

use super::entry::{Entry, OccupiedEntry, VacantEntry};
use super::iter::{IntoIter, Iter, IterMut};

/// Size of a chunk in bytes, within the limits of its number of entries.
const CHUNK_BYTES: usize = 4096;

/// Map that is sorted by key.
#[derive(Clone)]
pub struct SortedMap<K, V> {
    len: usize,
    /// The first chunk. Empty only if the map is.
    head: Vec<(K, V)>,
    /// Further chunks, none of them empty. All keys of a chunk are greater than those of the chunk before.
    tail: Vec<Vec<(K, V)>>,
}

/// Place of an entry: a chunk, counted from the head, and the index in it.
#[derive(Clone, Copy)]
pub(super) struct Place {
    chunk: usize,
    index: usize,
}

impl<K, V> SortedMap<K, V> {
    /// Maximum number of entries of a chunk.
    const CHUNK: usize = match CHUNK_BYTES.checked_div(size_of::<(K, V)>()) {
        Some(entries) if entries < 16 => 16,
        Some(entries) if entries < 128 => entries,
        _ => 128,
    };

    /// Creates an empty map, which uses no memory.
    pub const fn new() -> Self {
        Self { len: 0, head: Vec::new(), tail: Vec::new() }
    }

    /// Returns the number of entries.
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Returns whether there are no entries.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Removes all entries and frees their memory.
    pub fn clear(&mut self) {
        *self = Self::new();
    }

    /// Iterates over the entries in ascending order of their keys.
    pub fn iter(&self) -> Iter<'_, K, V> {
        Iter::new(self.len, &self.head, &self.tail, &[])
    }

    /// Iterates over the entries in ascending order of their keys, with mutable values.
    pub fn iter_mut(&mut self) -> IterMut<'_, K, V> {
        IterMut::new(self.len, &mut self.head, &mut self.tail)
    }

    /// Iterates over the keys in ascending order.
    pub fn keys(&self) -> impl DoubleEndedIterator<Item = &K> + ExactSizeIterator + Clone {
        self.iter().map(|(key, _)| key)
    }

    /// Iterates over the values in ascending order of their keys.
    pub fn values(&self) -> impl DoubleEndedIterator<Item = &V> + ExactSizeIterator + Clone {
        self.iter().map(|(_, value)| value)
    }

    /// Iterates over the mutable values in ascending order of their keys.
    pub fn values_mut(&mut self) -> impl DoubleEndedIterator<Item = &mut V> + ExactSizeIterator {
        self.iter_mut().map(|(_, value)| value)
    }

    /// Takes the keys, in ascending order.
    pub fn into_keys(self) -> impl DoubleEndedIterator<Item = K> + ExactSizeIterator {
        self.into_iter().map(|(key, _)| key)
    }

    /// Takes the values, in ascending order of their keys.
    pub fn into_values(self) -> impl DoubleEndedIterator<Item = V> + ExactSizeIterator {
        self.into_iter().map(|(_, value)| value)
    }

    /// Returns the entry with the least key.
    pub fn first_key_value(&self) -> Option<(&K, &V)> {
        self.head.first().map(|(key, value)| (key, value))
    }

    /// Returns the entry with the greatest key.
    pub fn last_key_value(&self) -> Option<(&K, &V)> {
        self.chunk(self.tail.len()).last().map(|(key, value)| (key, value))
    }

    /// Returns the entry with the least key, for changing or removing it.
    pub fn first_entry(&mut self) -> Option<OccupiedEntry<'_, K, V>> {
        let place = Place { chunk: 0, index: 0 };
        if self.is_empty() { None } else { Some(OccupiedEntry { map: self, place }) }
    }

    /// Removes the entry with the least key and returns it.
    pub fn pop_first(&mut self) -> Option<(K, V)> {
        self.first_entry().map(OccupiedEntry::remove_entry)
    }

    /// Removes the entry with the greatest key and returns it.
    pub fn pop_last(&mut self) -> Option<(K, V)> {
        let chunk = self.tail.len();
        let index = self.chunk(chunk).len().checked_sub(1)?;
        Some(self.remove_at(Place { chunk, index }))
    }

    /// Removes the entries for which `keep` is false.
    pub fn retain(&mut self, mut keep: impl FnMut(&K, &mut V) -> bool) {
        let mut keeps = |(key, value): &mut (K, V)| keep(key, value);
        self.head.retain_mut(&mut keeps);
        self.tail.iter_mut().for_each(|chunk| chunk.retain_mut(&mut keeps));
        self.restore();
    }

    /// Removes the entries for which `matches` is true and returns them, in ascending order of their keys.
    pub fn extract(&mut self, mut matches: impl FnMut(&K, &mut V) -> bool) -> Vec<(K, V)> {
        let mut removed = Vec::new();
        for chunk in 0..=self.tail.len() {
            let entries = self.chunk_mut(chunk);
            removed.extend(entries.extract_if(.., |(key, value)| matches(key, value)));
        }
        self.restore();
        removed
    }

    /// Joins small chunks and counts the entries, after entries were removed from any chunk.
    fn restore(&mut self) {
        // From the last chunk to the first, so that few chunks move when one is removed.
        for lower in (0..self.tail.len()).rev() {
            self.join(lower);
        }
        self.len = self.head.len() + entries_of(&self.tail);
    }

    /// Returns the number of chunks, the head included.
    #[cfg(test)]
    pub(super) const fn chunks(&self) -> usize {
        1 + self.tail.len()
    }

    fn chunk(&self, chunk: usize) -> &Vec<(K, V)> {
        match chunk.checked_sub(1) {
            None => &self.head,
            Some(index) => &self.tail[index],
        }
    }

    fn chunk_mut(&mut self, chunk: usize) -> &mut Vec<(K, V)> {
        match chunk.checked_sub(1) {
            None => &mut self.head,
            Some(index) => &mut self.tail[index],
        }
    }

    pub(super) fn at(&self, place: Place) -> &(K, V) {
        &self.chunk(place.chunk)[place.index]
    }

    pub(super) fn at_mut(&mut self, place: Place) -> &mut (K, V) {
        &mut self.chunk_mut(place.chunk)[place.index]
    }

    /// Inserts an entry whose key belongs at this place.
    pub(super) fn insert_at(&mut self, mut place: Place, key: K, value: V) -> Place {
        self.len += 1;
        if self.chunk(place.chunk).len() >= Self::CHUNK {
            place = self.split(place);
        }
        self.chunk_mut(place.chunk).insert(place.index, (key, value));
        place
    }

    /// Splits the full chunk of a place, and returns where the place is afterwards.
    #[cold]
    fn split(&mut self, place: Place) -> Place {
        let chunks = self.tail.len();
        let chunk = self.chunk_mut(place.chunk);
        // Chunks of a map that grows at its end stay full.
        let at_end = place.chunk == chunks && place.index == chunk.len();
        let lower = if at_end { chunk.len() } else { chunk.len() / 2 };
        let upper = chunk.split_off(lower);
        self.tail.insert(place.chunk, upper);
        match place.index.checked_sub(lower) {
            Some(index) => Place { chunk: place.chunk + 1, index },
            None => place,
        }
    }

    pub(super) fn remove_at(&mut self, place: Place) -> (K, V) {
        self.len -= 1;
        let chunks = self.tail.len();
        let chunk = self.chunk_mut(place.chunk);
        let entry = chunk.remove(place.index);
        if chunks > 0 && chunk.len() < Self::CHUNK / 4 {
            let joined = place.chunk > 0 && self.join(place.chunk - 1);
            if !joined && place.chunk < chunks {
                self.join(place.chunk);
            }
        }
        entry
    }

    /// Joins a chunk and the next one if they are small. Returns whether it has.
    #[cold]
    fn join(&mut self, lower: usize) -> bool {
        let (a, b) = (self.chunk(lower).len(), self.chunk(lower + 1).len());
        let small = a == 0 || b == 0 || a + b <= Self::CHUNK / 2;
        if small {
            let mut upper = self.tail.remove(lower);
            self.chunk_mut(lower).append(&mut upper);
        }
        small
    }
}

impl<K: Ord, V> SortedMap<K, V> {
    /// Returns the place of a key, or the place where it belongs.
    fn find<Q: Ord + ?Sized>(&self, key: &Q) -> Result<Place, Place>
    where
        K: Borrow<Q>,
    {
        let chunk = if self.tail.is_empty() { 0 } else { self.chunk_of(key) };
        // Fewer instructions per type than the standard library's search, which pays off for large slices only.
        let entries = self.chunk(chunk).as_slice();
        let (mut from, mut to) = (0, entries.len());
        while from < to {
            let index = from.midpoint(to);
            match entries[index].0.borrow().cmp(key) {
                Ordering::Less => from = index + 1,
                Ordering::Equal => return Ok(Place { chunk, index }),
                Ordering::Greater => to = index,
            }
        }
        Err(Place { chunk, index: from })
    }

    /// Returns the chunk of a key, or the one where it belongs, if there is more than one.
    #[cold]
    fn chunk_of<Q: Ord + ?Sized>(&self, key: &Q) -> usize
    where
        K: Borrow<Q>,
    {
        self.tail.partition_point(|chunk| chunk[0].0.borrow() <= key)
    }

    /// The same as `find`, faster for a key that is greater than all others.
    fn find_for_insertion(&self, key: &K) -> Result<Place, Place> {
        let chunk = self.tail.len();
        let last = self.chunk(chunk);
        match last.last() {
            Some((greatest, _)) if greatest < key => Err(Place { chunk, index: last.len() }),
            _ => self.find(key),
        }
    }

    /// Returns whether there is an entry with this key.
    pub fn contains_key<Q: Ord + ?Sized>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
    {
        self.find(key).is_ok()
    }

    /// Returns the value of a key.
    pub fn get<Q: Ord + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        self.find(key).ok().map(|place| &self.at(place).1)
    }

    /// Returns the mutable value of a key.
    pub fn get_mut<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<&mut V>
    where
        K: Borrow<Q>,
    {
        let place = self.find(key).ok()?;
        Some(&mut self.at_mut(place).1)
    }

    /// Sets the value of a key, and returns the value that it had. The key itself is not replaced.
    pub fn insert(&mut self, key: K, value: V) -> Option<V> {
        match self.find_for_insertion(&key) {
            Ok(place) => Some(mem::replace(&mut self.at_mut(place).1, value)),
            Err(place) => {
                self.insert_at(place, key, value);
                None
            }
        }
    }

    /// Removes a key and returns its value.
    pub fn remove<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        self.remove_entry(key).map(|(_, value)| value)
    }

    /// Removes a key and returns it with its value.
    pub fn remove_entry<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<(K, V)>
    where
        K: Borrow<Q>,
    {
        let place = self.find(key).ok()?;
        Some(self.remove_at(place))
    }

    /// Returns the entry of a key, for changing, inserting or removing it.
    pub fn entry(&mut self, key: K) -> Entry<'_, K, V> {
        match self.find_for_insertion(&key) {
            Ok(place) => Entry::Occupied(OccupiedEntry { map: self, place }),
            Err(place) => Entry::Vacant(VacantEntry { map: self, place, key }),
        }
    }

    /// Iterates over the entries whose keys are within the bounds. Bounds in the wrong order contain no keys.
    pub fn range<Q: Ord + ?Sized>(&self, bounds: impl RangeBounds<Q>) -> Iter<'_, K, V>
    where
        K: Borrow<Q>,
    {
        let place = |key: &Q, after: usize| match self.find(key) {
            Ok(found) => Place { index: found.index + after, ..found },
            Err(absent) => absent,
        };
        let start = match bounds.start_bound() {
            Bound::Included(key) => place(key, 0),
            Bound::Excluded(key) => place(key, 1),
            Bound::Unbounded => Place { chunk: 0, index: 0 },
        };
        let last = self.tail.len();
        let end = match bounds.end_bound() {
            Bound::Included(key) => place(key, 1),
            Bound::Excluded(key) => place(key, 0),
            Bound::Unbounded => Place { chunk: last, index: self.chunk(last).len() },
        };
        let (first, last) = (self.chunk(start.chunk), self.chunk(end.chunk));
        match start.chunk.cmp(&end.chunk) {
            Ordering::Less => {
                let between = &self.tail[start.chunk..end.chunk - 1];
                let (first, last) = (&first[start.index..], &last[..end.index]);
                let len = first.len() + entries_of(between) + last.len();
                Iter::new(len, first, between, last)
            }
            Ordering::Equal if start.index <= end.index => {
                let entries = &first[start.index..end.index];
                Iter::new(entries.len(), entries, &[], &[])
            }
            _ => Iter::new(0, &[], &[], &[]),
        }
    }
}

/// Number of entries of these chunks.
fn entries_of<T>(chunks: &[Vec<T>]) -> usize {
    chunks.iter().fold(0, |entries, chunk| entries + chunk.len())
}

impl<K, V> Default for SortedMap<K, V> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K: fmt::Debug, V: fmt::Debug> fmt::Debug for SortedMap<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self).finish()
    }
}

// Equal maps may have different chunks.
impl<K: PartialEq, V: PartialEq> PartialEq for SortedMap<K, V> {
    fn eq(&self, other: &Self) -> bool {
        self.len == other.len && self.iter().eq(other)
    }
}

impl<K: Eq, V: Eq> Eq for SortedMap<K, V> {}

impl<K: PartialOrd, V: PartialOrd> PartialOrd for SortedMap<K, V> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        self.iter().partial_cmp(other)
    }
}

impl<K: Ord, V: Ord> Ord for SortedMap<K, V> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.iter().cmp(other)
    }
}

impl<K: Hash, V: Hash> Hash for SortedMap<K, V> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_usize(self.len);
        self.iter().for_each(|entry| entry.hash(state));
    }
}

impl<K: Ord + Borrow<Q>, V, Q: Ord + ?Sized> Index<&Q> for SortedMap<K, V> {
    type Output = V;

    fn index(&self, key: &Q) -> &V {
        self.get(key).expect("no entry has this key")
    }
}

impl<K: Ord, V> Extend<(K, V)> for SortedMap<K, V> {
    fn extend<I: IntoIterator<Item = (K, V)>>(&mut self, entries: I) {
        entries.into_iter().for_each(|(key, value)| drop(self.insert(key, value)));
    }
}

impl<K: Ord, V> FromIterator<(K, V)> for SortedMap<K, V> {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(entries: I) -> Self {
        let mut map = Self::new();
        map.extend(entries);
        map
    }
}

impl<K: Ord, V, const N: usize> From<[(K, V); N]> for SortedMap<K, V> {
    fn from(entries: [(K, V); N]) -> Self {
        entries.into_iter().collect()
    }
}

impl<K, V> IntoIterator for SortedMap<K, V> {
    type Item = (K, V);
    type IntoIter = IntoIter<K, V>;

    fn into_iter(self) -> IntoIter<K, V> {
        IntoIter::new(self.len, self.head, self.tail)
    }
}

impl<'a, K, V> IntoIterator for &'a SortedMap<K, V> {
    type Item = (&'a K, &'a V);
    type IntoIter = Iter<'a, K, V>;

    fn into_iter(self) -> Iter<'a, K, V> {
        self.iter()
    }
}

impl<'a, K, V> IntoIterator for &'a mut SortedMap<K, V> {
    type Item = (&'a K, &'a mut V);
    type IntoIter = IterMut<'a, K, V>;

    fn into_iter(self) -> IterMut<'a, K, V> {
        self.iter_mut()
    }
}
