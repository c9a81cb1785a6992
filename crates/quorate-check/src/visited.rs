//! The states that have been visited: fingerprints in open tables, and how each was first reached.
//!
//! States are added many at a time. Each table has its share of the fingerprints and goes through its own in order, so
//! that threads do not meet and the first of several equal states is the one that counts, however many threads there are.

use rayon::iter::{IndexedParallelIterator, IntoParallelRefMutIterator, ParallelIterator};

use crate::Fingerprint;

/// A set of fingerprints, each with a number and the way it was reached. Numbers grow with time, and some are not used.
#[derive(Debug)]
pub(crate) struct Visited {
    tables: Vec<Table>,
    /// From which state each was first reached, and by which of its successors.
    parents: Vec<(u32, u16)>,
}

/// Fingerprints, by the table that they belong to, each with its place among those that are added together.
#[derive(Debug)]
pub(crate) struct Sorted([Vec<(u32, Fingerprint)>; TABLES]);

impl Sorted {
    pub(crate) const fn none() -> Self {
        Self([const { Vec::new() }; TABLES])
    }

    pub(crate) fn push(&mut self, place: u32, print: Fingerprint) {
        self.0[table_of(words(print))].push((place, print));
    }
}

/// A power of two, and more than there are threads.
const TABLES: usize = 16;

/// Fingerprints with their numbers.
#[derive(Debug)]
struct Table {
    slots: Vec<Slot>,
    used: usize,
}

/// A fingerprint and its number, in the fewest bytes; all zero where there is none.
#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    print: [u32; 4],
    number: u32,
}

/// A start has no parent.
pub(crate) const START: u32 = u32::MAX;

impl Visited {
    pub(crate) fn new() -> Self {
        let table = |_| Table { slots: vec![Slot::default(); 1 << 10], used: 0 };
        Self { tables: (0..TABLES).map(table).collect(), parents: Vec::new() }
    }

    /// Whether no more states can be numbered.
    pub(crate) fn is_full(&self) -> bool {
        self.parents.len() >= (START - (1 << 24)) as usize
    }

    /// The number that the next state gets.
    pub(crate) fn next_number(&self) -> u32 {
        self.parents.len() as u32
    }

    /// The number of a state, if it is known.
    pub(crate) fn number(&self, print: Fingerprint) -> Option<u32> {
        let print = words(print);
        let table = &self.tables[table_of(print)];
        let slot = &table.slots[table.place(print)];
        (slot.print != EMPTY).then_some(slot.number)
    }

    /// Adds states that come one behind the other, in parts, by how each is reached: they get the next numbers in that
    /// order. Those that are known already are named, each with the number that it has.
    pub(crate) fn add(
        &mut self,
        parts: &[(u32, &Sorted)],
        ways: impl Iterator<Item = (u32, u16)>,
    ) -> Vec<(u32, u32)> {
        let base = self.next_number();
        self.parents.extend(ways);
        let known = self.tables.par_iter_mut().enumerate().map(|(place, table)| {
            let mut known = Vec::new();
            for (offset, sorted) in parts {
                for (index, print) in &sorted.0[place] {
                    let place = offset + index;
                    if let Err(number) = table.insert(words(*print), base + place) {
                        known.push((place, number));
                    }
                }
            }
            known
        });
        known.collect::<Vec<_>>().concat()
    }

    /// Which successor to take from the start on to get to a state.
    pub(crate) fn way_to(&self, mut number: u32) -> (u32, Vec<u16>) {
        let mut way = Vec::new();
        while let (parent, ordinal) = self.parents[number as usize]
            && parent != START
        {
            way.push(ordinal);
            number = parent;
        }
        way.reverse();
        (number, way)
    }

    /// The bytes it takes, and those that it takes for a while as tables grow.
    pub(crate) fn bytes(&self) -> u64 {
        let parents = self.parents.capacity() * size_of::<(u32, u16)>();
        let slots: usize = self.tables.iter().map(|table| table.slots.len()).sum();
        (slots * size_of::<Slot>() * (TABLES + 2) / TABLES + parents) as u64
    }
}

impl Table {
    fn insert(&mut self, print: [u32; 4], number: u32) -> Result<(), u32> {
        let place = self.place(print);
        let slot = &mut self.slots[place];
        if slot.print != EMPTY {
            return Err(slot.number);
        }
        *slot = Slot { print, number };
        self.used += 1;
        if self.used * 3 > self.slots.len() * 2 {
            self.grow();
        }
        Ok(())
    }

    fn place(&self, print: [u32; 4]) -> usize {
        let mask = self.slots.len() - 1;
        let mut place = print[0] as usize & mask;
        while self.slots[place].print != EMPTY && self.slots[place].print != print {
            place = (place + 1) & mask;
        }
        place
    }

    fn grow(&mut self) {
        let size = self.slots.len() * 2;
        let slots = std::mem::replace(&mut self.slots, vec![Slot::default(); size]);
        for slot in slots.into_iter().filter(|slot| slot.print != EMPTY) {
            let place = self.place(slot.print);
            self.slots[place] = slot;
        }
    }
}

const EMPTY: [u32; 4] = [0; 4];

/// A fingerprint in words, never all zero: that marks an empty place.
fn words(print: Fingerprint) -> [u32; 4] {
    [0, 32, 64, 96].map(|bits| (print >> bits) as u32 | u32::from(bits == 96))
}

fn table_of(print: [u32; 4]) -> usize {
    print[2] as usize % TABLES
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fingerprint_of;

    fn sorted(values: impl Iterator<Item = u32>) -> (Sorted, usize) {
        let mut sorted = Sorted::none();
        let mut count = 0;
        for value in values {
            sorted.push(count, fingerprint_of(&value));
            count += 1;
        }
        (sorted, count as usize)
    }

    #[test]
    fn what_was_put_in_is_in_and_nothing_else() {
        let mut visited = Visited::new();
        let (first, count) = sorted(0..50_000);
        assert!(visited.add(&[(0, &first)], vec![(START, 0); count].into_iter()).is_empty());
        assert!((0..50_000_u32).all(|value| visited.number(fingerprint_of(&value)) == Some(value)));
        assert!((50_000..60_000_u32).all(|value| visited.number(fingerprint_of(&value)).is_none()));
    }

    #[test]
    fn the_first_of_several_counts() {
        let mut visited = Visited::new();
        let ((first, count), (second, _)) =
            (sorted([7, 8, 7].into_iter()), sorted([8, 9].into_iter()));
        let ways = vec![(START, 0); 5].into_iter();
        let mut known = visited.add(&[(0, &first), (count as u32, &second)], ways);
        known.sort_unstable();
        assert_eq!(known, [(2, 0), (3, 1)]);
        assert_eq!(visited.number(fingerprint_of(&9_u32)), Some(4));
    }
}
