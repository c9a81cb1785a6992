//! The states that have been visited: fingerprints in an open table, and how each was first reached.

use crate::Fingerprint;

/// A set of fingerprints, each with a number from 0 on and the way it was reached.
#[derive(Debug)]
pub(crate) struct Visited {
    /// Fingerprints at their places, zero where there is none.
    table: Vec<Fingerprint>,
    /// The numbers of the fingerprints at the same places.
    numbers: Vec<u32>,
    /// From which state each was first reached, and by which of its successors.
    parents: Vec<(u32, u16)>,
}

/// A start has no parent.
pub(crate) const START: u32 = u32::MAX;

impl Visited {
    pub(crate) fn new() -> Self {
        Self { table: vec![0; 1 << 12], numbers: vec![0; 1 << 12], parents: Vec::new() }
    }

    /// Whether no more states can be numbered.
    pub(crate) fn is_full(&self) -> bool {
        self.parents.len() >= START as usize
    }

    pub(crate) fn number(&self, print: Fingerprint) -> Option<u32> {
        let place = self.place(print);
        (self.table[place] != 0).then(|| self.numbers[place])
    }

    /// Adds a state; its number if it is new, else the number that it has.
    pub(crate) fn insert(
        &mut self,
        print: Fingerprint,
        parent: u32,
        ordinal: u16,
    ) -> Result<u32, u32> {
        let place = self.place(print);
        if self.table[place] != 0 {
            return Err(self.numbers[place]);
        }
        let number = self.parents.len() as u32;
        self.table[place] = odd(print);
        self.numbers[place] = number;
        self.parents.push((parent, ordinal));
        if self.parents.len() * 3 > self.table.len() * 2 {
            self.grow();
        }
        Ok(number)
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

    /// The bytes it takes.
    pub(crate) fn bytes(&self) -> u64 {
        let slot = size_of::<Fingerprint>() + size_of::<u32>();
        (self.table.len() * slot + self.parents.capacity() * size_of::<(u32, u16)>()) as u64
    }

    /// The bytes it takes just after it has grown the next time, old table included.
    pub(crate) fn bytes_when_grown(&self) -> u64 {
        let grows = (self.parents.len() + (1 << 16)) * 3 > self.table.len() * 2;
        self.bytes() * if grows { 3 } else { 1 }
    }

    fn place(&self, print: Fingerprint) -> usize {
        let (print, mask) = (odd(print), self.table.len() - 1);
        let mut place = (print >> 64) as usize & mask;
        while self.table[place] != 0 && self.table[place] != print {
            place = (place + 1) & mask;
        }
        place
    }

    fn grow(&mut self) {
        let size = self.table.len() * 2;
        let table = std::mem::replace(&mut self.table, vec![0; size]);
        let numbers = std::mem::replace(&mut self.numbers, vec![0; size]);
        for (print, number) in table.into_iter().zip(numbers).filter(|(print, _)| *print != 0) {
            let place = self.place(print);
            self.table[place] = print;
            self.numbers[place] = number;
        }
    }
}

/// Zero marks an empty place, so no fingerprint may be zero.
fn odd(print: Fingerprint) -> Fingerprint {
    print | 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fingerprint_of;

    #[test]
    fn what_was_put_in_is_in_and_nothing_else() {
        let mut visited = Visited::new();
        for value in 0..50_000_u32 {
            assert_eq!(visited.insert(fingerprint_of(&value), START, 0), Ok(value));
        }
        assert_eq!(visited.insert(fingerprint_of(&7_u32), START, 0), Err(7));
        assert!((0..50_000_u32).all(|value| visited.number(fingerprint_of(&value)) == Some(value)));
        assert!((50_000..60_000_u32).all(|value| visited.number(fingerprint_of(&value)).is_none()));
    }
}
