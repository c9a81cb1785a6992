//! The event queue. Items leave in the order (time, order of arrival).
//!
//! A small number of items is kept sorted (`small.rs`). When there are more, a timing wheel (`wheel.rs`) holds them
//! until all have left.

mod label;
mod small;
mod wheel;

pub use label::Label;
use small::SmallQueue;
use wheel::Wheel;

/// A queue of labelled items by time; equal times keep the order of arrival.
#[derive(Debug)]
pub struct Queue<T> {
    small: SmallQueue<T>,
    wheel: Wheel<T>,
    /// Whether all items are in the wheel.
    uses_wheel: bool,
}

impl<T> Queue<T> {
    /// Creates a queue for items that mostly lie less than `horizon` ahead, with about `expected_len` of them at a time.
    pub fn new(horizon: u64, expected_len: usize) -> Self {
        Self {
            small: SmallQueue::new(),
            wheel: Wheel::new(horizon, expected_len),
            uses_wheel: false,
        }
    }

    /// Number of queued items.
    pub fn len(&self) -> usize {
        if self.uses_wheel { self.wheel.len() } else { self.small.len() }
    }

    /// Whether the queue is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes that a queued item takes in the wheel.
    pub const fn bytes_per_item() -> usize {
        Wheel::<T>::bytes_per_item()
    }

    /// Adds an item. Its time must not be before that of the last item removed.
    #[inline(always)]
    pub fn push(&mut self, time: u64, label: Label, item: T) {
        if !self.uses_wheel {
            if !self.small.is_full() {
                return self.small.push(time, label, item);
            }
            self.switch_to_wheel();
        }
        self.wheel.push(time, label, item);
    }

    /// Removes the first item and returns it with its time.
    #[inline(always)]
    pub fn pop(&mut self) -> Option<(u64, Label, T)> {
        if !self.uses_wheel {
            return self.small.pop();
        }
        let first = self.wheel.pop()?;
        if self.wheel.len() == 0 {
            self.uses_wheel = false;
            self.small.set_now(first.0);
        }
        Some(first)
    }

    /// Time of the first item. Nothing is moved, because an earlier item may still be added.
    pub fn peek_time(&self) -> Option<u64> {
        if self.uses_wheel { self.wheel.peek_time() } else { self.small.peek_time() }
    }

    /// Moves all items to the wheel when the small queue is full.
    #[cold]
    fn switch_to_wheel(&mut self) {
        self.uses_wheel = true;
        self.wheel.advance_to(self.small.now());
        while let Some((time, label, item)) = self.small.pop() {
            self.wheel.push(time, label, item);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cmp::Reverse;
    use std::collections::BinaryHeap;

    use proptest::prelude::*;

    use super::*;

    /// Pushes an item this far ahead, or pops one.
    #[derive(Clone, Debug)]
    enum Step {
        Push(u64),
        Pop,
    }

    /// Alternates between phases with more pushes and phases with
    /// more pops, so that the queue grows and shrinks repeatedly.
    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let phase = |pushes: u32, pops: u32| {
            let ahead = prop_oneof![Just(0), 0u64..4, 0u64..300, 0u64..100_000, Just(1 << 40)];
            let step = prop_oneof![pushes => ahead.prop_map(Step::Push), pops => Just(Step::Pop)];
            proptest::collection::vec(step, 0..150)
        };
        let phases = prop_oneof![phase(1, 1), phase(9, 1), phase(1, 9)];
        proptest::collection::vec(phases, 0..6).prop_map(|phases| phases.concat())
    }

    proptest! {
        #[test]
        fn leaves_in_the_order_of_a_plain_heap(steps in steps(), horizon in 0u64..5000) {
            let mut queue = Queue::new(horizon, 64);
            let mut twin: BinaryHeap<Reverse<(u64, u32)>> = BinaryHeap::new();
            let (mut now, mut arrival) = (0, 0);
            for step in steps {
                // Peeking changes nothing, whatever is pushed afterwards.
                prop_assert_eq!(queue.peek_time(), twin.peek().map(|top| top.0.0));
                match step {
                    Step::Push(ahead) => {
                        queue.push(now + ahead, Label::default(), arrival);
                        twin.push(Reverse((now + ahead, arrival)));
                        arrival += 1;
                    }
                    Step::Pop => {
                        let expected = twin.pop().map(|top| top.0);
                        prop_assert_eq!(queue.pop().map(|(time, _, item)| (time, item)), expected);
                        now = expected.map_or(now, |(time, _)| time);
                    }
                }
                prop_assert_eq!(queue.len(), twin.len());
            }
            while let Some(Reverse(expected)) = twin.pop() {
                prop_assert_eq!(queue.pop().map(|(time, _, item)| (time, item)), Some(expected));
            }
            prop_assert!(queue.is_empty());
        }
    }

    #[test]
    fn the_last_moment_of_time_can_be_queued() {
        let mut queue = Queue::new(1, 64);
        queue.push(u64::MAX, Label::default(), "end");
        queue.push(3, Label { from: 1, to: 2, tag: 3 }, "start");
        assert_eq!(queue.pop(), Some((3, Label { from: 1, to: 2, tag: 3 }, "start")));
        assert_eq!(queue.pop(), Some((u64::MAX, Label::default(), "end")));
    }

    #[test]
    fn an_item_costs_sixteen_bytes_and_itself() {
        assert_eq!(Queue::<std::num::NonZeroU64>::bytes_per_item(), 24);
    }
}
