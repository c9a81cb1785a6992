//! The model of a small world: processes, what is under way between them, their users, and what may go wrong.
//!
//! - Time does not exist, unless there are timers: whatever can happen may happen next. A message to oneself takes no time.
//! - Links are reliable, and keep their order or do not. Each loss, crash or wrong suspicion takes something from a
//!   budget.
//! - A crash may come in the middle of a multicast. Who is up is told of it some time, and what is sent to the crashed
//!   vanishes. A crashed process is forgotten, unless the budget lets it come back with its memory and without its timers.
//! - A round is over when nothing is under way and nobody who is up has anything else to do but to wait for its end.
//! - Timers run only where a bound on the time of a message is given (`timing.rs`); elsewhere a process that sets one
//!   makes the exploration void.
//!
//! A state is made of numbers (`state.rs`): each process with its user is kept once (`shelf.rs`), and so is what comes of
//! telling it something (`transition.rs`).

mod cast;
mod reduction;
mod shelf;
mod state;
mod symmetry;
mod timing;
mod transition;

use std::fmt;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use quorate_core::{Process, ProcessId, Property, Span};

use crate::{Class, Fingerprint, Model, Successor, Users};

use cast::{Cast, Insides, Look};
use shelf::Shelf;
use state::Letter;
use symmetry::Renaming;
use transition::{Input, Outcome};

pub use state::State;

/// More processes than this cannot be explored: who knows what of whom is kept in 64 bits.
pub(crate) const PROCESSES_MOST: usize = 8;

/// How much may go wrong.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Budget {
    /// How many processes may crash.
    pub crashes: u8,
    /// How many of them may come back with their memory.
    pub recoveries: u8,
    /// How many messages may be lost.
    pub losses: u8,
    /// How often somebody may be suspected wrongly.
    pub suspicions: u8,
}

/// The model. Its processes and their users are known by numbers: see `cast.rs`.
pub struct World<'w> {
    pub(crate) n: usize,
    insides: Box<dyn Insides + 'w>,
    /// How much may go wrong.
    pub budget: Budget,
    /// Whether links keep the order of messages.
    pub fifo: bool,
    /// Whether deliveries to different processes that commute are gone through in one order only.
    pub reduce: bool,
    /// Whether worlds that differ only in who is who are taken for one.
    pub nameless: bool,
    /// The property to look for, if not for all.
    pub only: Option<Property>,
    /// Whether states may come again.
    pub restless: bool,
    /// Who does not crash, as bits.
    pub immune: u64,
    /// Whether timers run.
    in_time: bool,
    /// Set when an order of deliveries was left out, so that a way may not be a shortest one.
    skipped: AtomicBool,
    outcomes: Shelf<Outcome>,
    renamings: OnceLock<Vec<Renaming>>,
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
    /// A process that has crashed comes back with its memory.
    Recover(u8),
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
    /// A process is told that the round is over.
    RoundEnd(u8),
    /// A timer runs out: the one at this place among those of its process.
    Expire {
        /// Whose.
        process: u8,
        /// Which.
        place: u8,
    },
    /// Time goes by.
    Instant,
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
            Happening::Recover(process) => write!(f, "p{process} comes back")?,
            Happening::Lose { from, to, .. } => write!(f, "a message of p{from} to p{to} is lost")?,
            Happening::Suspect { observer, victim } => {
                write!(f, "p{observer} wrongly suspects p{victim}")?;
            }
            Happening::Trust { observer, victim } => write!(f, "p{observer} trusts p{victim}")?,
            Happening::RoundEnd(process) => write!(f, "the round is over for p{process}")?,
            Happening::Expire { process, .. } => write!(f, "a timer of p{process} runs out")?,
            Happening::Instant => write!(f, "time goes by, as long as a message takes at most")?,
        }
        match self.crash_after {
            Some(1) => write!(f, " and crashes after 1 send"),
            Some(sends) => write!(f, " and crashes after {sends} sends"),
            None => Ok(()),
        }
    }
}

type Next = Successor<State, Action>;

