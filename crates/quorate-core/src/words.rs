//! The words of a bit set: two are stored inline, more on the heap.
//!
//! Most sets have at most 128 members, and algorithms mostly compare and combine them. With two inline words this takes
//! a few machine instructions. Larger sets store their words in a vector.

use alloc::vec::Vec;
use core::cmp::Ordering;
use core::hash::{Hash, Hasher};

/// The inline words take no more space than a vector would.
const INLINE_WORDS: usize = 2;

/// Number of bits of a word.
pub(crate) const BITS: usize = u64::BITS as usize;

/// Words of 64 bits each. Two values are equal if they differ only in trailing zeros.
#[derive(Debug)]
pub(crate) enum Words {
    /// Stored inline, possibly with trailing zeros.
    Inline([u64; INLINE_WORDS]),
    /// Stored on the heap; the last word is not zero. A set that shrinks stays on the heap and reuses the memory.
    Heap(Vec<u64>),
}

impl Words {
    /// The words of an empty set.
    pub(crate) const EMPTY: Self = Self::Inline([0; INLINE_WORDS]);

    /// The first `bits` bits are set, all others are clear.
    pub(crate) fn ones(bits: usize) -> Self {
        let word = |index: usize| match bits.saturating_sub(index * BITS) {
            left @ 0..BITS => (1 << left) - 1,
            _ => u64::MAX,
        };
        match bits.div_ceil(BITS) {
            0..=INLINE_WORDS => Self::Inline([word(0), word(1)]),
            count => Self::Heap((0..count).map(word).collect()),
        }
    }

    /// Creates the value from a slice, which may end in zeros.
    pub(crate) fn new(words: &[u64]) -> Self {
        match *words {
            [] => Self::EMPTY,
            [first] => Self::Inline([first, 0]),
            [first, second] => Self::Inline([first, second]),
            _ => {
                let mut words = Self::Heap(words.to_vec());
                words.trim();
                words
            }
        }
    }

    /// All words, possibly with trailing zeros.
    #[inline]
    pub(crate) fn as_slice(&self) -> &[u64] {
        match self {
            Self::Inline(words) => words,
            Self::Heap(words) => words,
        }
    }

    /// The words up to the last one that is not zero.
    #[inline]
    pub(crate) fn trimmed(&self) -> &[u64] {
        match self {
            Self::Inline([0, 0]) => &[],
            Self::Inline(words @ [_, 0]) => &words[..1],
            Self::Inline(words) => words,
            Self::Heap(words) => words,
        }
    }

