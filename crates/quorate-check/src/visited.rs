//! Set of visited states: fingerprints in hash tables with open addressing, and the step by which
//! each state was first reached.
//!
//! States are added in batches. Each table owns a share of the fingerprints and inserts them in order. So threads do not
//! contend, and the first of several equal states counts, whatever the number of threads.

use rayon::iter::{IndexedParallelIterator, IntoParallelRefMutIterator, ParallelIterator};

use crate::Fingerprint;

/// A set of fingerprints, each with a number and the step by which it was reached. Numbers increase over
/// time, and some are unused.
#[derive(Debug)]
pub(crate) struct Visited {
    tables: Vec<Table>,
    /// Parent from which each state was first reached, and the index among the parent's successors.
    parents: Vec<(u32, u16)>,
}

/// Fingerprints grouped by table, each with its position among those added together.
#[derive(Debug)]
pub(crate) struct FingerprintBatch {
    prints: Vec<(u32, [u32; 4])>,
    /// End of each table's range.
    ends: [u32; TABLES],
}

impl FingerprintBatch {
    /// Groups fingerprints that are given in the order of their positions.
    pub(crate) fn new(prints: impl Iterator<Item = Fingerprint> + Clone) -> Self {
        let mut ends = [0; TABLES];
        prints.clone().for_each(|print| ends[table_of(words(print))] += 1);
        let (mut next, mut count) = ([0; TABLES], 0);
        for (next, end) in next.iter_mut().zip(&mut ends) {
            (*next, count) = (count, count + *end);
            *end = count;
        }
        let mut sorted = vec![(0, EMPTY); count as usize];
        for (place, print) in (0..).zip(prints.map(words)) {
            let next = &mut next[table_of(print)];
            sorted[*next as usize] = (place, print);
            *next += 1;
        }
        Self { prints: sorted, ends }
    }

    pub(crate) fn len(&self) -> usize {
        self.prints.len()
    }

    pub(crate) fn of_table(&self, table: usize) -> &[(u32, [u32; 4])] {
        let start = if table == 0 { 0 } else { self.ends[table - 1] };
        &self.prints[start as usize..self.ends[table] as usize]
    }
}

/// Number of tables, a power of two. It limits how many threads can insert in parallel.
pub(crate) const TABLES: usize = 16;

/// Hash table of fingerprints and their numbers.
#[derive(Debug)]
struct Table {
    slots: Vec<Slot>,
    used: usize,
}

/// Three words of a fingerprint, and its number plus one. The fourth word of the fingerprint selects the table. An empty
/// slot is all zero. Sixteen bytes never span two cache lines.
type Slot = [u32; 4];

/// Number of slots read before anything depends on their content. Memory is slow, and the processor fetches several cache
/// lines in parallel if there are no branches to predict in between.
pub(crate) const AHEAD: usize = 32;

/// Parent of an initial state.
pub(crate) const START: u32 = u32::MAX;

impl Visited {
    pub(crate) fn new() -> Self {
        let table = |_| Table { slots: vec![EMPTY; 1 << 10], used: 0 };
        Self { tables: (0..TABLES).map(table).collect(), parents: Vec::new() }
    }

    /// Whether no more states can be numbered.
    pub(crate) fn is_full(&self) -> bool {
        self.parents.len() >= (START - (1 << 24)) as usize
    }

    /// Number that the next state gets.
    pub(crate) fn next_number(&self) -> u32 {
        self.parents.len() as u32
    }

    /// Number of a state, if it was visited.
    pub(crate) fn number(&self, print: Fingerprint) -> Option<u32> {
        let print = words(print);
        let table = &self.tables[table_of(print)];
        table.slots[table.place(print)][3].checked_sub(1)
    }

