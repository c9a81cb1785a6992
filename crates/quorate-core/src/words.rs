//! The words of a bit set: two in place, more on the heap.
//!
//! Most sets have at most 128 members, and algorithms do little else than compare and join them: what is done with two
//! words in place takes a few machine instructions. Beyond them the words are a vector.

use alloc::vec::Vec;
use core::cmp::Ordering;
use core::hash::{Hash, Hasher};

/// As many words as a vector would take anyway.
const IN_PLACE: usize = 2;

/// How many bits a word has.
pub(crate) const BITS: usize = u64::BITS as usize;

/// Words of 64 bits each. Equal are those that differ in zeros at the end only.
#[derive(Debug)]
pub(crate) enum Words {
    /// In place; there may be zeros at the end.
    Few([u64; IN_PLACE]),
    /// On the heap; the last one is not zero. Where few are left they stay there, and the memory is used again.
    Many(Vec<u64>),
}

impl Words {
    /// No word at all.
    pub(crate) const NONE: Self = Self::Few([0; IN_PLACE]);

    /// So many bits that are set, and none behind them.
    pub(crate) fn ones(bits: usize) -> Self {
        let word = |place: usize| match bits.saturating_sub(place * BITS) {
            left @ 0..BITS => (1 << left) - 1,
            _ => u64::MAX,
        };
        match bits.div_ceil(BITS) {
            0..=IN_PLACE => Self::Few([word(0), word(1)]),
            many => Self::Many((0..many).map(word).collect()),
        }
    }

    /// These words.
    pub(crate) fn new(words: &[u64]) -> Self {
        match *words {
            [] => Self::NONE,
            [first] => Self::Few([first, 0]),
            [first, second] => Self::Few([first, second]),
            _ => {
                let mut words = Self::Many(words.to_vec());
                words.trim();
                words
            }
        }
    }

    /// All words, perhaps with zeros at the end.
    #[inline]
    pub(crate) fn as_slice(&self) -> &[u64] {
        match self {
            Self::Few(words) => words,
            Self::Many(words) => words,
        }
    }

    /// The words up to the last that is not zero.
    #[inline]
    pub(crate) fn trimmed(&self) -> &[u64] {
        match self {
            Self::Few([0, 0]) => &[],
            Self::Few(words @ [_, 0]) => &words[..1],
            Self::Few(words) => words,
            Self::Many(words) => words,
        }
    }

