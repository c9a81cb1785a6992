//! Fingerprints of the visited states in eight bytes each, in hash tables with open addressing.
//!
//! 69 bits of a fingerprint distinguish states: 8 select the table, and 61 are kept in it. The other three bits of a slot tell
//! in which depth the state was found, so that a step to a state that is no deeper is recognised:
//!
//! ```text
//!   63                                      3 2   0
//!  +-----------------------------------------+-----+     tag 0: at this depth or before
//!  | 61 bits of the fingerprint, not all zero| tag |     tag of the table: at the next depth
//!  +-----------------------------------------+-----+     other tags: as 0
//! ```
//!
//! The tag of the table is another one at each depth. After seven depths all tags are cleared, which reads each table once.
//!
//! Tables grow by a quarter when four fifths are used, so a state takes between 10 and 12.5 bytes. The place of a fingerprint
//! is its share of the table's length. So a table is nearly sorted, and growing reads and writes memory in order.

use std::io;

use rayon::iter::{IndexedParallelIterator, IntoParallelRefMutIterator, ParallelIterator};

use super::checkpoint::{CheckpointReader, CheckpointWriter};
use crate::Fingerprint;
use crate::visited::{AHEAD, FingerprintBatch, TABLES, table_of, words};

/// Number of bits of a fingerprint that distinguish states.
pub(super) const BITS: u32 = 61 + (TABLES * PARTS).trailing_zeros();

/// Number of tables in each group. The fingerprints of a batch are grouped, and a group is filled by one thread.
const PARTS: usize = 16;

const TAG_BITS: u32 = 3;
const TAG_MOST: u64 = (1 << TAG_BITS) - 1;

/// Slots of a new table.
const SLOTS_LEAST: usize = 20;

/// Set of the fingerprints of all visited states.
#[derive(Debug)]
pub(super) struct Table {
    groups: Vec<[Part; PARTS]>,
    /// Tag of the states of the next depth.
    tag: u64,
}

/// A hash table. An empty slot is zero.
#[derive(Debug)]
struct Part {
    slots: Vec<u64>,
    used: usize,
}

/// Whether and where a state was found before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Known {
    /// It was not found before.
    No,
    /// At the depth that comes next.
    Deeper,
    /// At the depth that is being expanded, or before.
    Before,
}

impl Table {
    pub(super) fn new() -> Self {
        let part = |_| Part { slots: vec![0; SLOTS_LEAST], used: 0 };
        let group = |_| std::array::from_fn(part);
        Self { groups: (0..TABLES).map(group).collect(), tag: 1 }
    }

    /// Looks up many states together.
    pub(super) fn look_up(&self, prints: &[Fingerprint], found: &mut Vec<Known>) {
        for some in prints.chunks(AHEAD) {
            // Reads the first slot of each before anything depends on it, so that the caches load several at a time.
            let touched = some.iter().fold(0, |all, print| {
                let (part, print) = self.part(*print);
                all ^ part.slots[part.home(print)]
            });
            std::hint::black_box(touched);
            found.extend(some.iter().map(|print| self.known(*print)));
        }
    }

    pub(super) fn known(&self, print: Fingerprint) -> Known {
        let (part, print) = self.part(print);
        match part.slots[part.place(print)] {
            0 => Known::No,
            slot if slot & TAG_MOST == self.tag => Known::Deeper,
            _ => Known::Before,
        }
    }

    /// Adds states of the next depth in consecutive batches. Calls `on_known` with the batch and the position of each state
    /// that is in the set already. The first of several equal states counts as new.
    pub(super) fn add(
        &mut self,
        batches: &[&FingerprintBatch],
        on_known: impl Fn(usize, usize) + Sync,
    ) {
        let tag = self.tag;
        self.groups.par_iter_mut().enumerate().for_each(|(index, group)| {
            for (batch, prints) in batches.iter().enumerate() {
                for some in prints.of_table(index).chunks(AHEAD) {
                    let touched = some.iter().fold(0, |all, (_, print)| {
                        let part = &group[part_of(*print)];
                        all ^ part.slots[part.home(kept(*print))]
                    });
                    std::hint::black_box(touched);
                    for (place, print) in some {
                        if !group[part_of(*print)].insert(kept(*print), tag) {
                            on_known(batch, *place as usize);
                        }
                    }
                }
            }
        });
    }

    /// Goes on to the next depth: the states that were added count as found before.
    pub(super) fn next_depth(&mut self) {
        if self.tag < TAG_MOST {
            self.tag += 1;
            return;
        }
        self.tag = 1;
        self.clear_tags();
    }

    /// Makes the tags of all states 0.
    pub(super) fn clear_tags(&mut self) {
        self.groups.par_iter_mut().for_each(|group| {
            let slots = group.iter_mut().flat_map(|part| &mut part.slots);
            slots.for_each(|slot| *slot &= !TAG_MOST);
        });
    }

