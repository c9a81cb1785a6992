//! Compares the collections with those of the standard library.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::vec::Vec;
use core::hash::Hash;
use core::ops::Bound;
use std::hash::{DefaultHasher, Hasher};

use proptest::prelude::*;

use super::{Entry, SortedMap, SortedSet};

/// A value of which only sixteen fit in a chunk.
type Wide = [u64; 64];

fn wide(value: u16) -> Wide {
    [value.into(); 64]
}

#[derive(Clone, Debug)]
enum Step {
    Insert(u16, u16),
    Remove(u16),
    Enter(u16, u16),
    Delete(u16),
    PopFirst,
    PopLast,
    Keep(u16),
    Extract(u16),
    Clear,
}

fn step() -> impl Strategy<Value = Step> {
    let key = 0u16..400;
    prop_oneof![
        40 => (key.clone(), any::<u16>()).prop_map(|(key, value)| Step::Insert(key, value)),
        15 => key.clone().prop_map(Step::Remove),
        10 => (key.clone(), any::<u16>()).prop_map(|(key, value)| Step::Enter(key, value)),
        5 => key.prop_map(Step::Delete),
        5 => Just(Step::PopFirst),
        5 => Just(Step::PopLast),
        1 => (2u16..9).prop_map(Step::Keep),
        1 => (2u16..9).prop_map(Step::Extract),
        1 => Just(Step::Clear),
    ]
}

fn hash_of(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

fn apply(step: &Step, map: &mut SortedMap<u16, Wide>, expected: &mut BTreeMap<u16, Wide>) {
    match *step {
        Step::Insert(key, value) => {
            assert_eq!(map.insert(key, wide(value)), expected.insert(key, wide(value)));
        }
        Step::Remove(key) => assert_eq!(map.remove_entry(&key), expected.remove_entry(&key)),
        Step::Enter(key, value) => {
            let change = |it: &mut Wide| it[0] = it[0].wrapping_add(1);
            let inserted = map.entry(key).and_modify(change).or_insert_with(|| wide(value));
            assert_eq!(inserted, expected.entry(key).and_modify(change).or_insert(wide(value)));
        }
        Step::Delete(key) => {
            let removed = match map.entry(key) {
                Entry::Occupied(entry) => Some(entry.remove()),
                Entry::Vacant(entry) => {
                    assert_eq!(*entry.key(), key);
                    None
                }
            };
            assert_eq!(removed, expected.remove(&key));
        }
        Step::PopFirst => assert_eq!(map.pop_first(), expected.pop_first()),
        Step::PopLast => assert_eq!(map.pop_last(), expected.pop_last()),
        Step::Keep(divisor) => {
            map.retain(|key, _| key % divisor == 0);
            expected.retain(|key, _| key % divisor == 0);
        }
        Step::Extract(divisor) => {
            let removed = map.extract(|key, _| key % divisor != 0);
            let same: Vec<_> = expected.extract_if(.., |key, _| key % divisor != 0).collect();
            assert_eq!(removed, same);
        }
        Step::Clear => {
            map.clear();
            expected.clear();
        }
    }
}

proptest! {
    #[test]
    fn a_map_does_what_a_b_tree_does(steps in prop::collection::vec(step(), 0..600)) {
        let (mut map, mut expected) = (SortedMap::new(), BTreeMap::new());
        for step in &steps {
            apply(step, &mut map, &mut expected);
            prop_assert_eq!(map.len(), expected.len());
            prop_assert_eq!(map.first_key_value(), expected.first_key_value());
            prop_assert_eq!(map.last_key_value(), expected.last_key_value());
        }
        prop_assert!(map.iter().eq(&expected));
        prop_assert!(map.iter().rev().eq(expected.iter().rev()));
        prop_assert!(map.iter_mut().eq(expected.iter_mut()));
        prop_assert!(map.iter_mut().rev().eq(expected.iter_mut().rev()));
        prop_assert!((0..400).all(|key| map.get(&key) == expected.get(&key)));
        // The same entries in other chunks.
        let ascending: SortedMap<u16, Wide> = expected.clone().into_iter().collect();
        prop_assert_eq!(&map, &ascending);
        prop_assert_eq!(hash_of(&map), hash_of(&expected));
        prop_assert_eq!(format!("{map:?}"), format!("{expected:?}"));
        prop_assert!(map.clone().into_iter().rev().eq(expected.clone().into_iter().rev()));
        prop_assert!(map.into_iter().eq(expected));
    }

    #[test]
    fn iterators_are_consumed_from_both_ends(
        keys in prop::collection::btree_set(0u16..2_000, 0..300),
        ends in prop::collection::vec(any::<bool>(), 300),
    ) {
        let map: SortedMap<u16, Wide> = keys.iter().map(|key| (*key, wide(*key))).collect();
        let (mut iter, mut expected) = (map.keys(), keys.iter());
        for end in ends {
            let (found, same) = match end {
                true => (iter.next(), expected.next()),
                false => (iter.next_back(), expected.next_back()),
            };
            prop_assert_eq!(found, same);
        }
    }

    #[test]
    fn a_range_has_the_keys_within_its_bounds(
        elements in prop::collection::btree_set(0u16..2_000, 0..400),
        from in 0u16..2_000,
        to in 0u16..2_000,
    ) {
        let set: SortedSet<u16> = elements.iter().copied().collect();
        let (from, to) = (from.min(to), from.max(to));
        prop_assert!(set.range(from..to).eq(elements.range(from..to)));
        prop_assert!(set.range(from..=to).rev().eq(elements.range(from..=to).rev()));
        prop_assert!(set.range(..to).eq(elements.range(..to)));
        prop_assert!(set.range(from..).eq(elements.range(from..)));
        let after = (Bound::Excluded(from), Bound::Unbounded);
        prop_assert!(set.range(after).eq(elements.range(after)));
        prop_assert_eq!(set.range(to + 1..from).next(), None);
    }

    #[test]
    fn sets_compare_as_b_trees_do(
        a in prop::collection::btree_set(0u16..20, 0..20),
        b in prop::collection::btree_set(0u16..20, 0..20),
    ) {
        let sorted = |set: &BTreeSet<u16>| set.iter().copied().collect::<SortedSet<u16>>();
        prop_assert_eq!(sorted(&a).cmp(&sorted(&b)), a.cmp(&b));
        prop_assert_eq!(sorted(&a).is_subset(&sorted(&b)), a.is_subset(&b));
        prop_assert_eq!(hash_of(&sorted(&a)), hash_of(&a));
        prop_assert!(sorted(&a).into_iter().eq(a));
    }
}

#[test]
fn chunks_of_a_map_that_shrinks_are_joined() {
    let mut map: SortedMap<u32, u64> = (0..100_000).map(|key| (key, 0)).collect();
    let full = map.chunks();
    assert_eq!(full, 100_000usize.div_ceil(128));
    for key in (0..100_000).filter(|key| key % 100 != 0) {
        map.remove(&key);
    }
    assert_eq!(map.len(), 1_000);
    assert!(map.chunks() <= 1_000 / 16, "{} chunks", map.chunks());
    let mut half: SortedMap<u32, u64> = (0..100_000).map(|key| (key, 0)).collect();
    half.retain(|key, _| key % 100 == 0);
    assert!(half.chunks() <= 1_000 / 16, "{} chunks", half.chunks());
    assert_eq!(half, map);
}
