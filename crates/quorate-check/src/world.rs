//! The model of a small world: processes, what is under way between them, their users, and what may go wrong.
//!
//! - Time does not exist: whatever can happen may happen next. A message to oneself takes no time.
//! - Links are reliable, and keep their order or do not. Each loss, crash or wrong suspicion takes something from a
//!   budget.
//! - A crash may come in the middle of a multicast. Who is up is told of it some time; who is down is forgotten, and what
//!   is sent to it vanishes.
//! - Timers and rounds are not modelled: a process that asks for one makes the exploration void.

mod reduction;

use std::fmt;
use std::hash::Hasher;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use quorate_core::{
    Belief, Effect, Effects, Message as _, Process, ProcessId, Property, Recipients, Time,
};

use crate::{Class, Fingerprint, Mixer, Model, Successor, Users, fingerprint_of};

/// More processes than this cannot be explored: who knows what of whom is kept in 64 bits.
pub(crate) const PROCESSES_MOST: usize = 8;

/// How much may go wrong.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Budget {
    /// How many processes may crash.
    pub crashes: u8,
    /// How many messages may be lost.
    pub losses: u8,
    /// How often somebody may be suspected wrongly.
    pub suspicions: u8,
}

/// The model.
pub struct World<P: Process, U, F> {
    /// How many processes.
    pub n: usize,
    /// Makes a process.
    pub make: F,
    /// Their users.
    pub users: U,
    /// How much may go wrong.
    pub budget: Budget,
    /// Whether links keep the order of messages.
    pub fifo: bool,
    /// Whether deliveries to different processes that commute are gone through in one order only.
    pub reduce: bool,
    /// Whether states may come again.
    pub restless: bool,
    /// Who does not crash, as bits.
    pub immune: u64,
    /// Set when a process asked for something that is not modelled.
    pub strayed: AtomicBool,
    /// The processes.
    pub process: std::marker::PhantomData<fn() -> P>,
}

/// A state of the world.
#[derive(Debug)]
pub struct State<P: Process, L> {
    nodes: Vec<Arc<Node<P, L>>>,
    /// Messages under way, by link, in the order of sending.
    letters: Vec<Letter<P::Message>>,
    /// Who has still to be told of whose crash.
    news: Pairs,
    /// Who wrongly suspects whom.
    suspected: Pairs,
    budget: Budget,
}

/// A process with its user, and their fingerprint.
#[derive(Debug)]
struct Node<P, L> {
    /// None if it is down.
    process: Option<P>,
    place: L,
    print: Fingerprint,
}

/// A message under way.
#[derive(Clone, Debug)]
struct Letter<M> {
    from: u8,
    to: u8,
    print: Fingerprint,
    message: M,
}

impl<P: Process, L> Clone for State<P, L> {
    fn clone(&self) -> Self {
        let Self { nodes, letters, news, suspected, budget } = self;
        let (nodes, letters) = (nodes.clone(), letters.clone());
        Self { nodes, letters, news: *news, suspected: *suspected, budget: *budget }
    }
}

/// Pairs of processes, as bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Pairs(u64);

impl Pairs {
    fn bit(a: u8, b: u8) -> u64 {
        1 << (usize::from(a) * PROCESSES_MOST + usize::from(b))
    }
    fn contains(self, a: u8, b: u8) -> bool {
        self.0 & Self::bit(a, b) != 0
    }
    fn insert(&mut self, a: u8, b: u8) {
        self.0 |= Self::bit(a, b);
    }
    fn remove(&mut self, a: u8, b: u8) {
        self.0 &= !Self::bit(a, b);
    }
    /// Without those that begin with this one.
    fn forget(&mut self, a: u8) {
        self.0 &= !(0xff << (usize::from(a) * PROCESSES_MOST));
    }
}

/// Something that happens, and in the middle of whose first multicast its process crashes, after so many sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Action {
    /// What happens.
    pub what: Happening,
    /// After how many sends the process crashes, if it does.
    pub crash_after: Option<u8>,
}