    /// Whether all are zero.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        match self {
            Self::Few([first, second]) => first | second == 0,
            Self::Many(words) => words.is_empty(),
        }
    }

    /// The word at a place; zero where there is none.
    #[inline]
    pub(crate) fn get(&self, place: usize) -> u64 {
        match self {
            Self::Few(words) => words.get(place).copied().unwrap_or(0),
            Self::Many(words) => words.get(place).copied().unwrap_or(0),
        }
    }

    /// The word at a place, if there is room for it.
    #[inline]
    pub(crate) fn get_mut(&mut self, place: usize) -> Option<&mut u64> {
        match self {
            Self::Few(words) => words.get_mut(place),
            Self::Many(words) => words.get_mut(place),
        }
    }

    /// Sets a bit at a place; tells whether that is news.
    #[inline]
    pub(crate) fn set(&mut self, place: usize, bit: u64) -> bool {
        if let Self::Few(words) = self
            && let Some(word) = words.get_mut(place)
        {
            return set(word, bit);
        }
        set(&mut self.many(place + 1)[place], bit)
    }

    /// Makes all zero, keeping the memory.
    #[inline]
    pub(crate) fn clear(&mut self) {
        match self {
            Self::Few(words) => *words = [0; IN_PLACE],
            Self::Many(words) => words.clear(),
        }
    }

    /// Sets bits that others have.
    #[inline]
    pub(crate) fn unite(&mut self, others: &Self) {
        if let (Self::Few(mine), Self::Few(theirs)) = (&mut *self, others) {
            return change(mine, theirs, |mine, theirs| mine | theirs);
        }
        self.unite_many(others.trimmed());
    }

    /// Clears bits that others do not have.
    #[inline]
    pub(crate) fn intersect(&mut self, others: &Self) {
        match self {
            Self::Few(mine) => change(mine, &others.front(), |mine, theirs| mine & theirs),
            Self::Many(_) => self.intersect_many(others.trimmed()),
        }
    }

    /// Clears bits that others have.
    #[inline]
    pub(crate) fn subtract(&mut self, others: &Self) {
        match self {
            Self::Few(mine) => change(mine, &others.front(), |mine, theirs| mine & !theirs),
            Self::Many(_) => self.subtract_many(others.trimmed()),
        }
    }

    /// The bits that others do not have.
    #[inline]
    pub(crate) fn without(&self, others: &Self) -> Self {
        match self {
            Self::Few(mine) => {
                let theirs = others.front();
                Self::Few([mine[0] & !theirs[0], mine[1] & !theirs[1]])
            }
            Self::Many(_) => {
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
            Self::Few(mine) => {
                let theirs = others.front();
                mine[0] & !theirs[0] == 0 && mine[1] & !theirs[1] == 0
            }
            Self::Many(mine) => {
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
            Self::Few(mine) => {
                let theirs = others.front();
                mine[0] & theirs[0] == 0 && mine[1] & theirs[1] == 0
            }
            Self::Many(mine) => {
                let theirs = others.as_slice();
                mine.iter().zip(theirs).all(|(mine, theirs)| mine & theirs == 0)
            }
        }
    }

    /// How many bits are set. Counting takes a while, and most second words are empty.
    #[inline]
    pub(crate) fn count(&self) -> usize {
        match self {
            Self::Few([first, 0]) => first.count_ones() as usize,
            words => words.as_slice().iter().map(|word| word.count_ones() as usize).sum(),
        }
    }

    /// Drops zeros at the end from the heap.
    #[inline]
    pub(crate) fn trim(&mut self) {
        if let Self::Many(words) = self {
            while words.last() == Some(&0) {
                words.pop();
            }
        }
    }

    #[inline(never)]
    fn unite_many(&mut self, others: &[u64]) {
        let mine = self.many(others.len());
        mine.iter_mut().zip(others).for_each(|(mine, theirs)| *mine |= theirs);
        self.trim();
    }

    #[inline(never)]
    fn intersect_many(&mut self, others: &[u64]) {
        let mine = self.many(0);
        mine.truncate(others.len());
        mine.iter_mut().zip(others).for_each(|(mine, theirs)| *mine &= theirs);
        self.trim();
    }

    #[inline(never)]
    fn subtract_many(&mut self, others: &[u64]) {
        self.many(0).iter_mut().zip(others).for_each(|(mine, theirs)| *mine &= !theirs);
        self.trim();
    }

    /// As many words as there would be in place.
    #[inline]
    fn front(&self) -> [u64; IN_PLACE] {
        match self {
            Self::Few(words) => *words,
            Self::Many(_) => [self.get(0), self.get(1)],
        }
    }

    /// The words on the heap, at least so many; zeros at the end are to be trimmed.
    #[inline(never)]
    fn many(&mut self, len: usize) -> &mut Vec<u64> {
        if let Self::Few(_) = self {
            *self = Self::Many(self.trimmed().to_vec());
        }
        let Self::Many(words) = self else { unreachable!("they have just been moved") };
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
fn change(mine: &mut [u64; IN_PLACE], theirs: &[u64; IN_PLACE], by: impl Fn(u64, u64) -> u64) {
    *mine = [by(mine[0], theirs[0]), by(mine[1], theirs[1])];
}

impl Clone for Words {
    #[inline]
    fn clone(&self) -> Self {
        match self {
            Self::Few(words) => Self::Few(*words),
            Self::Many(words) => Self::new(words),
        }
    }

    #[inline]
    fn clone_from(&mut self, other: &Self) {
        match (self, other) {
            (Self::Many(mine), theirs) => {
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
            (Self::Few(mine), Self::Few(theirs)) => mine == theirs,
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