    /// Changes the tag of a state. Returns its former one; `None` if the state is not in the set.
    pub(super) fn replace_tag(&mut self, print: Fingerprint, tag: u64) -> Option<u64> {
        let print = words(print);
        let part = &mut self.groups[table_of(print)][part_of(print)];
        let place = part.place(kept(print));
        let slot = &mut part.slots[place];
        let before = (*slot != 0).then_some(*slot & TAG_MOST)?;
        *slot = *slot & !TAG_MOST | tag;
        Some(before)
    }

    /// Memory in bytes, including what each thread needs temporarily while a table grows.
    pub(super) fn bytes(&self) -> u64 {
        let slots = self.groups.iter().flatten().map(|part| part.slots.capacity());
        let growing = rayon::current_num_threads().min(TABLES);
        let all: usize = slots.sum();
        (size_of::<u64>() * all * (TABLES * PARTS + 2 * growing) / (TABLES * PARTS)) as u64
    }

    pub(super) fn write(&self, out: &mut CheckpointWriter<'_>) -> io::Result<()> {
        out.number(self.tag)?;
        for part in self.groups.iter().flatten() {
            out.number(part.slots.len() as u64)?;
            part.slots.iter().try_for_each(|slot| out.number(*slot))?;
        }
        Ok(())
    }

    pub(super) fn read(input: &mut CheckpointReader) -> io::Result<Self> {
        let mut table = Self { tag: input.number()?, ..Self::new() };
        for part in table.groups.iter_mut().flatten() {
            part.slots = vec![0; input.length(size_of::<u64>() as u64)?];
            for slot in &mut part.slots {
                *slot = input.number()?;
            }
            part.used = part.slots.iter().filter(|slot| **slot != 0).count();
        }
        Ok(table)
    }

    fn part(&self, print: Fingerprint) -> (&Part, u64) {
        let print = words(print);
        (&self.groups[table_of(print)][part_of(print)], kept(print))
    }
}

impl Part {
    fn insert(&mut self, print: u64, tag: u64) -> bool {
        let place = self.place(print);
        if self.slots[place] != 0 {
            return false;
        }
        self.slots[place] = print | tag;
        self.used += 1;
        if self.used * 5 > self.slots.len() * 4 {
            self.grow();
        }
        true
    }

    /// First slot where a fingerprint could be.
    fn home(&self, print: u64) -> usize {
        ((u128::from(print) * self.slots.len() as u128) >> 64) as usize
    }

    /// Slot where a fingerprint is, or would be.
    fn place(&self, print: u64) -> usize {
        let mut place = self.home(print);
        while self.slots[place] != 0 && self.slots[place] & !TAG_MOST != print {
            place = if place + 1 == self.slots.len() { 0 } else { place + 1 };
        }
        place
    }

    fn grow(&mut self) {
        let size = self.slots.len() + self.slots.len() / 4;
        let slots = std::mem::replace(&mut self.slots, vec![0; size]);
        for slot in slots.into_iter().filter(|slot| *slot != 0) {
            let place = self.place(slot & !TAG_MOST);
            self.slots[place] = slot;
        }
    }
}

/// The bits of a fingerprint that its slot holds, in their place.
fn kept(print: [u32; 4]) -> u64 {
    let bits = (u64::from(print[1]) << 32 | u64::from(print[0])) << TAG_BITS;
    bits.max(1 << TAG_BITS)
}

fn part_of(print: [u32; 4]) -> usize {
    print[2] as usize % PARTS
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;
    use crate::fingerprint_of;

    /// Adds these values. Returns the positions of the ones that were there already.
    fn add(table: &mut Table, values: impl Iterator<Item = u32> + Clone) -> Vec<usize> {
        let prints = FingerprintBatch::new(values.map(|value| fingerprint_of(&value)));
        let known = Mutex::new(Vec::new());
        table.add(&[&prints], |_, place| known.lock().expect("no thread panics").push(place));
        let mut known = known.into_inner().expect("no thread panics");
        known.sort_unstable();
        known
    }

    #[test]
    fn added_states_are_found_at_their_depth_and_no_others_are() {
        let mut table = Table::new();
        let known = |table: &Table, value: u32| table.known(fingerprint_of(&value));
        // More depths than there are tags.
        for depth in 0..20 {
            let own = depth * 5_000..(depth + 1) * 5_000;
            assert!(add(&mut table, own.clone()).is_empty());
            assert!(own.clone().all(|value| known(&table, value) == Known::Deeper));
            assert!((0..own.start).all(|value| known(&table, value) == Known::Before));
            assert!((own.end..own.end + 5_000).all(|value| known(&table, value) == Known::No));
            table.next_depth();
        }
        // Tables that are a little too large at the start do not matter any more.
        let each = table.bytes() as f64 / 100_000.0;
        assert!((10.0..14.0).contains(&each), "{each} bytes a state");
    }

    #[test]
    fn the_first_of_several_is_new() {
        let mut table = Table::new();
        assert_eq!(add(&mut table, [7, 8, 7, 7].into_iter()), [2, 3]);
        table.next_depth();
        assert_eq!(add(&mut table, [9, 8, 9].into_iter()), [1, 2]);
    }
}
