//! Results of inputs to a process: computed once and memoized.
//!
//! A process is a function of its inputs, so the same node reacts to the same input in the same way. There are few
//! different nodes and messages, and very many states made of them.

use std::sync::RwLock;

use super::World;
use super::recall::recall;

/// Memo table of numbers, by key.
#[derive(Debug, Default)]
pub(super) struct Memo(RwLock<Vec<(u64, u32)>>);

impl Memo {
    pub(super) fn recall(&self, key: u64) -> Option<u32> {
        let memo = self.0.read().expect("no thread panics while it holds the lock");
        let index = memo.binary_search_by_key(&key, |(key, _)| *key).ok()?;
        Some(memo[index].1)
    }

    /// All keys and their answers.
    pub(super) fn entries(&self) -> Vec<(u64, u32)> {
        self.0.read().expect("no thread panics while it holds the lock").clone()
    }

    /// Stores an answer. If another thread was faster, returns the answer of that thread.
    pub(super) fn remember(&self, key: u64, answer: impl FnOnce() -> u32) -> u32 {
        let mut memo = self.0.write().expect("no thread panics while it holds the lock");
        match memo.binary_search_by_key(&key, |(key, _)| *key) {
            Ok(index) => memo[index].1,
            Err(index) => {
                let answer = answer();
                memo.insert(index, (key, answer));
                answer
            }
        }
    }
}

/// Result of an input to a node.
#[derive(Debug)]
pub(super) struct Transition {
    pub(super) node: u32,
    /// Recipient and number of each message sent.
    pub(super) sent: Box<[(u8, u32)]>,
    /// Number of recipients of the first multicast.
    pub(super) multicast: u8,
}

impl Transition {
    /// A change of a node that sends nothing.
    pub(super) fn silent(node: u32) -> Self {
        Self { node, sent: Box::default(), multicast: 0 }
    }
}

/// Distinguishes messages from nodes as owners of memo tables.
pub(super) const MESSAGE: u64 = 1 << 32;

/// Input to a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Input {
    Start,
    Message {
        from: u8,
        message: u32,
    },
    /// The next command of its user.
    Command,
    Crashed(u8),
    Alive(u8),
    RoundEnd(u16),
    /// The timer at this position has expired.
    Expired(u8),
    /// Not an input to the process: time advances by one instant.
    Tick,
    /// The process has recovered with its memory.
    Recovered,
    /// Not an input to the process, only the memo key of a renaming.
    Renamed(u32),
    /// The process crashes, and may recover or not.
    Crash {
        may_recover: bool,
    },
    /// Not an input to the process: all counters of which only differences matter decrease by this much.
    Lowered(u64),
    /// Not an input to the process: it forgets dead values.
    Forget,
    /// Not an input to the process: all counters of which only differences matter that are greater become this one.
    Capped(u64),
    /// Not an input to the process, only the memo key of a message in flight to it without dead values.
    Incoming {
        from: u8,
        message: u32,
    },
}

/// Number of bits of a memo key below the tag and the crash.
const PAYLOAD_BITS: u32 = 48;

impl Input {
    /// Unique key of the input, together with the point at which the process crashes.
    pub(super) fn key(self, crash_after: Option<u8>) -> u64 {
        let (tag, payload) = match self {
            Self::Start => (0_u64, 0),
            Self::Message { from, message } => (1, u64::from(from) << 32 | u64::from(message)),
            Self::Command => (2, 0),
            Self::Crashed(process) => (3, u64::from(process)),
            Self::Alive(process) => (4, u64::from(process)),
            Self::RoundEnd(round) => (5, u64::from(round)),
            Self::Renamed(renaming) => (6, u64::from(renaming)),
            Self::Expired(index) => (7, u64::from(index)),
            Self::Tick => (8, 0),
            Self::Recovered => (9, 0),
            Self::Crash { may_recover } => (10, u64::from(may_recover)),
            Self::Lowered(by) => (11, by),
            Self::Forget => (12, 0),
            Self::Capped(most) => (13, most),
            Self::Incoming { from, message } => (14, u64::from(from) << 32 | u64::from(message)),
        };
        assert!(payload < 1 << PAYLOAD_BITS, "counters of small worlds are small");
        let crash = crash_after.map_or(0, |sends| u64::from(sends) + 1);
        tag << 56 | crash << PAYLOAD_BITS | payload
    }

