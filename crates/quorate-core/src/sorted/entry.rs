//! Entries of a map that are inserted, changed or removed in place.

use super::map::{Place, SortedMap};

/// Entry of a key, which may have a value or not.
pub enum Entry<'a, K, V> {
    /// The key has a value.
    Occupied(OccupiedEntry<'a, K, V>),
    /// The key has no value.
    Vacant(VacantEntry<'a, K, V>),
}

/// Entry of a key that has a value.
pub struct OccupiedEntry<'a, K, V> {
    pub(super) map: &'a mut SortedMap<K, V>,
    pub(super) place: Place,
}

/// Entry of a key that has no value.
pub struct VacantEntry<'a, K, V> {
    pub(super) map: &'a mut SortedMap<K, V>,
    pub(super) place: Place,
    pub(super) key: K,
}

impl<'a, K, V> Entry<'a, K, V> {
    /// Returns the value. Inserts it first if there is none.
    pub fn or_insert_with(self, value: impl FnOnce() -> V) -> &'a mut V {
        match self {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => entry.insert(value()),
        }
    }

    /// Returns the value. Inserts `value` first if there is none.
    pub fn or_insert(self, value: V) -> &'a mut V {
        self.or_insert_with(|| value)
    }

    /// Returns the value. Inserts the default value first if there is none.
    pub fn or_default(self) -> &'a mut V
    where
        V: Default,
    {
        self.or_insert_with(V::default)
    }

    /// Changes the value if there is one.
    #[must_use]
    pub fn and_modify(mut self, change: impl FnOnce(&mut V)) -> Self {
        if let Entry::Occupied(entry) = &mut self {
            change(entry.get_mut());
        }
        self
    }
}

impl<'a, K, V> OccupiedEntry<'a, K, V> {
    /// Returns the key of this entry.
    pub fn key(&self) -> &K {
        &self.map.at(self.place).0
    }

    /// Returns the value of this entry.
    pub fn get(&self) -> &V {
        &self.map.at(self.place).1
    }

    /// Returns the mutable value.
    pub fn get_mut(&mut self) -> &mut V {
        &mut self.map.at_mut(self.place).1
    }

    /// Returns the mutable value for as long as the map is borrowed.
    pub fn into_mut(self) -> &'a mut V {
        &mut self.map.at_mut(self.place).1
    }

    /// Replaces the value and returns the previous one.
    pub fn insert(&mut self, value: V) -> V {
        core::mem::replace(self.get_mut(), value)
    }

    /// Removes the entry and returns its value.
    pub fn remove(self) -> V {
        self.remove_entry().1
    }

    /// Removes the entry and returns its key and value.
    pub fn remove_entry(self) -> (K, V) {
        self.map.remove_at(self.place)
    }
}

impl<'a, K, V> VacantEntry<'a, K, V> {
    /// Returns the key of this entry.
    pub fn key(&self) -> &K {
        &self.key
    }

    /// Inserts a value for the key, and returns it.
    pub fn insert(self, value: V) -> &'a mut V {
        let Self { map, place, key } = self;
        let place = map.insert_at(place, key, value);
        &mut map.at_mut(place).1
    }
}
