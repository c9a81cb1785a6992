//! The way to every state, in about a byte a state: for each expanded state the number of states first found from it, and
//! their indices among its successors.
//!
//! States are expanded in the order in which they were found. So these numbers determine the parent of each state, and a path
//! is found by reading them backwards, one depth after the other.

use std::io;

use super::checkpoint::{CheckpointReader, CheckpointWriter};

/// Number of new states of each expanded state, and their indices among its successors, for all depths in order.
#[derive(Debug, Default)]
pub(super) struct Trail {
    /// For each depth, the batches of its expanded states.
    depths: Vec<Vec<Box<[u8]>>>,
    bytes: u64,
}

impl Trail {
    /// Begins the next depth.
    pub(super) fn next_depth(&mut self) {
        self.depths.push(Vec::new());
    }

    /// Adds the next batch of the depth.
    pub(super) fn push(&mut self, batch: TrailBatch) {
        let depth = self.depths.last_mut().expect("a depth has begun");
        self.bytes += (batch.nibbles.len() + size_of::<Box<[u8]>>()) as u64;
        depth.push(batch.nibbles.into());
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(super) fn write(&self, out: &mut CheckpointWriter<'_>) -> io::Result<()> {
        out.number(self.depths.len() as u64)?;
        for batches in &self.depths {
            out.number(batches.len() as u64)?;
            batches.iter().try_for_each(|batch| out.bytes(batch))?;
        }
        Ok(())
    }

    pub(super) fn read(input: &mut CheckpointReader) -> io::Result<Self> {
        let mut trail = Self::default();
        for _ in 0..input.number()? {
            trail.next_depth();
            for _ in 0..input.number()? {
                trail.push(TrailBatch { nibbles: input.bytes()?, half: false });
            }
        }
        Ok(trail)
    }

    /// Path to a state, given its depth and its index among the states of that depth: the index of the initial state, and the
    /// index of the successor to take in each step.
    pub(super) fn path_to(&self, depth: u32, index: u64) -> (u64, Vec<u32>) {
        let (mut index, mut path) = (index, Vec::new());
        for batches in self.depths[..depth as usize].iter().rev() {
            let ordinal;
            (index, ordinal) = parent_of(batches, index);
            path.push(ordinal);
        }
        path.reverse();
        (index, path)
    }
}

/// Index of the expanded state from which the state at `index` was found, and its index among the successors.
fn parent_of(batches: &[Box<[u8]>], index: u64) -> (u64, u32) {
    let (mut parent, mut child) = (0, 0);
    for batch in batches {
        let mut reader = Reader { nibbles: batch, next: 0 };
        while let Some(count) = reader.number() {
            for _ in 0..count {
                let ordinal = reader.number().expect("a batch is complete");
                if child == index {
                    return (parent, ordinal);
                }
                child += 1;
            }
            parent += 1;
        }
    }
    panic!("every state has a parent");
}

/// The part of a trail that belongs to one batch of expanded states.
#[derive(Debug, Default)]
pub(super) struct TrailBatch {
    nibbles: Vec<u8>,
    /// Whether the last byte has room for one more.
    half: bool,
}

/// Value of four bits that tells that more follow. It is also what fills up the last byte.
const MORE: u32 = 15;

impl TrailBatch {
    /// Adds an expanded state and the indices of the new states among its successors.
    pub(super) fn push(&mut self, ordinals: &[u32]) {
        self.number(ordinals.len() as u32);
        ordinals.iter().for_each(|ordinal| self.number(*ordinal));
    }

    fn number(&mut self, mut number: u32) {
        while number >= MORE {
            self.nibble(MORE);
            number -= MORE;
        }
        self.nibble(number);
    }

    fn nibble(&mut self, nibble: u32) {
        let nibble = nibble as u8;
        match self.nibbles.last_mut().filter(|_| self.half) {
            Some(last) => *last = *last & 15 | nibble << 4,
            None => self.nibbles.push(nibble | (MORE as u8) << 4),
        }
        self.half = !self.half;
    }
}

struct Reader<'a> {
    nibbles: &'a [u8],
    next: usize,
}

impl Reader<'_> {
    fn number(&mut self) -> Option<u32> {
        let mut number = 0;
        loop {
            let nibble = self.nibbles.get(self.next / 2)? >> (self.next % 2 * 4) & 15;
            self.next += 1;
            number += u32::from(nibble);
            if u32::from(nibble) < MORE {
                return Some(number);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_leads_back_to_the_start() {
        let mut trail = Trail::default();
        // Each state, by its depth, with the indices of the states found from it.
        let depths: [&[&[&[u32]]]; 3] =
            [&[&[&[0, 2], &[16]]], &[&[&[]], &[&[1], &[0, 31, 15]]], &[&[&[], &[4]], &[&[], &[7]]]];
        for batches in depths {
            trail.next_depth();
            for batch in batches {
                let mut own = TrailBatch::default();
                batch.iter().for_each(|ordinals| own.push(ordinals));
                trail.push(own);
            }
        }
        assert_eq!(trail.path_to(0, 1), (1, vec![]));
        assert_eq!(trail.path_to(1, 2), (1, vec![16]));
        assert_eq!(trail.path_to(2, 0), (0, vec![2, 1]));
        assert_eq!(trail.path_to(3, 0), (1, vec![16, 0, 4]));
        assert_eq!(trail.path_to(3, 1), (1, vec![16, 15, 7]));
    }
}
