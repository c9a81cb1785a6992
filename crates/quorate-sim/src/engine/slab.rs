//! A slab: values in numbered slots that are reused.

/// Initial capacity, enough for the pending events of a small world.
const INITIAL_CAPACITY: usize = 32;

/// A store that assigns a slot to each value until the value is removed.
#[derive(Clone, Debug)]
pub(crate) struct Slab<T> {
    slots: Vec<Option<T>>,
    free: Vec<u32>,
}

impl<T> Slab<T> {
    pub(crate) fn insert(&mut self, value: T) -> u32 {
        if let Some(slot) = self.free.pop() {
            self.slots[slot as usize] = Some(value);
            return slot;
        }
        if self.slots.capacity() == 0 {
            self.slots.reserve(INITIAL_CAPACITY);
            self.free.reserve(INITIAL_CAPACITY);
        }
        self.slots.push(Some(value));
        u32::try_from(self.slots.len() - 1).expect("fewer than 2^32 things wait at a time")
    }

    pub(crate) fn get(&self, slot: u32) -> &T {
        self.slots[slot as usize].as_ref().expect("only occupied slots are read")
    }

    pub(crate) fn remove(&mut self, slot: u32) -> T {
        self.free.push(slot);
        self.slots[slot as usize].take().expect("a slot is freed once")
    }
}

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Self { slots: Vec::new(), free: Vec::new() }
    }
}
