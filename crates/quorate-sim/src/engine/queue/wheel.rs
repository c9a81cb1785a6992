//! A queue of many items: a timing wheel with an overflow heap.
//!
//! Entries leave in the order (time, order of arrival). Entries within the wheel's horizon are
//! appended to the slot of their time, unsorted, which costs O(1). A slot is put in order when
//! its turn comes, by sorting small keys. A slot that spans a single tick is not sorted at all.
//! Entries beyond the horizon wait in a heap and move to the wheel as the horizon advances.
//!
//! ```text
//!   current slot         slots (unsorted)                    far (heap)
//!   [ sorted | late ] -> [ ][ ][ ][ ][ ][ ][ ][ ] horizon -> ...
//! ```

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::label::Label;

/// A queue of labelled items by time; equal times keep the order of arrival.
#[derive(Debug)]
pub(super) struct Wheel<T> {
    slots: Vec<Vec<Option<WheelEntry<T>>>>,
    /// One bit for each slot, set if the slot holds entries.
    occupied: Vec<u64>,
    /// Number of slots. They are allocated when the wheel is first used.
    slots_wanted: usize,
    /// Binary logarithm of the slot width. It is at most 32, so that an offset fits into 32 bits.
    width_log2: u32,
    /// The current slot, counted from time zero.
    current: u64,
    open: OpenSlot<T>,
    far: BinaryHeap<FarEntry<T>>,
    arrivals: u64,
    len: usize,
    /// Initial capacity of a slot. Growing from zero would be expensive in a large world.
    initial_capacity: usize,
    /// Free buffers. A slot has a buffer only while it holds entries. If each slot kept
    /// its own, a small world would spend most of its time allocating buffers, and a
    /// large world in which everything is due at the same times would fill the memory.
    free: Vec<Vec<Option<WheelEntry<T>>>>,
}

#[derive(Debug)]
struct WheelEntry<T> {
    /// Time since the start of the slot.
    offset: u32,
    label: Label,
    item: T,
}

/// The slot that is being emptied.
#[derive(Debug)]
struct OpenSlot<T> {
    /// Start time of the slot.
    start: u64,
    entries: Vec<Option<WheelEntry<T>>>,
    order: SlotOrder,
}

/// The order in which the entries of a slot leave.
#[derive(Debug, Default)]
struct SlotOrder {
    /// Number of entries that were in the slot when it was opened; `consumed` of them have left.
    initial: usize,
    consumed: usize,
    /// Keys of these entries in the order in which they leave. Empty if that is the order of arrival.
    sorted: Vec<Key>,
    /// Keys of entries that arrived since the slot was opened.
    late: BinaryHeap<Reverse<Key>>,
}

/// The offset of an entry in the upper half, its index in the slot in the lower half.
type Key = u64;

impl<T> Wheel<T> {
    /// Creates a wheel for items that mostly lie less than `horizon` ahead, with about `expected_len` of them at a time.
    pub(super) fn new(horizon: u64, expected_len: usize) -> Self {
        // A small number of slots makes small worlds cheap to create. A large number keeps the slots of large worlds small.
        // There are no more slots than the horizon needs, because each has a buffer that should stay in the cache.
        let most = expected_len.next_power_of_two().clamp(64, 4096) as u64;
        let width_log2 =
            (0..32).find(|&log2| (horizon >> log2).saturating_add(2) <= most).unwrap_or(32);
        let slots = ((horizon >> width_log2) + 2).next_power_of_two().clamp(64, most) as usize;
        Self {
            slots: Vec::new(),
            occupied: Vec::new(),
            slots_wanted: slots,
            width_log2,
            current: 0,
            open: OpenSlot { start: 0, entries: Vec::new(), order: SlotOrder::default() },
            far: BinaryHeap::new(),
            arrivals: 0,
            len: 0,
            free: Vec::new(),
            initial_capacity: if expected_len < 8192 { (expected_len / 256).max(4) } else { 512 },
        }
    }

    /// Number of queued items.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Bytes that a queued item takes.
    pub(super) const fn bytes_per_item() -> usize {
        size_of::<Option<WheelEntry<T>>>()
    }

