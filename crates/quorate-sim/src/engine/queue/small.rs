//! A queue of few items, kept in the order in which they leave.
//!
//! Most worlds are small and have a dozen messages in flight. An insertion is then a search through a few cache lines and a
//! short move of small entries. The items themselves are not moved. In a wheel, most slots would hold a single item.

use super::label::Label;

/// Maximum number of items. Beyond this a wheel is faster.
const CAPACITY: usize = 128;

/// A queue of labelled items by time; equal times keep the order of arrival.
#[derive(Debug)]
pub(super) struct SmallQueue<T> {
    /// Time and slot of each item. The next item to leave is the last of the first `len` entries; the slots of the
    /// entries after it are free.
    order: Vec<(u64, u32)>,
    len: usize,
    slots: Vec<Option<(Label, T)>>,
    /// Time of the item removed last.
    now: u64,
}

impl<T> SmallQueue<T> {
    pub(super) const fn new() -> Self {
        Self { order: Vec::new(), len: 0, slots: Vec::new(), now: 0 }
    }

    pub(super) const fn len(&self) -> usize {
        self.len
    }

    pub(super) const fn is_full(&self) -> bool {
        self.len == CAPACITY
    }

    /// Time of the item removed last.
    pub(super) const fn now(&self) -> u64 {
        self.now
    }

    /// Sets the time of the item removed last, after it was removed from the wheel.
    pub(super) const fn set_now(&mut self, now: u64) {
        self.now = now;
    }

    /// Adds an item. The queue must not be full.
    #[inline]
    pub(super) fn push(&mut self, time: u64, label: Label, item: T) {
        if self.order.len() == self.len {
            self.grow();
        }
        let slot = self.order[self.len].1;
        self.slots[slot as usize] = Some((label, item));
        // Items with the same time arrived earlier and leave earlier.
        let at = self.order[..self.len].partition_point(|(other, _)| *other > time);
        self.order.copy_within(at..self.len, at + 1);
        self.order[at] = (time, slot);
        self.len += 1;
    }

    #[cold]
    fn grow(&mut self) {
        if self.slots.is_empty() {
            self.order.reserve_exact(CAPACITY);
            self.slots.reserve_exact(CAPACITY / 4);
        }
        self.order.push((0, self.slots.len() as u32));
        self.slots.push(None);
    }

    /// Removes the first item and returns it with its time.
    #[inline]
    pub(super) fn pop(&mut self) -> Option<(u64, Label, T)> {
        self.len = self.len.checked_sub(1)?;
        let (time, slot) = self.order[self.len];
        let (label, item) = self.slots[slot as usize].take()?;
        self.now = time;
        Some((time, label, item))
    }

    /// Time of the first item.
    pub(super) fn peek_time(&self) -> Option<u64> {
        self.len.checked_sub(1).map(|first| self.order[first].0)
    }
}