/// What can happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Happening {
    /// A message arrives: the one at this place among those of its link.
    Deliver {
        /// From whom.
        from: u8,
        /// To whom.
        to: u8,
        /// Which of those under way.
        place: u8,
    },
    /// A user asks what it wishes.
    Ask(u8),
    /// An observer is told of a crash.
    Tell {
        /// Whom.
        observer: u8,
        /// Of whose.
        victim: u8,
    },
    /// A process crashes.
    Crash(u8),
    /// A message is lost.
    Lose {
        /// From whom.
        from: u8,
        /// To whom.
        to: u8,
        /// Which of those under way.
        place: u8,
    },
    /// An observer wrongly begins to suspect.
    Suspect {
        /// Who.
        observer: u8,
        /// Whom.
        victim: u8,
    },
    /// An observer sees that it was wrong.
    Trust {
        /// Who.
        observer: u8,
        /// Whom.
        victim: u8,
    },
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.what {
            Happening::Deliver { from, to, .. } => write!(f, "p{to} hears from p{from}")?,
            Happening::Ask(process) => write!(f, "p{process} is asked")?,
            Happening::Tell { observer, victim } => {
                write!(f, "p{observer} is told that p{victim} has crashed")?;
            }
            Happening::Crash(victim) => write!(f, "p{victim} crashes")?,
            Happening::Lose { from, to, .. } => write!(f, "a message of p{from} to p{to} is lost")?,
            Happening::Suspect { observer, victim } => {
                write!(f, "p{observer} wrongly suspects p{victim}")?;
            }
            Happening::Trust { observer, victim } => write!(f, "p{observer} trusts p{victim}")?,
        }
        match self.crash_after {
            Some(sends) => write!(f, " and crashes after {sends} sends"),
            None => Ok(()),
        }
    }
}

/// What a process is told.
enum Input<P: Process> {
    Message(u8, P::Message),
    Command(P::Command),
    Belief(Belief),
    Start,
}

type Next<P, L> = Successor<State<P, L>, Action>;

