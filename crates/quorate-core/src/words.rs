//! The words of a bit set: two in place, more on the heap.
//!
//! Most sets have at most 128 members, and algorithms do little else than compare and join them: what is done with two
//! words in place takes a few machine instructions. Beyond them the words are a vector.

use alloc::vec::Vec;
use core::cmp::Ordering;
use core::hash::{Hash, Hasher};

/// As many words as a vector would take anyway.
const INLINE_WORDS: usize = 2;

/// How many bits a word has.
pub(crate) const BITS: usize = u64::BITS as usize;

/// Words of 64 bits each. Equal are those that differ in zeros at the end only.
#[derive(Debug)]
pub(crate) enum Words {
    /// In place; there may be zeros at the end.
    Inline([u64; INLINE_WORDS]),
    /// On the heap; the last one is not zero. Where few are left they stay there, and the memory is used again.
    Heap(Vec<u64>),
}

impl Words {
    /// No word at all.
    pub(crate) const EMPTY: Self = Self::Inline([0; INLINE_WORDS]);

    /// So many bits that are set, and none behind them.
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

    /// These words.
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

    /// All words, perhaps with zeros at the end.
    #[inline]
    pub(crate) fn as_slice(&self) -> &[u64] {
        match self {
            Self::Inline(words) => words,
            Self::Heap(words) => words,
        }
    }

    /// The words up to the last that is not zero.
    #[inline]
    pub(crate) fn trimmed(&self) -> &[u64] {
        match self {
            Self::Inline([0, 0]) => &[],
            Self::Inline(words @ [_, 0]) => &words[..1],
            Self::Inline(words) => words,
            Self::Heap(words) => words,
        }
    }

    /// Whether all are zero.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        match self {
            Self::Inline([first, second]) => first | second == 0,
            Self::Heap(words) => words.is_empty(),
        }
    }

    /// The word at a place; zero where there is none.
    #[inline]
    pub(crate) fn get(&self, index: usize) -> u64 {
        match self {
            Self::Inline(words) => words.get(index).copied().unwrap_or(0),
            Self::Heap(words) => words.get(index).copied().unwrap_or(0),
        }
    }

    /// The word at a place, if there is room for it.
    #[inline]
    pub(crate) fn get_mut(&mut self, index: usize) -> Option<&mut u64> {
        match self {
            Self::Inline(words) => words.get_mut(index),
            Self::Heap(words) => words.get_mut(index),
        }
    }

    /// Sets a bit at a place; tells whether that is news.
    #[inline]
    pub(crate) fn set(&mut self, index: usize, bit: u64) -> bool {
        if let Self::Inline(words) = self
            && let Some(word) = words.get_mut(index)
        {
            return set(word, bit);
        }
        set(&mut self.heap_mut(index + 1)[index], bit)
    }

    /// Makes all zero, keeping the memory.
    #[inline]
    pub(crate) fn clear(&mut self) {
        match self {
            Self::Inline(words) => *words = [0; INLINE_WORDS],
            Self::Heap(words) => words.clear(),
        }
    }

    /// Sets bits that others have.
    #[inline]
    pub(crate) fn unite(&mut self, others: &Self) {
        if let (Self::Inline(mine), Self::Inline(theirs)) = (&mut *self, others) {
            return combine(mine, theirs, |mine, theirs| mine | theirs);
        }
        self.unite_many(others.trimmed());
    }

    /// Clears bits that others do not have.
    #[inline]
    pub(crate) fn intersect(&mut self, others: &Self) {
        match self {
            Self::Inline(mine) => {
                combine(mine, &others.inline_words(), |mine, theirs| mine & theirs)
            }
            Self::Heap(_) => self.intersect_many(others.trimmed()),
        }
    }

    /// Clears bits that others have.
    #[inline]
    pub(crate) fn subtract(&mut self, others: &Self) {
        match self {
            Self::Inline(mine) => {
                combine(mine, &others.inline_words(), |mine, theirs| mine & !theirs)
            }
            Self::Heap(_) => self.subtract_many(others.trimmed()),
        }
    }

    /// The bits that others do not have.
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

    /// Whether all bits are among others.
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

    /// Whether no bit is among others.
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

    /// How many bits are set. Counting takes a while, and most second words are empty.
    #[inline]
    pub(crate) fn count(&self) -> usize {
        match self {
            Self::Inline([first, 0]) => first.count_ones() as usize,
            words => words.as_slice().iter().map(|word| word.count_ones() as usize).sum(),
        }
    }

    /// Drops zeros at the end from the heap.
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

    /// As many words as there would be in place.
    #[inline]
    fn inline_words(&self) -> [u64; INLINE_WORDS] {
        match self {
            Self::Inline(words) => *words,
            Self::Heap(_) => [self.get(0), self.get(1)],
        }
    }

    /// The words on the heap, at least so many; zeros at the end are to be trimmed.
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