    /// The input and the crash of a key; `None` if there is no such key.
    pub(super) fn of_key(key: u64) -> Option<(Self, Option<u8>)> {
        let payload = key & ((1 << PAYLOAD_BITS) - 1);
        let input = match key >> 56 {
            0 => Self::Start,
            1 => Self::Message { from: (payload >> 32) as u8, message: payload as u32 },
            2 => Self::Command,
            3 => Self::Crashed(payload as u8),
            4 => Self::Alive(payload as u8),
            5 => Self::RoundEnd(payload as u16),
            6 => Self::Renamed(payload as u32),
            7 => Self::Expired(payload as u8),
            8 => Self::Tick,
            9 => Self::Recovered,
            10 => Self::Crash { may_recover: payload != 0 },
            11 => Self::Lowered(payload),
            12 => Self::Forget,
            13 => Self::Capped(payload),
            14 => Self::Incoming { from: (payload >> 32) as u8, message: payload as u32 },
            _ => return None,
        };
        Some((input, ((key >> PAYLOAD_BITS) as u8).checked_sub(1)))
    }
}

/// Change of a message in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MessageChange {
    /// It is known to processes by other names. The number is that of the renaming.
    Renamed(u32),
    /// It was in flight for one instant more.
    Aged,
    /// All its counters of which only differences matter decrease by this much.
    Lowered(u64),
    /// All its counters of which only differences matter that are greater become this one.
    Capped(u64),
}

impl MessageChange {
    /// Unique key of the change.
    pub(super) fn key(self) -> u64 {
        match self {
            Self::Renamed(renaming) => renaming.into(),
            Self::Aged => 1 << 56,
            Self::Lowered(by) => {
                assert!(by < 1 << 56, "counters of small worlds are small");
                2 << 56 | by
            }
            Self::Capped(most) => {
                assert!(most < 1 << 56, "counters of small worlds are small");
                3 << 56 | most
            }
        }
    }

    /// The change that has this key; `None` if there is none.
    pub(super) fn of_key(key: u64) -> Option<Self> {
        let payload = key & ((1 << 56) - 1);
        match key >> 56 {
            0 => Some(Self::Renamed(payload as u32)),
            1 => Some(Self::Aged),
            2 => Some(Self::Lowered(payload)),
            3 => Some(Self::Capped(payload)),
            _ => None,
        }
    }
}

impl World<'_> {
    /// Number of a message after a change other than a renaming, memoized.
    pub(super) fn changed_message(&self, message: u32, change: MessageChange) -> u32 {
        let memo = || &self.store.message(message).memo;
        let (owner, key) = (u64::from(message) | MESSAGE, change.key());
        recall(self.number, owner, key, || memo().recall(key)).unwrap_or_else(|| {
            let changed = match change {
                MessageChange::Lowered(by) => self.store.lowered_message(message, by),
                MessageChange::Capped(most) => self.store.capped_message(message, most),
                MessageChange::Aged => self.store.aged_message(message),
                MessageChange::Renamed(_) => unreachable!("not every message can be renamed"),
            };
            memo().remember(key, || changed)
        })
    }

    /// Result of an input to a node, memoized. With `crash_after` the process crashes after this many
    /// sends of its first multicast.
    pub(super) fn transition(
        &self,
        id: u8,
        node: u32,
        input: Input,
        crash_after: Option<u8>,
    ) -> &Transition {
        let key = input.key(crash_after);
        let memo = || &self.store.summary(node).memo;
        let known = recall(self.number, node.into(), key, || memo().recall(key));
        let number = known.unwrap_or_else(|| {
            let crash_after = crash_after.map(|sends| (sends, self.may_recover()));
            let transition = self.store.step(id, node, input, crash_after);
            memo().remember(key, || self.transitions.push(transition))
        });
        self.transitions.get(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_tells_its_input() {
        let inputs = [
            Input::Start,
            Input::Message { from: 7, message: (1 << 25) - 1 },
            Input::Command,
            Input::Crashed(3),
            Input::Alive(4),
            Input::RoundEnd(300),
            Input::Renamed(719),
            Input::Expired(2),
            Input::Tick,
            Input::Recovered,
            Input::Crash { may_recover: true },
            Input::Crash { may_recover: false },
            Input::Lowered(1 << 40),
            Input::Forget,
            Input::Capped(1 << 40),
            Input::Incoming { from: 7, message: (1 << 25) - 1 },
        ];
        for (input, crash_after) in
            inputs.iter().flat_map(|it| [(*it, None), (*it, Some(0)), (*it, Some(5))])
        {
            assert_eq!(Input::of_key(input.key(crash_after)), Some((input, crash_after)));
        }
        assert_eq!(Input::of_key(u64::MAX), None);
    }
}
