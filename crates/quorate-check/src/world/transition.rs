//! What becomes of a process that is told something: worked out once, and remembered.
//!
//! A process is a function of what it is told, so the same node that is told the same does the same. There are few
//! different nodes and messages and very many states made of them.

use std::sync::RwLock;

use super::World;

/// Numbers that were worked out, by what they are the answer to.
#[derive(Debug, Default)]
pub(super) struct Memo(RwLock<Vec<(u64, u32)>>);

impl Memo {
    pub(super) fn recall(&self, key: u64) -> Option<u32> {
        let memo = self.0.read().expect("no thread stops on the way");
        let index = memo.binary_search_by_key(&key, |(key, _)| *key).ok()?;
        Some(memo[index].1)
    }

    /// Keeps an answer; if another thread was faster, that one's counts.
    pub(super) fn remember(&self, key: u64, answer: impl FnOnce() -> u32) -> u32 {
        let mut memo = self.0.write().expect("no thread stops on the way");
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

/// What comes of telling a node something.
#[derive(Debug)]
pub(super) struct Transition {
    pub(super) node: u32,
    /// To whom it sends what.
    pub(super) sent: Box<[(u8, u32)]>,
    /// How many its first multicast goes to.
    pub(super) multicast: u8,
}

/// What a process can be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Input {
    Start,
    Message {
        from: u8,
        message: u32,
    },
    /// What its user wishes.
    Command,
    Crashed(u8),
    Alive(u8),
    RoundEnd(u16),
    /// The timer at this place has run out.
    Expired(u8),
    /// Not told, but time has gone by.
    Tick,
    /// It is back with its memory.
    Recovered,
    /// Not told, but called by another name.
    Renamed(u32),
}

impl Input {
    /// A number of its own, together with when the process crashes on the way.
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
    /// What comes of telling a node something, if it crashes after so many sends of its first multicast or does not.
    pub(super) fn transition(
        &self,
        id: u8,
        node: u32,
        input: Input,
        crash_after: Option<u8>,
    ) -> &Transition {
        let memo = &self.store.summary(node).memo;
        let key = input.key(crash_after);
        let number = memo.recall(key).unwrap_or_else(|| {
            let crash_after = crash_after.map(|sends| (sends, self.may_recover()));
            let transition = self.store.step(id, node, input, crash_after);
            memo.remember(key, || self.transitions.push(transition))
        });
        self.transitions.get(number)
    }
}
