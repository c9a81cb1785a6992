//! Sorted collections of few instructions per type: a map and a set.
//!
//! They have the order and the interface of the standard library's `BTreeMap` and `BTreeSet`. A B-tree is compiled anew for
//! every pair of key and value types, to about twice the code of these collections. With some sixty map types this had become
//! a third of what is compiled for a node.
//!
//! Representation: sorted chunks. A small map is one sorted vector, which is also faster to search and to clone than a tree.
//! A chunk that is full is split, and chunks that become small are joined. The cost of an insertion is the number of entries
//! of a chunk (at most 128) plus, once in half a chunk of insertions, the number of chunks: a few microseconds at a million
//! entries.

mod entry;
mod iter;
mod map;
#[cfg(feature = "serde")]
mod serialized;
mod set;

pub use entry::{Entry, OccupiedEntry, VacantEntry};
pub use iter::{IntoIter, Iter, IterMut};
pub use map::SortedMap;
pub use set::{SetIntoIter, SetIter, SortedSet};

#[cfg(test)]
mod tests;
