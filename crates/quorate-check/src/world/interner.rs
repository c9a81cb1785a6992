//! Interner: stores each value once under a number. Any thread can read values without a lock.

use std::collections::BTreeMap;
use std::sync::{Mutex, OnceLock};

use crate::Fingerprint;

/// Capacity of the first chunk. Each further chunk is twice as large as the one before.
const FIRST: u32 = 1 << 10;

/// Number of chunks: enough for almost 2^32 values.
const CHUNKS: usize = 22;

/// Values by number. Numbers depend on the scheduling of threads, so no reported result may depend on them.
#[derive(Debug)]
pub(super) struct Interner<T> {
    chunks: [OnceLock<Box<[OnceLock<T>]>>; CHUNKS],
    numbers: Mutex<Numbers>,
}

#[derive(Debug, Default)]
struct Numbers {
    known: BTreeMap<Fingerprint, u32>,
    next: u32,
}

impl<T> Default for Interner<T> {
    fn default() -> Self {
        Self { chunks: [const { OnceLock::new() }; CHUNKS], numbers: Mutex::default() }
    }
}

impl<T> Interner<T> {
    /// Returns the value with a number that this interner has assigned.
    pub(super) fn get(&self, number: u32) -> &T {
        let (chunk, index) = location_of(number);
        let value = self.chunks[chunk].get().and_then(|chunk| chunk[index].get());
        value.expect("a number is given only to a stored value")
    }

    /// Returns the number of the value with this fingerprint. The value is made and stored if it is new.
    pub(super) fn intern(&self, print: Fingerprint, make: impl FnOnce() -> T) -> u32 {
        let mut numbers = self.numbers.lock().expect("no thread panics while it holds the lock");
        if let Some(number) = numbers.known.get(&print) {
            if !self.has(*number) {
                self.set(*number, make());
            }
            return *number;
        }
        let number = self.insert(&mut numbers, make());
        numbers.known.insert(print, number);
        number
    }

    /// Stores a value that is looked up only by its number.
    pub(super) fn push(&self, value: T) -> u32 {
        self.insert(
            &mut self.numbers.lock().expect("no thread panics while it holds the lock"),
            value,
        )
    }

    fn insert(&self, numbers: &mut Numbers, value: T) -> u32 {
        let number = numbers.next;
        numbers.next += 1;
        self.set(number, value);
        number
    }

    /// Whether the value with this number is stored. If not, the number may be reserved.
    pub(super) fn has(&self, number: u32) -> bool {
        let (chunk, index) = location_of(number);
        self.chunks[chunk].get().is_some_and(|chunk| chunk[index].get().is_some())
    }

    /// Fingerprints of all interned values, by number.
    pub(super) fn prints(&self) -> Vec<Fingerprint> {
        let numbers = self.numbers.lock().expect("no thread panics while it holds the lock");
        let mut prints = vec![0; numbers.known.len()];
        numbers.known.iter().for_each(|(print, number)| prints[*number as usize] = *print);
        prints
    }

    /// Reserves the numbers from 0 on for values with these fingerprints. Nothing may be stored yet.
    pub(super) fn reserve(&self, prints: &[Fingerprint]) {
        let mut numbers = self.numbers.lock().expect("no thread panics while it holds the lock");
        assert_eq!(numbers.next, 0, "numbers are reserved first");
        numbers.known = prints.iter().copied().zip(0..).collect();
        numbers.next = prints.len() as u32;
    }

    fn set(&self, number: u32, value: T) {
        let (chunk, index) = location_of(number);
        let size = (FIRST as usize) << chunk;
        let room = || (0..size).map(|_| OnceLock::new()).collect();
        let chunk = self.chunks[chunk].get_or_init(room);
        assert!(chunk[index].set(value).is_ok(), "numbers are given once");
    }
}

fn location_of(number: u32) -> (usize, usize) {
    let chunk = (number / FIRST + 1).ilog2();
    let before = FIRST * ((1 << chunk) - 1);
    (chunk as usize, (number - before) as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_put_there_is_found_by_its_number() {
        let interner = Interner::default();
        let numbers: Vec<u32> = (0..10_000_u32).map(|value| interner.push(value)).collect();
        assert_eq!(numbers, (0..10_000).collect::<Vec<_>>());
        assert!(numbers.iter().all(|number| interner.get(*number) == number));
    }

    #[test]
    fn the_same_thing_gets_the_same_number() {
        let interner = Interner::default();
        let first = interner.intern(7, || "seven");
        assert_eq!(interner.intern(8, || "eight"), first + 1);
        assert_eq!(interner.intern(7, || unreachable!("it is there")), first);
        assert_eq!(interner.get(first), &"seven");
    }

    #[test]
    fn reserved_numbers_are_given_to_their_values() {
        let interner = Interner::default();
        interner.reserve(&[7, 8, 9]);
        assert!(!interner.has(1));
        assert_eq!(interner.intern(8, || "eight"), 1);
        assert_eq!(interner.intern(8, || unreachable!("it is there")), 1);
        assert_eq!(interner.intern(5, || "five"), 3);
        assert!(interner.has(1) && interner.has(3) && !interner.has(0));
        assert_eq!((interner.get(1), interner.prints()), (&"eight", vec![7, 8, 9, 5]));
    }
}
