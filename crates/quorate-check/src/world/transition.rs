//! What becomes of a process that is told something: worked out once, and remembered.
//!
//! A process is a function of what it is told, so the same node that is told the same does the same. There are few
//! different nodes and messages and very many states made of them.

use std::collections::VecDeque;
use std::sync::RwLock;
use std::sync::atomic::Ordering;

use quorate_core::{Belief, Effect, Effects, Message as _, Process, ProcessId, Recipients};

use super::timing::Waits;
use super::{World, named};
use crate::{Fingerprint, Users, fingerprint_of};

/// A process with its user.
#[derive(Debug)]
pub(super) struct Node<P: Process, L> {
    /// None if it is down.
    pub(super) process: Option<P>,
    pub(super) place: L,
    pub(super) waits: Waits<P::Timer>,
    /// The least of its numbers of which only differences matter.
    pub(super) least: u64,
    /// The numbers of what comes of what it is told.
    pub(super) known: Known,
}

/// Numbers that were worked out, by what they are the answer to.
#[derive(Debug, Default)]
pub(super) struct Known(RwLock<Vec<(u64, u32)>>);

impl Known {
    pub(super) fn recall(&self, key: u64) -> Option<u32> {
        let known = self.0.read().expect("no thread stops on the way");
        let place = known.binary_search_by_key(&key, |(key, _)| *key).ok()?;
        Some(known[place].1)
    }

    /// Keeps an answer; if another thread was faster, that one's counts.
    pub(super) fn remember(&self, key: u64, answer: impl FnOnce() -> u32) -> u32 {
        let mut known = self.0.write().expect("no thread stops on the way");
        match known.binary_search_by_key(&key, |(key, _)| *key) {
            Ok(place) => known[place].1,
            Err(place) => {
                let answer = answer();
                known.insert(place, (key, answer));
                answer
            }
        }
    }
}

/// A message that was sent some time.
#[derive(Debug)]
pub(super) struct Sent<M> {
    pub(super) message: M,
    pub(super) least: u64,
    /// The numbers of what it is called by other names.
    pub(super) known: Known,
}

/// What comes of telling a node something.
#[derive(Debug)]
pub(super) struct Outcome {
    pub(super) node: u32,
    /// To whom it sends what.
    pub(super) posts: Box<[(u8, u32)]>,
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
    Wish,
    Crashed(u8),
    Alive(u8),
    RoundEnd(u16),
    /// The timer at this place has run out.
    Expired(u8),
    /// Not told, but time has gone by.
    Instant,
    /// Not told, but called by another name.
    Renamed(u32),
}

impl Input {
    /// A number of its own, together with when the process crashes on the way.
    pub(super) fn key(self, crash_after: Option<u8>) -> u64 {
        let (kind, what) = match self {
            Self::Start => (0_u64, 0),
            Self::Message { from, message } => (1, u64::from(from) << 32 | u64::from(message)),
            Self::Wish => (2, 0),
            Self::Crashed(process) => (3, u64::from(process)),
            Self::Alive(process) => (4, u64::from(process)),
            Self::RoundEnd(round) => (5, u64::from(round)),
            Self::Renamed(renaming) => (6, u64::from(renaming)),
            Self::Expired(place) => (7, u64::from(place)),
            Self::Instant => (8, 0),
        };
        let crash = crash_after.map_or(0, |sends| u64::from(sends) + 1);
        kind << 56 | crash << 48 | what
    }
}