impl<P, U, F> World<P, U, F>
where
    P: Process,
    U: Users<P>,
    F: Fn(ProcessId) -> P + Sync,
{
    /// The first state.
    pub(crate) fn first(&self) -> State<P, U::Place> {
        let node = |id: ProcessId| Arc::new(Node::new(Some((self.make)(id)), self.users.place(id)));
        let mut state = State {
            nodes: ProcessId::all(self.n).map(node).collect(),
            letters: Vec::new(),
            news: Pairs::default(),
            suspected: Pairs::default(),
            budget: self.budget,
        };
        for process in 0..self.n as u8 {
            self.tell(&mut state, process, Input::Start, None);
        }
        state
    }

    /// Tells a process something and does what it wants; the number of recipients of its first multicast.
    fn tell(
        &self,
        state: &mut State<P, U::Place>,
        id: u8,
        input: Input<P>,
        crash_after: Option<u8>,
    ) -> u8 {
        let node = &state.nodes[usize::from(id)];
        let Some(mut process) = node.process.clone() else { return 0 };
        let mut place = node.place.clone();
        let mut out = Effects::new(Time::ZERO);
        match input {
            Input::Start => process.on_start(&mut out),
            Input::Message(from, message) => process.on_message(named(from), message, &mut out),
            Input::Belief(belief) => process.on_belief(belief, &mut out),
            Input::Command(command) => {
                self.users.asked(&mut place, &command);
                // A refusal would be a mistake of the users, which ask only what makes sense.
                let _ = process.on_command(command, &mut out);
            }
        }
        let mut to_self = std::collections::VecDeque::new();
        let mut multicast = 0;
        loop {
            for effect in out.drain() {
                match effect {
                    Effect::Send { to, message } if to == named(id) => to_self.push_back(message),
                    Effect::Send { to, message } => state.post(self.n, id, to, message),
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
                                false => state.post(self.n, id, to, message.clone()),
                            }
                        }
                        if crash_after.is_some() {
                            state.nodes[usize::from(id)] =
                                Arc::new(Node::new(Some(process), place));
                            self.crash(state, id);
                            return multicast;
                        }
                    }
                    Effect::Output(output) => self.users.told(&mut place, &output),
                    Effect::SetTimer { .. } | Effect::AwaitRound => {
                        self.strayed.store(true, Ordering::Relaxed);
                    }
                    Effect::CancelTimer(_) | Effect::Believed(_) | Effect::Ignored(_) => {}
                }
            }
            let Some(message) = to_self.pop_front() else { break };
            process.on_message(named(id), message, &mut out);
        }
        state.nodes[usize::from(id)] = Arc::new(Node::new(Some(process), place));
        multicast
    }

    fn crash(&self, state: &mut State<P, U::Place>, victim: u8) {
        // What a crashed process was is of no more interest: all that are down are alike.
        let place = self.users.place(named(victim));
        state.nodes[usize::from(victim)] = Arc::new(Node::new(None, place));
        state.letters.retain(|letter| letter.to != victim);
        state.news.forget(victim);
        state.suspected.forget(victim);
        state.budget.crashes -= 1;
        for observer in 0..self.n as u8 {
            if state.is_up(observer) {
                match state.suspected.contains(observer, victim) {
                    // It was wrong, and now is right.
                    true => state.suspected.remove(observer, victim),
                    false => state.news.insert(observer, victim),
                }
            }
        }
    }

    /// What comes of something that befalls a process; the number of recipients of its first multicast.
    fn befall(
        &self,
        state: &State<P, U::Place>,
        what: Happening,
        crash_after: Option<u8>,
    ) -> (State<P, U::Place>, u8) {
        let mut next = state.clone();
        let (process, input) = match what {
            Happening::Deliver { from, to, place } => {
                let letter = next.take(from, to, place);
                (to, Input::Message(from, letter.message))
            }
            Happening::Ask(process) => {
                let place = &state.nodes[usize::from(process)].place;
                let (command, _) = self.users.wish(place).expect("a user asks what it wishes");
                (process, Input::Command(command))
            }
            Happening::Tell { observer, victim } => {
                next.news.remove(observer, victim);
                (observer, Input::Belief(Belief::Crashed(named(victim))))
            }
            Happening::Suspect { observer, victim } => {
                next.budget.suspicions -= 1;
                next.suspected.insert(observer, victim);
                (observer, Input::Belief(Belief::Crashed(named(victim))))
            }
            Happening::Trust { observer, victim } => {
                next.suspected.remove(observer, victim);
                (observer, Input::Belief(Belief::Alive(named(victim))))
            }
            Happening::Crash(victim) => {
                self.crash(&mut next, victim);
                return (next, 0);
            }
            Happening::Lose { from, to, place } => {
                next.take(from, to, place);
                next.budget.losses -= 1;
                return (next, 0);
            }
        };
        let multicast = self.tell(&mut next, process, input, crash_after);
        self.rebase(&mut next);
        (next, if self.immune & (1 << process) == 0 { multicast } else { 0 })
    }

    /// Lowers all numbers of which only differences matter, where states are to come again.
    fn rebase(&self, state: &mut State<P, U::Place>) {
        if !self.restless {
            return;
        }
        let mut least = u64::MAX;
        let mut look = |number: &mut u64| least = least.min(*number);
        for node in &state.nodes {
            node.process.clone().iter_mut().for_each(|process| process.relative(&mut look));
        }
        state.letters.iter_mut().for_each(|letter| letter.message.relative(&mut look));
        if least == 0 || least == u64::MAX {
            return;
        }
        let mut lower = |number: &mut u64| *number -= least;
        for node in &mut state.nodes {
            let mut process = node.process.clone();
            process.iter_mut().for_each(|process| process.relative(&mut lower));
            *node = Arc::new(Node::new(process, node.place.clone()));
        }
        for letter in &mut state.letters {
            letter.message.relative(&mut lower);
            letter.print = fingerprint_of(&letter.message);
        }
    }

    /// What comes of an action.
    pub(crate) fn after(
        &self,
        state: &State<P, U::Place>,
        Action { what, crash_after }: Action,
    ) -> State<P, U::Place> {
        self.befall(state, what, crash_after).0
    }

    /// Adds what comes of something, and what comes of it if the process crashes on the way.
    fn push(
        &self,
        state: &State<P, U::Place>,
        what: Happening,
        class: Option<Class>,
        successors: &mut Vec<Next<P, U::Place>>,
    ) {
        let (next, multicast) = self.befall(state, what, None);
        successors.push(Successor {
            action: Action { what, crash_after: None },
            class,
            state: next,
        });
        if state.budget.crashes > 0 {
            for sends in 0..multicast {
                let crash_after = Some(sends);
                let (next, _) = self.befall(state, what, crash_after);
                successors.push(Successor {
                    action: Action { what, crash_after },
                    class: None,
                    state: next,
                });
            }
        }
    }

    /// What can happen at one process.
    fn at(&self, state: &State<P, U::Place>, process: u8, successors: &mut Vec<Next<P, U::Place>>) {
        if let Some((_, will)) = self.users.wish(&state.nodes[usize::from(process)].place) {
            let class = will.then_some(Class(u16::from(process)));
            self.push(state, Happening::Ask(process), class, successors);
        }
        let mut place = 0;
        for (index, letter) in state.letters.iter().enumerate() {
            let same_link = index > 0 && {
                let last = &state.letters[index - 1];
                (last.from, last.to) == (letter.from, letter.to)
            };
            place = if same_link { place + 1 } else { 0 };
            if letter.to != process || (self.fifo && same_link) {
                continue;
            }
            let (from, to) = (letter.from, letter.to);
            self.push(
                state,
                Happening::Deliver { from, to, place },
                Some(class_of(8, from, to)),
                successors,
            );
        }
        for victim in 0..self.n as u8 {
            if state.news.contains(process, victim) {
                let class = Some(class_of(72, process, victim));
                self.push(state, Happening::Tell { observer: process, victim }, class, successors);
            }
            if state.suspected.contains(process, victim) {
                let class = Some(class_of(136, process, victim));
                let what = Happening::Trust { observer: process, victim };
                self.push(state, what, class, successors);
            }
        }
    }

    /// What may go wrong.
    fn mishaps(&self, state: &State<P, U::Place>, successors: &mut Vec<Next<P, U::Place>>) {
        let up = || (0..self.n as u8).filter(|process| state.is_up(*process));
        if state.budget.crashes > 0 {
            let mortal = up().filter(|victim| self.immune & (1 << victim) == 0);
            mortal.for_each(|victim| self.push(state, Happening::Crash(victim), None, successors));
        }
        if state.budget.losses > 0 {
            let mut last = None;
            for letter in &state.letters {
                let link = (letter.from, letter.to);
                let place = match last {
                    Some((known, place)) if known == link => place + 1,
                    _ => 0,
                };
                last = Some((link, place));
                let what = Happening::Lose { from: letter.from, to: letter.to, place };
                self.push(state, what, None, successors);
            }
        }
        if state.budget.suspicions > 0 {
            for observer in up() {
                let whom = up().filter(|victim| *victim != observer);
                for victim in whom.filter(|victim| !state.suspected.contains(observer, *victim)) {
                    self.push(state, Happening::Suspect { observer, victim }, None, successors);
                }
            }
        }
    }
}