    /// Numbers of many states, looked up together.
    pub(crate) fn numbers(&self, prints: &[Fingerprint]) -> Vec<Option<u32>> {
        let mut numbers = Vec::with_capacity(prints.len());
        for some in prints.chunks(AHEAD) {
            let touched = some.iter().fold(0, |all, print| {
                let print = words(*print);
                all ^ self.tables[table_of(print)].touch(print)
            });
            std::hint::black_box(touched);
            numbers.extend(some.iter().map(|print| self.number(*print)));
        }
        numbers
    }

    /// Adds states in consecutive batches, each with the position of its first state. States get the next numbers in
    /// that order; `origins` tells how each was reached. Returns the position of each state that was visited before, and
    /// the number that it has.
    pub(crate) fn add(
        &mut self,
        parts: &[(u32, &FingerprintBatch)],
        origins: impl Iterator<Item = (u32, u16)>,
    ) -> Vec<(u32, u32)> {
        let base = self.next_number();
        self.parents.extend(origins);
        let known = self.tables.par_iter_mut().enumerate().map(|(place, table)| {
            let mut known = Vec::new();
            for (offset, sorted) in parts {
                for some in sorted.of_table(place).chunks(AHEAD) {
                    let touched = some.iter().fold(0, |all, (_, print)| all ^ table.touch(*print));
                    std::hint::black_box(touched);
                    for (index, print) in some {
                        let place = offset + index;
                        if let Err(number) = table.insert(*print, base + place) {
                            known.push((place, number));
                        }
                    }
                }
            }
            known
        });
        known.collect::<Vec<_>>().concat()
    }

    /// Initial state, and the index of the successor to take in each step, on the path to a state.
    pub(crate) fn path_to(&self, mut number: u32) -> (u32, Vec<u16>) {
        let mut path = Vec::new();
        while let (parent, ordinal) = self.parents[number as usize]
            && parent != START
        {
            path.push(ordinal);
            number = parent;
        }
        path.reverse();
        (number, path)
    }

    /// Memory in bytes, including what is needed temporarily while a table grows.
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
        if let Some(number) = slot[3].checked_sub(1) {
            return Err(number);
        }
        *slot = [print[0], print[1], print[2], number + 1];
        self.used += 1;
        if self.used * 3 > self.slots.len() * 2 {
            self.grow();
        }
        Ok(())
    }

    /// Reads the first slot where a fingerprint could be.
    fn touch(&self, print: [u32; 4]) -> u32 {
        self.slots[print[0] as usize & (self.slots.len() - 1)][3]
    }

    /// Slot where a fingerprint is, or would be.
    fn place(&self, print: [u32; 4]) -> usize {
        let mask = self.slots.len() - 1;
        let mut place = print[0] as usize & mask;
        while self.slots[place][3] != 0 && self.slots[place][..3] != print[..3] {
            place = (place + 1) & mask;
        }
        place
    }

    fn grow(&mut self) {
        let size = self.slots.len() * 2;
        let slots = std::mem::replace(&mut self.slots, vec![EMPTY; size]);
        for slot in slots.into_iter().filter(|slot| slot[3] != 0) {
            let place = self.place(slot);
            self.slots[place] = slot;
        }
    }
}

const EMPTY: Slot = [0; 4];

pub(crate) fn words(print: Fingerprint) -> [u32; 4] {
    [0, 32, 64, 96].map(|bits| (print >> bits) as u32)
}

pub(crate) fn table_of(print: [u32; 4]) -> usize {
    print[3] as usize % TABLES
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fingerprint_of;

    fn sorted(values: impl Iterator<Item = u32> + Clone) -> (FingerprintBatch, usize) {
        let count = values.clone().count();
        (FingerprintBatch::new(values.map(|value| fingerprint_of(&value))), count)
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
        let origins = vec![(START, 0); 5].into_iter();
        let mut known = visited.add(&[(0, &first), (count as u32, &second)], origins);
        known.sort_unstable();
        assert_eq!(known, [(2, 0), (3, 1)]);
        assert_eq!(visited.number(fingerprint_of(&9_u32)), Some(4));
    }
}
