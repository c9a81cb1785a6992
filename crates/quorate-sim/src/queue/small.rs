//! A queue of few: what waits is kept in the order in which it leaves.
//!
//! Most worlds are small and have a dozen messages under way. Putting one where it belongs is then a search through a
//! few cache lines and a short move of small entries: the items themselves stay where they are. A wheel's slots would
//! hold one item each.

use super::Label;

/// From so many items on a wheel is quicker.
const CAPACITY: usize = 128;

/// A queue of labelled items by time; equal times keep the order of arrival.
#[derive(Debug)]
pub(super) struct SmallQueue<T> {
    /// When each leaves, and at which place it is. The first to leave is the last here; beyond it come the free places.
    order: Vec<(u64, u32)>,
    len: usize,
    slots: Vec<Option<(Label, T)>>,
    /// When the last one left.
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

    /// The time of the item that left last.
    pub(super) const fn now(&self) -> u64 {
        self.now
    }

    /// The last item has left elsewhere.
    pub(super) const fn set_now(&mut self, now: u64) {
        self.now = now;
    }

    /// Adds an item; there must be room for it.
    #[inline]
    pub(super) fn push(&mut self, time: u64, label: Label, item: T) {
        if self.order.len() == self.len {
            self.grow();
        }
        let slot = self.order[self.len].1;
        self.slots[slot as usize] = Some((label, item));
        // Whatever is due at the same time arrived before, and leaves before.
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

    /// Takes out the first item and its time.
    #[inline]
    pub(super) fn pop(&mut self) -> Option<(u64, Label, T)> {
        self.len = self.len.checked_sub(1)?;
        let (time, slot) = self.order[self.len];
        let (label, item) = self.slots[slot as usize].take()?;
        self.now = time;
        Some((time, label, item))
    }

    /// The time of the first item.
    pub(super) fn peek_time(&self) -> Option<u64> {
        self.len.checked_sub(1).map(|first| self.order[first].0)
    }
}