impl<'w> World<'w> {
    /// Of n processes and their users, with reliable links that keep their order, and nothing that goes wrong.
    pub fn new<P, U>(n: usize, make: impl Fn(ProcessId) -> P + Send + Sync + 'w, users: U) -> Self
    where
        P: Process + 'w,
        U: Users<Command = P::Command, Output = P::Output> + 'w,
    {
        Self::of(n, Box::new(Cast::new(n, make, users)))
    }

    fn of(n: usize, insides: Box<dyn Insides + 'w>) -> Self {
        Self {
            n,
            insides,
            budget: Budget::default(),
            fifo: true,
            reduce: true,
            nameless: true,
            only: None,
            restless: false,
            immune: 0,
            in_time: false,
            skipped: AtomicBool::new(false),
            outcomes: Shelf::default(),
            renamings: OnceLock::new(),
        }
    }

    fn reduces(&self) -> bool {
        self.reduce && !self.restless && !self.in_time
    }

    /// Whether a process that crashes may come back.
    fn remembers(&self) -> bool {
        self.budget.recoveries > 0
    }

    fn is_looked_for(&self, property: Property) -> bool {
        self.only.is_none_or(|only| only == property)
    }

    /// Who may be called what, worked out once.
    fn renamings(&self) -> &[Renaming] {
        let work_out =
            || if self.nameless && !self.in_time { self.symmetries() } else { Vec::new() };
        self.renamings.get_or_init(work_out)
    }

    /// Whether orders of deliveries were left out, so that there may be a shorter way to what was found.
    pub fn has_skipped(&self) -> bool {
        self.skipped.load(Ordering::Relaxed)
    }

    /// The same world, explored without leaving anything out.
    #[must_use]
    pub fn in_full(mut self) -> Self {
        (self.reduce, self.nameless, self.renamings) = (false, false, OnceLock::new());
        self
    }

    /// The same world, in which timers run and a message takes so long at most.
    #[must_use]
    pub fn in_time(mut self, bound: Span) -> Self {
        self.insides.run_timers(bound);
        Self {
            budget: self.budget,
            fifo: self.fifo,
            only: self.only,
            restless: self.restless,
            immune: self.immune,
            in_time: true,
            ..Self::of(self.n, self.insides)
        }
    }

    /// Whether a process has set a timer and none runs, so that nothing was shown.
    pub fn has_strayed(&self) -> bool {
        self.insides.has_strayed()
    }

    /// The first state.
    pub(crate) fn first(&self) -> State {
        let nodes = (0..self.n as u8).map(|id| self.insides.begin(id));
        let mut state = State::new(nodes, self.budget);
        for process in 0..self.n as u8 {
            self.tell_one(&mut state, process, Input::Start, None);
        }
        self.settle(&mut state);
        state
    }

    /// Whether the user at a process is bound to ask at the start.
    pub(crate) fn is_bound_to_ask(&self, process: u8) -> bool {
        self.insides.look(self.insides.begin(process)).wish == Some(true)
    }

    /// Whether a process is up and its user inside.
    pub(crate) fn is_inside(&self, state: &State, process: u8) -> bool {
        state.is_up(process) && self.look(state, process).is_inside
    }

    fn look(&self, state: &State, process: u8) -> &Look {
        self.insides.look(state.node(process))
    }

    /// Tells a process something and does what it wants; the number of recipients of its first multicast.
    fn tell_one(
        &self,
        state: &mut State,
        process: u8,
        input: Input,
        crash_after: Option<u8>,
    ) -> u8 {
        let outcome = self.outcome(process, state.node(process), input, crash_after);
        for (to, message) in &outcome.posts {
            state.post(Letter::new(process, *to, *message));
        }
        match crash_after {
            Some(_) => self.lay_down(state, process, outcome.node),
            None => state.set_node(process, outcome.node),
        }
        outcome.multicast
    }

    /// A process is down, and its node is this.
    fn lay_down(&self, state: &mut State, victim: u8, node: u32) {
        state.lay_down(victim, node);
        state.budget.crashes -= 1;
        for observer in state.up() {
            match state.suspected.contains(observer, victim) {
                // It was wrong, and now is right.
                true => {
                    state.suspected.remove(observer, victim);
                    self.note_told(state, observer, victim);
                }
                false => state.news.insert(observer, victim),
            }
        }
    }

    fn note_told(&self, state: &mut State, observer: u8, victim: u8) {
        if self.remembers() {
            state.told.insert(observer, victim);
        }
    }

    /// A process is up again. Who was told of its crash is told of its return; it is told who is down, whether it knew or
    /// not, and who no longer is.
    fn stand_up(&self, state: &mut State, process: u8) {
        for other in state.up() {
            if state.news.contains(other, process) {
                state.news.remove(other, process);
            }
            for (observer, victim) in [(other, process), (process, other)] {
                if state.told.contains(observer, victim) {
                    state.told.remove(observer, victim);
                    state.suspected.insert(observer, victim);
                }
            }
        }
        state.stand_up(process);
        state.budget.recoveries -= 1;
        for other in state.down() {
            state.news.insert(process, other);
        }
    }

    /// What comes of something that befalls a process; the number of recipients of its first multicast.
    fn befall(&self, state: &State, what: Happening, crash_after: Option<u8>) -> (State, u8) {
        let mut next = state.clone();
        let (process, input) = match what {
            Happening::Deliver { from, to, place } => {
                let letter = next.take(from, to, place);
                (to, Input::Message { from, message: letter.message() })
            }
            Happening::Ask(process) => (process, Input::Wish),
            Happening::Tell { observer, victim } => {
                next.news.remove(observer, victim);
                self.note_told(&mut next, observer, victim);
                (observer, Input::Crashed(victim))
            }
            Happening::Suspect { observer, victim } => {
                next.budget.suspicions -= 1;
                next.suspected.insert(observer, victim);
                (observer, Input::Crashed(victim))
            }
            Happening::Trust { observer, victim } => {
                next.suspected.remove(observer, victim);
                (observer, Input::Alive(victim))
            }
            Happening::RoundEnd(process) => {
                next.rounding &= !(1 << process);
                (process, Input::RoundEnd(next.round - 1))
            }
            Happening::Expire { process, place } => (process, Input::Expired(place)),
            Happening::Instant => {
                next.grow_late();
                next.rewrite(|message| self.insides.older_message(message));
                for process in (0..self.n as u8).filter(|id| self.look(state, *id).exists) {
                    self.tell_one(&mut next, process, Input::Instant, None);
                }
                return (next, 0);
            }
            Happening::Recover(process) => {
                self.stand_up(&mut next, process);
                (process, Input::Recovered)
            }
            Happening::Crash(victim) => {
                let node = self.insides.down(victim, state.node(victim), self.remembers());
                self.lay_down(&mut next, victim, node);
                self.settle(&mut next);
                return (next, 0);
            }
            Happening::Lose { from, to, place } => {
                next.take(from, to, place);
                next.budget.losses -= 1;
                self.settle(&mut next);
                return (next, 0);
            }
        };
        let multicast = self.tell_one(&mut next, process, input, crash_after);
        self.rebase(&mut next);
        self.settle(&mut next);
        (next, if self.immune & (1 << process) == 0 { multicast } else { 0 })
    }

    /// Ends the round if nothing is left of it.
    fn settle(&self, state: &mut State) {
        if state.rounding != 0 || state.letters().len() > 0 {
            return;
        }
        let awaits = |process: &u8| self.look(state, *process).awaits_round;
        let awaiting = state.up().filter(awaits).fold(0, |all, process| all | 1 << process);
        let will = |process| self.look(state, process).wish == Some(true);
        if awaiting != 0 && !state.up().any(will) {
            state.rounding = awaiting;
            state.round += 1;
        }
    }

    /// Lowers all numbers of which only differences matter, where states are to come again. In time they are moments, which
    /// instants lower.
    fn rebase(&self, state: &mut State) {
        if !self.restless || self.in_time {
            return;
        }
        let nodes = state.nodes().iter().map(|node| self.insides.look(*node).least);
        let letters = state.letters().map(|letter| self.insides.message(letter.message()).least);
        let least = nodes.chain(letters).min().unwrap_or(0);
        if least == 0 || least == u64::MAX {
            return;
        }
        for process in 0..self.n as u8 {
            state.set_node(process, self.insides.lowered(process, state.node(process), least));
        }
        state.rewrite(|message| self.insides.lowered_message(message, least));
    }

    /// What comes of an action.
    pub(crate) fn after(&self, state: &State, Action { what, crash_after }: Action) -> State {
        self.befall(state, what, crash_after).0
    }

    /// Adds what comes of something, and what comes of it if the process crashes on the way.
    fn push(
        &self,
        state: &State,
        what: Happening,
        class: Option<Class>,
        successors: &mut Vec<Next>,
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
    fn at(&self, state: &State, process: u8, successors: &mut Vec<Next>) {
        if let Some(will) = self.look(state, process).wish {
            let class = will.then_some(Class(u16::from(process)));
            self.push(state, Happening::Ask(process), class, successors);
        }
        let (mut place, mut last) = (0, None);
        for letter in state.letters() {
            let same_link = last == Some(letter.link());
            (place, last) = (if same_link { place + 1 } else { 0 }, Some(letter.link()));
            if letter.to() != process || (self.fifo && same_link) {
                continue;
            }
            let (from, to) = (letter.from(), letter.to());
            let what = Happening::Deliver { from, to, place };
            self.push(state, what, Some(class_of(8, from, to)), successors);
        }
        if !(state.news.any_of(process) || state.suspected.any_of(process)) {
            return;
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
    fn mishaps(&self, state: &State, successors: &mut Vec<Next>) {
        if state.budget.crashes > 0 {
            let mortal = state.up().filter(|victim| self.immune & (1 << victim) == 0);
            mortal.for_each(|victim| self.push(state, Happening::Crash(victim), None, successors));
        }
        if state.budget.recoveries > 0 {
            let back = state.down().filter(|process| self.look(state, *process).exists);
            back.for_each(|process| {
                self.push(state, Happening::Recover(process), None, successors)
            });
        }
        if state.budget.losses > 0 {
            let (mut place, mut last) = (0, None);
            for letter in state.letters() {
                let same_link = last == Some(letter.link());
                (place, last) = (if same_link { place + 1 } else { 0 }, Some(letter.link()));
                let what = Happening::Lose { from: letter.from(), to: letter.to(), place };
                self.push(state, what, None, successors);
            }
        }
        if state.budget.suspicions > 0 {
            for observer in state.up() {
                let whom = state.up().filter(|victim| *victim != observer);
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

impl Model for World<'_> {
    type State = State;
    type Action = Action;

    fn starts(&self) -> Vec<State> {
        vec![self.first()]
    }

    fn fingerprint(&self, state: &State) -> Fingerprint {
        match self.renamings() {
            [] => state.fingerprint(self.fifo),
            renamings => self.nameless(state, renamings),
        }
    }

    fn successors(&self, state: &State, successors: &mut Vec<Next>) {
        if state.rounding != 0 {
            // At the end of a round nobody hears of what the others do: one order is as good as another.
            let process = state.rounding.trailing_zeros() as u8;
            let class = Some(Class(200 + u16::from(process)));
            self.push(state, Happening::RoundEnd(process), class, successors);
            return;
        }
        if self.reduces() && self.successors_of_one(state, successors) {
            self.skipped.store(true, Ordering::Relaxed);
            return;
        }
        state.up().for_each(|process| self.at(state, process, successors));
        if self.in_time {
            self.by_time(state, successors);
        }
        self.mishaps(state, successors);
    }

    fn broken(&self, state: &State) -> Option<Property> {
        self.insides.broken(state.nodes()).filter(|property| self.is_looked_for(*property))
    }

    fn broken_at_rest(&self, state: &State) -> Option<Property> {
        let broken = match self.waiting(state) {
            0 => self.insides.broken_at_rest(state.nodes()),
            _ => Some(self.insides.patience()),
        };
        broken.filter(|property| self.is_looked_for(*property))
    }

    fn waiting(&self, state: &State) -> u8 {
        let waits = |process: &u8| self.look(state, *process).waits;
        state.up().filter(waits).fold(0, |all, process| all | 1 << process)
    }

    fn patience(&self) -> Option<Property> {
        Some(self.insides.patience()).filter(|property| self.is_looked_for(*property))
    }

    fn seen(&self, state: &State) -> u64 {
        u64::from(state.nodes().iter().any(|node| self.insides.look(*node).is_pleased))
    }

    fn hopes(&self) -> u64 {
        1
    }

    fn is_reduced(&self) -> bool {
        self.reduces() || !self.renamings().is_empty()
    }

    fn is_void(&self) -> bool {
        self.has_strayed()
    }

    fn bytes(&self, state: &State) -> usize {
        state.bytes()
    }
}