impl<P, U, F> World<P, U, F>
where
    P: Process,
    U: Users<P>,
    F: Fn(ProcessId) -> P + Sync,
{
    /// What comes of telling a node something, if it crashes after so many sends of its first multicast or does not.
    pub(super) fn outcome(
        &self,
        id: u8,
        node: u32,
        input: Input,
        crash_after: Option<u8>,
    ) -> &Outcome {
        let told = self.nodes.get(node);
        let key = input.key(crash_after);
        let number = told.known.recall(key).unwrap_or_else(|| {
            let outcome = self.tell(id, told, input, crash_after);
            told.known.remember(key, || self.outcomes.put(outcome))
        });
        self.outcomes.get(number)
    }

    fn tell(
        &self,
        id: u8,
        node: &Node<P, U::Place>,
        input: Input,
        crash_after: Option<u8>,
    ) -> Outcome {
        let mut process = node.process.clone().expect("who is down is told nothing");
        let mut place = node.place.clone();
        let mut waits = node.waits.clone();
        let mut out = Effects::new(self.now());
        match input {
            Input::Start => process.on_start(&mut out),
            Input::Message { from, message } => {
                let message = self.messages.get(message).message.clone();
                process.on_message(named(from), message, &mut out);
            }
            Input::Crashed(whom) => process.on_belief(Belief::Crashed(named(whom)), &mut out),
            Input::Alive(whom) => process.on_belief(Belief::Alive(named(whom)), &mut out),
            Input::RoundEnd(round) => {
                waits.round = false;
                process.on_round_end(round.into(), &mut out);
            }
            Input::Renamed(_) => {}
            Input::Expired(place) => {
                let armed = waits.timers.remove(place.into());
                process.on_timer(armed.timer, &mut out);
            }
            Input::Instant => {
                waits.an_instant_later();
                let bound = self.bound.unwrap_or_default().0;
                process.relative(&mut |moment| *moment = moment.saturating_sub(bound));
            }
            Input::Wish => {
                let (command, _) = self.users.wish(&place).expect("a user asks what it wishes");
                self.users.asked(&mut place, &command);
                // A refusal would be a mistake of the users, which ask only what makes sense.
                let _ = process.on_command(command, &mut out);
            }
        }
        let mut to_self = VecDeque::new();
        let mut posts = Vec::new();
        let mut multicast = 0;
        loop {
            for effect in out.drain() {
                match effect {
                    Effect::Send { to, message } if to == named(id) => to_self.push_back(message),
                    Effect::Send { to, message } => self.post(to, message, &mut posts),
                    Effect::Multicast { to, message } => {
                        let recipients: Vec<ProcessId> = match to {
                            Recipients::Others => {
                                ProcessId::all(self.n).filter(|to| *to != named(id)).collect()
                            }
                            Recipients::Set(set) => set.iter().collect(),
                        };
                        if multicast == 0 {
                            multicast = recipients.len() as u8;
                        }
                        let most = crash_after.map_or(usize::MAX, usize::from);
                        for to in recipients.into_iter().take(most) {
                            match to == named(id) {
                                true => to_self.push_back(message.clone()),
                                false => self.post(to, message.clone(), &mut posts),
                            }
                        }
                        if crash_after.is_some() {
                            let node = self.down(id, &place);
                            return Outcome { node, posts: posts.into(), multicast };
                        }
                    }
                    Effect::Output(output) => self.users.told(&mut place, &output),
                    Effect::AwaitRound => waits.round = true,
                    Effect::SetTimer { timer, after } => match self.bound {
                        Some(bound) => waits.set(timer, after, bound),
                        None => self.strayed.store(true, Ordering::Relaxed),
                    },
                    Effect::CancelTimer(timer) => waits.cancel(&timer),
                    Effect::Believed(_) | Effect::Ignored(_) => {}
                }
            }
            let Some(message) = to_self.pop_front() else { break };
            process.on_message(named(id), message, &mut out);
        }
        let node = self.keep(id, Some(process), place, waits);
        Outcome { node, posts: posts.into(), multicast }
    }

    fn post(&self, to: ProcessId, message: P::Message, posts: &mut Vec<(u8, u32)>) {
        if to.index() < self.n {
            posts.push((to.index() as u8, self.keep_message(message)));
        }
    }

    /// The number of a message.
    pub(super) fn keep_message(&self, mut message: P::Message) -> u32 {
        self.messages.number(fingerprint_of(&message), || {
            let least = least_of(|look| message.relative(look));
            Sent { message, least, known: Known::default() }
        })
    }

    /// The number of a node. Processes that do not know who they are are kept apart all the same.
    pub(super) fn keep(
        &self,
        id: u8,
        mut process: Option<P>,
        place: U::Place,
        waits: Waits<P::Timer>,
    ) -> u32 {
        let print: Fingerprint = fingerprint_of(&(id, &process, &place, &waits));
        self.nodes.number(print, || {
            let least =
                least_of(|look| process.iter_mut().for_each(|process| process.relative(look)));
            Node { process, place, waits, least, known: Known::default() }
        })
    }

    /// The number of the node of one that is down: of the dead only what its user must be remembered for counts.
    pub(super) fn down(&self, id: u8, place: &U::Place) -> u32 {
        self.keep(id, None, self.users.crashed(place), Waits::default())
    }
}

fn least_of(mut show: impl FnMut(&mut dyn FnMut(&mut u64))) -> u64 {
    let mut least = u64::MAX;
    show(&mut |number| least = least.min(*number));
    least
}
