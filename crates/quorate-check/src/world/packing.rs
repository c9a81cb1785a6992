//! States as bytes, for the queue of a search that keeps each state only until it is expanded.
//!
//! A first byte tells which parts differ from those of the initial state; only these follow. Numbers of nodes and messages are
//! small, because nodes and messages are numbered in the order in which they are found, so they are written seven bits to a
//! byte. A message takes its number, and seven bits for its link and its lateness.

use super::state::{Envelope, Pairs, State};
use super::{Budget, PROCESSES_MOST};

/// Bits of the first byte: the parts of the state that follow.
const UP: u8 = 1;
const ROUND_END: u8 = 2;
const BUDGET: u8 = 4;
const ROUND: u8 = 8;
const NOTICES: u8 = 16;
const SUSPECTED: u8 = 32;
const NOTIFIED: u8 = 64;

impl State {
    /// Appends the state. `budget` is that of the initial state.
    pub(super) fn pack(&self, budget: Budget, bytes: &mut Vec<u8>) {
        let parts = [
            (self.up_bits() != all_up(self.nodes().len()), UP),
            (self.round_end_pending != 0, ROUND_END),
            (self.budget != budget, BUDGET),
            (self.round != 1, ROUND),
            (!self.pending_notices.is_empty(), NOTICES),
            (!self.suspected.is_empty(), SUSPECTED),
            (!self.notified.is_empty(), NOTIFIED),
        ];
        let present = parts.iter().filter(|(present, _)| *present);
        let present = present.fold(0, |all, (_, part)| all | part);
        bytes.push(present);
        let has = |part| present & part != 0;
        if has(UP) {
            bytes.push(self.up_bits());
        }
        if has(ROUND_END) {
            bytes.push(self.round_end_pending);
        }
        if has(BUDGET) {
            let Budget { crashes, recoveries, losses, suspicions, timeouts } = self.budget;
            bytes.extend([crashes, recoveries, losses, suspicions, timeouts]);
        }
        if has(ROUND) {
            push_number(bytes, self.round.into());
        }
        for (pairs, part) in [
            (self.pending_notices, NOTICES),
            (self.suspected, SUSPECTED),
            (self.notified, NOTIFIED),
        ] {
            if has(part) {
                push_number(bytes, pairs.bits());
            }
        }
        self.nodes().iter().for_each(|node| push_number(bytes, (*node).into()));
        push_number(bytes, self.envelopes().len() as u64);
        for envelope in self.envelopes() {
            let late = u64::from(envelope.is_late());
            let number =
                u64::from(envelope.message()) << 7 | late << 6 | u64::from(envelope.link());
            push_number(bytes, number);
        }
    }

    /// Reads a state of `n` processes, and removes it from the start of the bytes.
    pub(super) fn unpack(n: usize, budget: Budget, bytes: &mut &[u8]) -> Self {
        let present = take_byte(bytes);
        let has = |part| present & part != 0;
        let up = if has(UP) { take_byte(bytes) } else { all_up(n) };
        let round_end_pending = if has(ROUND_END) { take_byte(bytes) } else { 0 };
        let budget = if has(BUDGET) {
            let [crashes, recoveries, losses, suspicions, timeouts] =
                std::array::from_fn(|_| take_byte(bytes));
            Budget { crashes, recoveries, losses, suspicions, timeouts }
        } else {
            budget
        };
        let round = if has(ROUND) { take_number(bytes) as u16 } else { 1 };
        let mut pairs = |part| Pairs::of_bits(if has(part) { take_number(bytes) } else { 0 });
        let (pending_notices, suspected, notified) =
            (pairs(NOTICES), pairs(SUSPECTED), pairs(NOTIFIED));
        let mut nodes = [0; PROCESSES_MOST];
        nodes[..n].iter_mut().for_each(|node| *node = take_number(bytes) as u32);
        let mut state = Self::new(nodes[..n].iter().copied(), budget);
        for _ in 0..take_number(bytes) {
            let number = take_number(bytes);
            let (from, to) = ((number >> 3) as u8 & 7, number as u8 & 7);
            let envelope = Envelope::new(from, to, (number >> 7) as u32);
            state.append(if number & 64 != 0 { envelope.late() } else { envelope });
        }
        state.set_up_bits(up);
        (state.round_end_pending, state.round) = (round_end_pending, round);
        (state.pending_notices, state.suspected, state.notified) =
            (pending_notices, suspected, notified);
        state
    }
}

/// Bit set of n processes.
fn all_up(n: usize) -> u8 {
    ((1_u16 << n) - 1) as u8
}

/// Appends a number, seven bits to a byte, the lowest first. The eighth bit tells that more follow.
pub(super) fn push_number(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 128 {
        bytes.push(number as u8 | 128);
        number >>= 7;
    }
    bytes.push(number as u8);
}

pub(super) fn take_number(bytes: &mut &[u8]) -> u64 {
    let (mut number, mut shift) = (0, 0);
    loop {
        let byte = take_byte(bytes);
        number |= u64::from(byte & 127) << shift;
        shift += 7;
        if byte < 128 {
            return number;
        }
    }
}

pub(super) fn take_byte(bytes: &mut &[u8]) -> u8 {
    let (first, rest) = bytes.split_first().expect("a packed state is complete");
    *bytes = rest;
    *first
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_they_were_written() {
        let numbers = [0, 1, 127, 128, 16_383, 16_384, u64::from(u32::MAX), u64::MAX];
        let mut bytes = Vec::new();
        numbers.iter().for_each(|number| push_number(&mut bytes, *number));
        let mut rest = bytes.as_slice();
        assert!(numbers.iter().all(|number| take_number(&mut rest) == *number));
        assert!(rest.is_empty());
    }

    #[test]
    fn every_part_of_a_state_is_kept() {
        let budget = Budget { crashes: 2, losses: 1, ..Budget::default() };
        let mut state = State::new([0, 300, 70_000].into_iter(), budget);
        let unchanged = state.clone();
        for (from, to, message) in [(0, 1, 5), (2, 1, 1 << 20), (0, 2, 7), (0, 2, 6)] {
            state.enqueue(Envelope::new(from, to, message));
        }
        state.mark_late();
        state.enqueue(Envelope::new(1, 0, 9));
        state.crash(1, 17);
        state.budget.losses = 0;
        (state.round_end_pending, state.round) = (5, 300);
        state.pending_notices.insert(0, 1);
        state.suspected.insert(2, 0);
        state.notified.insert(2, 1);
        for state in [unchanged, state] {
            let mut bytes = Vec::new();
            state.pack(budget, &mut bytes);
            let mut rest = bytes.as_slice();
            let read = State::unpack(3, budget, &mut rest);
            assert_eq!(format!("{read:?}"), format!("{state:?}"));
            assert!(rest.is_empty());
        }
    }
}
