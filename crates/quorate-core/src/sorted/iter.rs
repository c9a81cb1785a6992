//! Iterators over sorted chunks: what is left of the first chunk, whole chunks, and what is left of the last one.

use alloc::vec::{self, Vec};
use core::slice;

/// Iterator over the entries of a map.
pub struct Iter<'a, K, V> {
    len: usize,
    front: slice::Iter<'a, (K, V)>,
    between: slice::Iter<'a, Vec<(K, V)>>,
    back: slice::Iter<'a, (K, V)>,
}

impl<'a, K, V> Iter<'a, K, V> {
    pub(super) fn new(
        len: usize,
        front: &'a [(K, V)],
        between: &'a [Vec<(K, V)>],
        back: &'a [(K, V)],
    ) -> Self {
        Self { len, front: front.iter(), between: between.iter(), back: back.iter() }
    }
}

impl<K, V> Clone for Iter<'_, K, V> {
    fn clone(&self) -> Self {
        let Self { len, front, between, back } = self;
        Self { len: *len, front: front.clone(), between: between.clone(), back: back.clone() }
    }
}

/// Iterator over the entries of a map, with mutable values.
pub struct IterMut<'a, K, V> {
    len: usize,
    front: slice::IterMut<'a, (K, V)>,
    between: slice::IterMut<'a, Vec<(K, V)>>,
    back: slice::IterMut<'a, (K, V)>,
}

impl<'a, K, V> IterMut<'a, K, V> {
    pub(super) fn new(len: usize, front: &'a mut [(K, V)], between: &'a mut [Vec<(K, V)>]) -> Self {
        Self { len, front: front.iter_mut(), between: between.iter_mut(), back: [].iter_mut() }
    }
}

/// Iterator that takes the entries of a map.
pub struct IntoIter<K, V> {
    len: usize,
    front: vec::IntoIter<(K, V)>,
    between: vec::IntoIter<Vec<(K, V)>>,
    back: vec::IntoIter<(K, V)>,
}

impl<K, V> IntoIter<K, V> {
    pub(super) fn new(len: usize, front: Vec<(K, V)>, between: Vec<Vec<(K, V)>>) -> Self {
        let (front, between) = (front.into_iter(), between.into_iter());
        Self { len, front, between, back: Vec::new().into_iter() }
    }
}

/// The three iterators differ only in what they yield. Most maps are one chunk, so that only its entries are yielded in line.
macro_rules! iterate {
    ($name:ident<$($parameter:tt),*>, $item:ty, $entry:pat => $yielded:expr) => {
        impl<$($parameter),*> $name<$($parameter),*> {
            /// The next entry when there is none in `front`.
            #[cold]
            fn next_chunk(&mut self) -> Option<$item> {
                let entry = match self.between.next() {
                    Some(chunk) => {
                        self.front = chunk.into_iter();
                        self.front.next()
                    }
                    None => self.back.next(),
                };
                entry.map(|$entry| $yielded)
            }

            /// The last entry when there is none in `back`.
            #[cold]
            fn last_chunk(&mut self) -> Option<$item> {
                let entry = match self.between.next_back() {
                    Some(chunk) => {
                        self.back = chunk.into_iter();
                        self.back.next_back()
                    }
                    None => self.front.next_back(),
                };
                entry.map(|$entry| $yielded)
            }
        }

        impl<$($parameter),*> Iterator for $name<$($parameter),*> {
            type Item = $item;

            fn next(&mut self) -> Option<$item> {
                self.len = self.len.checked_sub(1)?;
                match self.front.next() {
                    Some($entry) => Some($yielded),
                    None => self.next_chunk(),
                }
            }

            fn size_hint(&self) -> (usize, Option<usize>) {
                (self.len, Some(self.len))
            }
        }

        impl<$($parameter),*> ExactSizeIterator for $name<$($parameter),*> {}

        impl<$($parameter),*> DoubleEndedIterator for $name<$($parameter),*> {
            fn next_back(&mut self) -> Option<$item> {
                self.len = self.len.checked_sub(1)?;
                match self.back.next_back() {
                    Some($entry) => Some($yielded),
                    None => self.last_chunk(),
                }
            }
        }
    };
}

iterate!(Iter<'a, K, V>, (&'a K, &'a V), (key, value) => (key, value));
iterate!(IterMut<'a, K, V>, (&'a K, &'a mut V), (key, value) => (&*key, value));
iterate!(IntoIter<K, V>, (K, V), entry => entry);