/// Classes of the same sort of action begin at `base`.
fn class_of(base: u16, a: u8, b: u8) -> Class {
    Class(base + u16::from(a) * PROCESSES_MOST as u16 + u16::from(b))
}

fn named(process: u8) -> ProcessId {
    ProcessId::new(process.into())
}

impl<P: Process, L> State<P, L> {
    fn is_up(&self, process: u8) -> bool {
        self.nodes[usize::from(process)].process.is_some()
    }

    /// The links of all messages under way.
    pub(crate) fn links(&self) -> impl Iterator<Item = (u8, u8)> {
        self.letters.iter().map(|letter| (letter.from, letter.to))
    }

    /// The user at a process that is up.
    pub(crate) fn place(&self, process: u8) -> Option<&L> {
        let node = &self.nodes[usize::from(process)];
        node.process.as_ref().map(|_| &node.place)
    }

    /// Puts a message behind those of its link.
    fn post(&mut self, n: usize, from: u8, to: ProcessId, message: P::Message) {
        if to.index() >= n || !self.is_up(to.index() as u8) {
            return;
        }
        let to = to.index() as u8;
        let place = self.letters.partition_point(|letter| (letter.from, letter.to) <= (from, to));
        let print = fingerprint_of(&message);
        self.letters.insert(place, Letter { from, to, print, message });
    }

