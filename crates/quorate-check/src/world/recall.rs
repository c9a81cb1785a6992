//! Answers from memo tables that a thread has looked up recently.
//!
//! The threads of a search look up the same few transitions all the time. Even a lock that is only read is a write to memory
//! that they share, and with two threads that takes a quarter of the time. So each thread keeps the last answers for itself.
//! An answer in a memo table never changes, so a copy of it never becomes wrong.

use std::cell::RefCell;
use std::sync::atomic::{AtomicU64, Ordering};

/// Number of answers that a thread keeps, a power of two. They take half a megabyte.
const ANSWERS: usize = 1 << 15;

/// An answer: the number found in the memo table of an owner under a key.
#[derive(Clone, Copy, Debug)]
struct Answer {
    owner: u64,
    key: u64,
    number: u32,
}

/// Answers from the tables of one world.
struct Recent {
    world: u64,
    answers: Vec<Option<Answer>>,
}

thread_local! {
    static RECENT: RefCell<Recent> = const { RefCell::new(Recent { world: 0, answers: Vec::new() }) };
}

/// A number for a new world, different from all others in this process and from 0.
pub(super) fn world_number() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// Returns what `look_up` returns for the table of this owner in this world, or has returned recently. Nothing is kept of a
/// table without an answer.
pub(super) fn recall(
    world: u64,
    owner: u64,
    key: u64,
    look_up: impl FnOnce() -> Option<u32>,
) -> Option<u32> {
    RECENT.with_borrow_mut(|recent| {
        if recent.world != world {
            recent.answers.clear();
            recent.answers.resize(ANSWERS, None);
            recent.world = world;
        }
        let slot = &mut recent.answers[slot_of(owner, key)];
        if let Some(answer) = slot
            && (answer.owner, answer.key) == (owner, key)
        {
            return Some(answer.number);
        }
        let number = look_up()?;
        *slot = Some(Answer { owner, key, number });
        Some(number)
    })
}

fn slot_of(owner: u64, key: u64) -> usize {
    let mixed = (owner ^ key.rotate_left(32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed ^ key).wrapping_mul(0xd6e8_feb8_6659_fd93) as usize >> (usize::BITS - ANSWERS.ilog2())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_belong_to_a_world_an_owner_and_a_key() {
        let [here, there] = [world_number(), world_number()];
        let unknown = || unreachable!("it was looked up");
        assert_eq!(recall(here, 1, 2, || None), None);
        assert_eq!(recall(here, 1, 2, || Some(3)), Some(3));
        assert_eq!(recall(here, 1, 2, unknown), Some(3));
        assert_eq!(recall(here, 2, 2, || Some(4)), Some(4));
        assert_eq!(recall(here, 1, 3, || Some(5)), Some(5));
        assert_eq!(recall(there, 1, 2, || Some(6)), Some(6));
        assert_eq!(
            recall(here, 1, 2, || Some(7)),
            Some(7),
            "another world was looked up meanwhile"
        );
    }

    #[test]
    fn answers_that_share_a_slot_replace_each_other() {
        let world = world_number();
        for key in 0..4 * ANSWERS as u64 {
            assert_eq!(recall(world, 9, key, || Some(key as u32)), Some(key as u32));
        }
        let found = (0..4 * ANSWERS as u64).filter(|key| recall(world, 9, *key, || None).is_some());
        let share = found.count() as f64 / ANSWERS as f64;
        assert!((0.9..=1.0).contains(&share), "{share}");
    }
}