    /// Returns `true` if all words are zero.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        match self {
            Self::Inline([first, second]) => first | second == 0,
            Self::Heap(words) => words.is_empty(),
        }
    }

    /// The word at this index, or zero beyond the end.
    #[inline]
    pub(crate) fn get(&self, index: usize) -> u64 {
        match self {
            Self::Inline(words) => words.get(index).copied().unwrap_or(0),
            Self::Heap(words) => words.get(index).copied().unwrap_or(0),
        }
    }

    /// The word at this index, if it is stored.
    #[inline]
    pub(crate) fn get_mut(&mut self, index: usize) -> Option<&mut u64> {
        match self {
            Self::Inline(words) => words.get_mut(index),
            Self::Heap(words) => words.get_mut(index),
        }
    }

    /// Sets a bit of the word at this index. Returns `true` if the bit was clear before.
    #[inline]
    pub(crate) fn set(&mut self, index: usize, bit: u64) -> bool {
        if let Self::Inline(words) = self
            && let Some(word) = words.get_mut(index)
        {
            return set(word, bit);
        }
        set(&mut self.heap_mut(index + 1)[index], bit)
    }

    /// Clears all bits and keeps the allocated memory.
    #[inline]
    pub(crate) fn clear(&mut self) {
        match self {
            Self::Inline(words) => *words = [0; INLINE_WORDS],
            Self::Heap(words) => words.clear(),
        }
    }

    /// Sets all bits that are set in `others`.
    #[inline]
    pub(crate) fn unite(&mut self, others: &Self) {
        if let (Self::Inline(mine), Self::Inline(theirs)) = (&mut *self, others) {
            return combine(mine, theirs, |mine, theirs| mine | theirs);
        }
        self.unite_many(others.trimmed());
    }

    /// Clears all bits that are not set in `others`.
    #[inline]
    pub(crate) fn intersect(&mut self, others: &Self) {
        match self {
            Self::Inline(mine) => {
                combine(mine, &others.inline_words(), |mine, theirs| mine & theirs)
            }
            Self::Heap(_) => self.intersect_many(others.trimmed()),
        }
    }

    /// Clears all bits that are set in `others`.
    #[inline]
    pub(crate) fn subtract(&mut self, others: &Self) {
        match self {
            Self::Inline(mine) => {
                combine(mine, &others.inline_words(), |mine, theirs| mine & !theirs)
            }
            Self::Heap(_) => self.subtract_many(others.trimmed()),
        }
    }

    /// Returns the bits that are not set in `others`.
    #[inline]
    pub(crate) fn without(&self, others: &Self) -> Self {
        match self {
            Self::Inline(mine) => {
                let theirs = others.inline_words();
                Self::Inline([mine[0] & !theirs[0], mine[1] & !theirs[1]])
            }
            Self::Heap(_) => {
                let mut left = self.clone();
                left.subtract(others);
                left
            }
        }
    }

    /// Returns `true` if all bits are also set in `others`.
    #[inline]
    pub(crate) fn is_subset(&self, others: &Self) -> bool {
        match self {
            Self::Inline(mine) => {
                let theirs = others.inline_words();
                mine[0] & !theirs[0] == 0 && mine[1] & !theirs[1] == 0
            }
            Self::Heap(mine) => {
                let theirs = others.trimmed();
                mine.len() <= theirs.len()
                    && mine.iter().zip(theirs).all(|(mine, theirs)| mine & !theirs == 0)
            }
        }
    }

    /// Returns `true` if no bit is also set in `others`.
    #[inline]
    pub(crate) fn is_disjoint(&self, others: &Self) -> bool {
        match self {
            Self::Inline(mine) => {
                let theirs = others.inline_words();
                mine[0] & theirs[0] == 0 && mine[1] & theirs[1] == 0
            }
            Self::Heap(mine) => {
                let theirs = others.as_slice();
                mine.iter().zip(theirs).all(|(mine, theirs)| mine & theirs == 0)
            }
        }
    }

    /// Number of bits that are set. The first arm is a fast path: counting is slow and most second words are empty.
    #[inline]
    pub(crate) fn count(&self) -> usize {
        match self {
            Self::Inline([first, 0]) => first.count_ones() as usize,
            words => words.as_slice().iter().map(|word| word.count_ones() as usize).sum(),
        }
    }

    /// Removes trailing zeros on the heap.
    #[inline]
    pub(crate) fn trim(&mut self) {
        if let Self::Heap(words) = self {
            while words.last() == Some(&0) {
                words.pop();
            }
        }
    }

    #[inline(never)]
    fn unite_many(&mut self, others: &[u64]) {
        let mine = self.heap_mut(others.len());
        mine.iter_mut().zip(others).for_each(|(mine, theirs)| *mine |= theirs);
        self.trim();
    }

    #[inline(never)]
    fn intersect_many(&mut self, others: &[u64]) {
        let mine = self.heap_mut(0);
        mine.truncate(others.len());
        mine.iter_mut().zip(others).for_each(|(mine, theirs)| *mine &= theirs);
        self.trim();
    }

    #[inline(never)]
    fn subtract_many(&mut self, others: &[u64]) {
        self.heap_mut(0).iter_mut().zip(others).for_each(|(mine, theirs)| *mine &= !theirs);
        self.trim();
    }

    /// The first two words, as they would be stored inline.
    #[inline]
    fn inline_words(&self) -> [u64; INLINE_WORDS] {
        match self {
            Self::Inline(words) => *words,
            Self::Heap(_) => [self.get(0), self.get(1)],
        }
    }

    /// The words on the heap, at least `len` of them. The caller has to trim trailing zeros.
    #[inline(never)]
    fn heap_mut(&mut self, len: usize) -> &mut Vec<u64> {
        if let Self::Inline(_) = self {
            *self = Self::Heap(self.trimmed().to_vec());
        }
        let Self::Heap(words) = self else { unreachable!("they have just been moved") };
        if words.len() < len {
            words.resize(len, 0);
        }
        words
    }
}

#[inline]
fn set(word: &mut u64, bit: u64) -> bool {
    let is_news = *word & bit == 0;
    *word |= bit;
    is_news
}

#[inline]
fn combine(
    mine: &mut [u64; INLINE_WORDS],
    theirs: &[u64; INLINE_WORDS],
    by: impl Fn(u64, u64) -> u64,
) {
    *mine = [by(mine[0], theirs[0]), by(mine[1], theirs[1])];
}

impl Clone for Words {
    #[inline]
    fn clone(&self) -> Self {
        match self {
            Self::Inline(words) => Self::Inline(*words),
            Self::Heap(words) => Self::new(words),
        }
    }

    #[inline]
    fn clone_from(&mut self, other: &Self) {
        match (self, other) {
            (Self::Heap(mine), theirs) => {
                mine.clear();
                mine.extend_from_slice(theirs.trimmed());
            }
            (mine, theirs) => *mine = theirs.clone(),
        }
    }
}

impl PartialEq for Words {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Inline(mine), Self::Inline(theirs)) => mine == theirs,
            _ => self.trimmed() == other.trimmed(),
        }
    }
}

impl Eq for Words {}

impl PartialOrd for Words {
    #[inline]
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Words {
    fn cmp(&self, other: &Self) -> Ordering {
        self.trimmed().cmp(other.trimmed())
    }
}

impl Hash for Words {
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.trimmed().hash(state);
    }
}