    /// Moves an empty wheel to this time, before which nothing will be added. To be called before anything is added.
    pub(super) fn advance_to(&mut self, time: u64) {
        if self.slots.is_empty() {
            self.slots.resize_with(self.slots_wanted, Vec::new);
            self.occupied.resize(self.slots_wanted / 64, 0);
        }
        self.current = time >> self.width_log2;
        self.open.start = self.current << self.width_log2;
    }

    /// Adds an item. Its time must not be before that of the last item removed.
    #[inline(always)]
    pub(super) fn push(&mut self, time: u64, label: Label, item: T) {
        self.len += 1;
        let slot = time >> self.width_log2;
        let offset = (time - (slot << self.width_log2)) as u32;
        let entry = WheelEntry { offset, label, item };
        let ahead = slot - self.current;
        if ahead == 0 {
            self.open.push(entry);
        } else if ahead < self.slots.len() as u64 {
            self.put(slot, entry);
        } else {
            self.arrivals += 1;
            self.far.push(FarEntry { time, arrival: self.arrivals, entry });
        }
    }

    /// Removes the first item and returns it with its time.
    #[inline(always)]
    pub(super) fn pop(&mut self) -> Option<(u64, Label, T)> {
        loop {
            if let Some(WheelEntry { offset, label, item }) = self.open.pop() {
                self.len -= 1;
                return Some((self.open.start + u64::from(offset), label, item));
            }
            if !self.open_next_slot() {
                return None;
            }
        }
    }

    /// Time of the first item. Nothing is moved, because an earlier item may still be added.
    pub(super) fn peek_time(&self) -> Option<u64> {
        if let Some(offset) = self.open.order.peek() {
            return Some(self.open.start + offset);
        }
        let Some(slot) = next_occupied(&self.occupied, self.current) else {
            return self.far.peek().map(|far| far.time);
        };
        let mut first = None;
        for entry in self.slots[self.index(slot)].iter().flatten() {
            let offset = u64::from(entry.offset);
            first = Some(first.map_or(offset, |first: u64| first.min(offset)));
        }
        first.map(|offset| (slot << self.width_log2) + offset)
    }

    #[inline(always)]
    fn put(&mut self, slot: u64, entry: WheelEntry<T>) {
        let index = self.index(slot);
        let slot = &mut self.slots[index];
        if slot.capacity() == 0 {
            *slot = self.free.pop().unwrap_or_else(|| Vec::with_capacity(self.initial_capacity));
        }
        slot.push(Some(entry));
        self.occupied[index / 64] |= 1 << (index % 64);
    }

    fn index(&self, slot: u64) -> usize {
        slot as usize & (self.slots.len() - 1)
    }

    /// Opens the next slot that holds entries. Returns whether there is one.
    #[inline(never)]
    fn open_next_slot(&mut self) -> bool {
        let next = match (next_occupied(&self.occupied, self.current), self.far.peek()) {
            (Some(slot), _) => slot,
            (None, Some(far)) => far.time >> self.width_log2,
            (None, None) => return false,
        };
        self.current = next;
        self.open.start = next << self.width_log2;
        let index = self.index(next);
        self.occupied[index / 64] &= !(1 << (index % 64));
        let slot = &mut self.slots[index];
        self.open.refill(slot, self.width_log2 == 0);
        // Only an empty buffer is left in the slot.
        if slot.capacity() > 0 {
            self.free.push(std::mem::take(slot));
        }
        self.fetch_far();
        true
    }

    /// Moves entries from the heap to the wheel after the horizon has advanced. Far entries of a slot arrived before
    /// the slot came within the horizon, so they precede everything that is pushed to it from now on.
    fn fetch_far(&mut self) {
        while let Some(first) = self.far.peek() {
            let slot = first.time >> self.width_log2;
            if slot - self.current >= self.slots.len() as u64 {
                return;
            }
            let Some(FarEntry { entry, .. }) = self.far.pop() else { return };
            if slot == self.current { self.open.push(entry) } else { self.put(slot, entry) }
        }
    }
}

