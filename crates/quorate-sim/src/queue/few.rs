//! A queue of few: items in the order in which they leave.
//!
//! Most worlds are small and have a dozen messages under way. Putting one where it belongs is then a search through a
//! few cache lines and a short move, which costs less than a wheel whose slots hold one item each.

use super::Label;

/// From so many items on a wheel is quicker.
const MOST: usize = 64;

/// A queue of labelled items by time; equal times keep the order of arrival.
#[derive(Debug)]
pub(super) struct Few<T> {
    /// The first to leave is the last here.
    items: Vec<(u64, Label, T)>,
    /// When the last one left.
    now: u64,
}

impl<T> Few<T> {
    pub(super) const fn new() -> Self {
        Self { items: Vec::new(), now: 0 }
    }

    pub(super) fn len(&self) -> usize {
        self.items.len()
    }

    pub(super) fn is_full(&self) -> bool {
        self.items.len() == MOST
    }

    /// The time of the item that left last.
    pub(super) fn now(&self) -> u64 {
        self.now
    }

    /// The last item has left elsewhere.
    pub(super) fn set_now(&mut self, now: u64) {
        self.now = now;
    }

    /// Adds an item; there must be room for it.
    #[inline]
    pub(super) fn push(&mut self, time: u64, label: Label, item: T) {
        if self.items.capacity() == 0 {
            self.items.reserve_exact(MOST);
        }
        // Whatever is due at the same time arrived before, and leaves before.
        let place = self.items.partition_point(|(other, ..)| *other > time);
        self.items.insert(place, (time, label, item));
    }

    /// Takes out the first item and its time.
    #[inline]
    pub(super) fn pop(&mut self) -> Option<(u64, Label, T)> {
        let first = self.items.pop()?;
        self.now = first.0;
        Some(first)
    }

    /// The time of the first item.
    pub(super) fn peek_time(&self) -> Option<u64> {
        self.items.last().map(|(time, ..)| *time)
    }

    /// Takes all out, in order.
    pub(super) fn drain(&mut self) -> impl Iterator<Item = (u64, Label, T)> + '_ {
        self.items.drain(..).rev()
    }
}
