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
}

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
        };
        let crash = crash_after.map_or(0, |sends| u64::from(sends) + 1);
        tag << 56 | crash << 48 | payload
    }
}

impl World<'_> {
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