/// Finds the next occupied slot after the current one. `occupied` has one bit for each slot.
fn next_occupied(occupied: &[u64], current: u64) -> Option<u64> {
    let words = occupied.len();
    let slots = words * 64;
    let start = current as usize & (slots - 1);
    // Search from just after the current slot, around the wheel, to just before it.
    for step in 0..=words {
        let word = (start / 64 + step) % words;
        let mut bits = occupied[word];
        if step == 0 {
            bits &= u64::MAX << (start % 64);
        } else if step == words {
            bits &= (1 << (start % 64)) - 1;
        }
        if bits != 0 {
            let index = word * 64 + bits.trailing_zeros() as usize;
            let ahead = (index + slots - start) & (slots - 1);
            return Some(current + ahead as u64);
        }
    }
    None
}

impl<T> OpenSlot<T> {
    /// Takes over the entries of a slot and leaves its own used buffer in exchange.
    fn refill(&mut self, slot: &mut Vec<Option<WheelEntry<T>>>, one_tick: bool) {
        self.entries.clear();
        std::mem::swap(&mut self.entries, slot);
        self.order.begin(self.entries.len());
        if !one_tick {
            self.order.sorted.reserve(self.entries.len());
            for (entry, place) in self.entries.iter().zip(0..) {
                self.order.sorted.push(key(entry.as_ref().map_or(0, |entry| entry.offset), place));
            }
            self.order.sort();
        }
    }

    #[inline(never)]
    fn push(&mut self, entry: WheelEntry<T>) {
        self.order.push_late(entry.offset, self.entries.len());
        self.entries.push(Some(entry));
    }

    #[inline(always)]
    fn pop(&mut self) -> Option<WheelEntry<T>> {
        let place = self.order.pop()?;
        self.entries[place].take()
    }
}

impl SlotOrder {
    /// Starts a slot with this number of entries.
    #[inline]
    fn begin(&mut self, initial: usize) {
        (self.initial, self.consumed) = (initial, 0);
        self.sorted.clear();
    }

    fn sort(&mut self) {
        self.sorted.sort_unstable();
    }

    fn push_late(&mut self, offset: u32, place: usize) {
        let place = u32::try_from(place).expect("a slot holds less than 2^32 entries");
        self.late.push(Reverse(key(offset, place)));
    }

    /// Removes the next entry from the order and returns its index in the slot.
    #[inline(always)]
    fn pop(&mut self) -> Option<usize> {
        if self.consumed == self.initial {
            return self.pop_late();
        }
        // Without sorted keys, all entries are due at the same time and leave in the order of arrival.
        let first = self.sorted.get(self.consumed).copied().unwrap_or(self.consumed as u64);
        if self.late.peek().is_some_and(|late| late.0 < first) {
            return self.pop_late();
        }
        self.consumed += 1;
        Some(first as u32 as usize)
    }

    #[inline(never)]
    fn pop_late(&mut self) -> Option<usize> {
        self.late.pop().map(|Reverse(late)| late as u32 as usize)
    }

    /// Offset of the entry that leaves next.
    fn peek(&self) -> Option<u64> {
        let first = (self.consumed < self.initial)
            .then(|| self.sorted.get(self.consumed).copied().unwrap_or(0));
        let late = self.late.peek().map(|late| late.0);
        first.into_iter().chain(late).min().map(|key| key >> 32)
    }
}

fn key(offset: u32, place: u32) -> Key {
    u64::from(offset) << 32 | u64::from(place)
}

/// An entry beyond the horizon. The earliest one compares greatest, because the heap is a max-heap.
#[derive(Debug)]
struct FarEntry<T> {
    time: u64,
    arrival: u64,
    entry: WheelEntry<T>,
}

impl<T> Ord for FarEntry<T> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (other.time, other.arrival).cmp(&(self.time, self.arrival))
    }
}

impl<T> PartialOrd for FarEntry<T> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> PartialEq for FarEntry<T> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl<T> Eq for FarEntry<T> {}