    fn take(&mut self, from: u8, to: u8, place: u8) -> Letter<P::Message> {
        let first = self.letters.partition_point(|letter| (letter.from, letter.to) < (from, to));
        self.letters.remove(first + usize::from(place))
    }
}

impl<P: Process, L: std::hash::Hash> Node<P, L> {
    fn new(process: Option<P>, place: L) -> Self {
        let print = match &process {
            Some(process) => fingerprint_of(&(process, &place)),
            None => 1,
        };
        Self { process, place, print }
    }
}

impl<P, U, F> Model for World<P, U, F>
where
    P: Process,
    U: Users<P>,
    F: Fn(ProcessId) -> P + Sync,
{
    type State = State<P, U::Place>;
    type Action = Action;

    fn starts(&self) -> Vec<Self::State> {
        vec![self.first()]
    }

    fn fingerprint(&self, state: &Self::State) -> Fingerprint {
        let mut mixer = Mixer::default();
        state.nodes.iter().for_each(|node| mixer.write_u128(node.print));
        let mut letters = state.letters.iter().peekable();
        while let Some(letter) = letters.next() {
            let mut print = letter.print;
            // Without an order, a link is a heap of messages.
            while let Some(next) = letters
                .next_if(|next| !self.fifo && (next.from, next.to) == (letter.from, letter.to))
            {
                print = print.wrapping_add(next.print);
            }
            mixer.write_u64(u64::from(letter.from) << 8 | u64::from(letter.to) | 1 << 16);
            mixer.write_u128(print);
        }
        mixer.write_u64(state.news.0);
        mixer.write_u64(state.suspected.0);
        let Budget { crashes, losses, suspicions } = state.budget;
        mixer.write_u64(u64::from(crashes) << 16 | u64::from(losses) << 8 | u64::from(suspicions));
        mixer.fingerprint()
    }

    fn successors(&self, state: &Self::State, successors: &mut Vec<Next<P, U::Place>>) {
        if self.is_reduced() && self.successors_of_one(state, successors) {
            return;
        }
        for process in (0..self.n as u8).filter(|process| state.is_up(*process)) {
            self.at(state, process, successors);
        }
        self.mishaps(state, successors);
    }

    fn broken(&self, state: &Self::State) -> Option<Property> {
        let up = state.nodes.iter().filter(|node| node.process.is_some());
        self.users.broken(up.map(|node| &node.place))
    }

    fn waiting(&self, state: &Self::State) -> u64 {
        let waits =
            |node: &Arc<Node<P, U::Place>>| node.process.is_some() && self.users.waits(&node.place);
        let bits = state.nodes.iter().enumerate().filter(|(_, node)| waits(node));
        bits.fold(0, |all, (process, _)| all | 1 << process)
    }

    fn patience(&self) -> Option<Property> {
        Some(self.users.patience())
    }

    fn seen(&self, state: &Self::State) -> u64 {
        let pleased = state.nodes.iter().any(|node| self.users.is_pleased(&node.place));
        u64::from(pleased)
    }

    fn hopes(&self) -> u64 {
        1
    }

    fn is_reduced(&self) -> bool {
        self.reduce && !self.restless
    }

    fn bytes(&self, state: &Self::State) -> usize {
        // A node is shared by most of its state's successors: about one is a state's own.
        let nodes = state.nodes.len() * size_of::<usize>() + size_of::<Node<P, U::Place>>() + 64;
        let letters = state.letters.capacity() * size_of::<Letter<P::Message>>();
        size_of::<Self::State>() + nodes + letters + 64
    }
}
