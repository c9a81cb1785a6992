//! Model of a small world: processes, their users, the messages in flight, and the faults that may happen.
//!
//! - There is no time unless timers run: any enabled action may happen next. A message to oneself takes no time.
//! - Links are reliable, and either FIFO or unordered. Each loss, crash or wrong suspicion consumes part of a budget.
//! - A process may crash in the middle of a multicast. Every live process is eventually notified of a crash, and messages
//!   to the crashed process are dropped. The state of a crashed process is discarded, unless the budget lets it recover
//!   with its memory and without its timers.
//! - A round ends when no message is in flight and no live process must do anything but wait for the end of the round.
//! - A traitor treats each message that it should send by a fixed strategy. It does not crash as well.
//! - Timers run only if a bound on message delay is given, or if they may expire at any time (`timing.rs`). Otherwise a
//!   process that sets a timer makes the exploration void.
//!
//! A state consists of numbers (`state.rs`). Each process with its user is stored once (`interner.rs`), and so is the
//! result of each input to it (`transition.rs`).

mod action;
mod canonical;
// Unit tests explore no type-erased processes, and these worlds take most of the time to compile this crate.
#[cfg(not(test))]
mod erased;
mod interner;
mod node_store;
mod packing;
mod recall;
mod reduction;
mod saving;
mod state;
mod symmetry;
mod timing;
mod transition;

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use quorate_core::{Process, ProcessId, Property, Span};
use quorate_sim::traitor::Strategy;

use crate::{FairnessClass, Fingerprint, Model, PackedModel, Successor, Users};

use interner::Interner;
use node_store::{CounterRange, NodeStore, NodeSummary, TypedNodeStore};
use state::Envelope;
use symmetry::Renaming;
use timing::Timing;
use transition::{Input, MessageChange, Transition};

pub use action::{Action, ActionKind};
#[cfg(not(test))]
pub use erased::{ErasedFamily, ErasedProcesses};
pub use state::State;

/// Maximum number of processes. Relations between two processes are kept in 64 bits, one bit per pair.
pub const PROCESSES_MOST: usize = 8;

/// Maximum number of faults of each kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Budget {
    /// Number of crashes that may happen.
    pub crashes: u8,
    /// Number of times that a crashed process may recover with its memory.
    pub recoveries: u8,
    /// Number of messages that may be lost.
    pub losses: u8,
    /// Number of wrong suspicions that may happen.
    pub suspicions: u8,
    /// Number of timers that may expire, if they may expire at any time.
    pub timeouts: u8,
}

/// Model of processes and their users, which it knows only by number: see `node_store.rs`.
pub struct World<'w> {
    pub(crate) n: usize,
    /// Distinguishes its memo tables from those of other worlds.
    number: u64,
    store: Box<dyn NodeStore + 'w>,
    /// Maximum number of faults of each kind.
    pub budget: Budget,
    /// Whether links are FIFO.
    pub fifo: bool,
    /// Whether only one order is explored of deliveries to different processes that commute.
    pub partial_order_reduction: bool,
    /// Whether states that differ only by a renaming of processes count as one.
    pub symmetry_reduction: bool,
    /// Whether states count as one that differ only by the same amount in all logical clocks and stamps.
    pub clock_reduction: bool,
    /// Whether states count as one that differ only in values that no later step can read.
    pub dead_value_reduction: bool,
    /// Whether states count as one that differ only in the order in which timers were set. Must be set before timers run.
    pub timer_reduction: bool,
    /// The only property to check; `None` checks all properties.
    pub only: Option<Property>,
    /// Whether processes never become quiescent. Then counters are rebased so that states recur,
    /// and partial-order reduction is off.
    pub never_quiescent: bool,
    /// Maximum difference that matters between counters that are rebased; `None` if every difference matters.
    pub counter_window: Option<u64>,
    /// Bit set of the processes that never crash.
    pub immune: u64,
    /// Bit set of the processes whose timers never expire, if timers may expire at any time.
    pub never_expiring: u64,
    timing: Timing,
    /// Set once an order of deliveries was skipped. A path may then not be a shortest one.
    skipped: AtomicBool,
    transitions: Interner<Transition>,
    renamings: OnceLock<Vec<Renaming>>,
}

type Next = Successor<State, Action>;

impl<'w> World<'w> {
    /// Creates a world of n processes and their users, with reliable FIFO links and without faults.
    pub fn new<P, U>(n: usize, make: impl Fn(ProcessId) -> P + Send + Sync + 'w, users: U) -> Self
    where
        P: Process + 'w,
        U: Users<Command = P::Command, Output = P::Output> + 'w,
    {
        Self::of(n, Box::new(TypedNodeStore::new(n, make, users)))
    }

    fn of(n: usize, store: Box<dyn NodeStore + 'w>) -> Self {
        Self {
            n,
            number: recall::world_number(),
            store,
            budget: Budget::default(),
            fifo: true,
            partial_order_reduction: true,
            symmetry_reduction: true,
            clock_reduction: false,
            dead_value_reduction: false,
            timer_reduction: false,
            only: None,
            never_quiescent: false,
            counter_window: None,
            immune: 0,
            never_expiring: 0,
            timing: Timing::None,
            skipped: AtomicBool::new(false),
            transitions: Interner::default(),
            renamings: OnceLock::new(),
        }
    }

    fn uses_partial_order_reduction(&self) -> bool {
        match self.timing {
            Timing::None => self.partial_order_reduction && !self.never_quiescent,
            Timing::Instants => false,
            // Once no timer may expire any more, only messages are left, and their number is finite.
            Timing::AnyTime => self.partial_order_reduction,
        }
    }

    /// Whether a process that crashes may recover.
    fn may_recover(&self) -> bool {
        self.budget.recoveries > 0
    }

    fn is_checked(&self, property: Property) -> bool {
        self.only.is_none_or(|only| only == property)
    }

    /// Renamings under which the initial state does not change, computed once.
    fn renamings(&self) -> &[Renaming] {
        let work_out = || match self.symmetry_reduction && self.timing == Timing::None {
            true => self.symmetries(),
            false => Vec::new(),
        };
        self.renamings.get_or_init(work_out)
    }

    /// Whether orders of deliveries were skipped. If so, there may be a shorter path to the violation found.
    pub fn has_skipped(&self) -> bool {
        self.skipped.load(Ordering::Relaxed)
    }

    /// The same world, explored without reductions.
    #[must_use]
    pub fn without_reductions(mut self) -> Self {
        self.partial_order_reduction = false;
        (self.symmetry_reduction, self.renamings) = (false, OnceLock::new());
        (self.clock_reduction, self.dead_value_reduction) = (false, false);
        self
    }

    /// The same world, in which these processes are Byzantine. A random traitor is not a function of its inputs.
    #[must_use]
    pub fn with_traitors(mut self, traitors: &[(ProcessId, Strategy)]) -> Self {
        let is_random = |(_, strategy): &(ProcessId, Strategy)| *strategy == Strategy::Random;
        assert!(!traitors.iter().any(is_random), "a search draws no random numbers");
        self.store.set_traitors(traitors);
        self.immune |= traitors.iter().fold(0, |bits, (traitor, _)| bits | 1 << traitor.index());
        // A strategy distinguishes receivers by their numbers, so renamed worlds differ.
        self.symmetry_reduction &= traitors.is_empty();
        self.dead_value_reduction &= traitors.is_empty();
        self
    }

    /// The same world with timers, in which a message takes at most `bound`.
    #[must_use]
    pub fn with_timers(self, bound: Span) -> Self {
        self.with_timing(Timing::Instants, Some(bound))
    }

    /// The same world with timers that expire at any time, as often as the budget allows. This is how timers behave if
    /// messages may take arbitrarily long.
    #[must_use]
    pub fn with_timeouts(self) -> Self {
        Self {
            partial_order_reduction: self.partial_order_reduction,
            ..self.with_timing(Timing::AnyTime, None)
        }
    }

    fn with_timing(mut self, timing: Timing, bound: Option<Span>) -> Self {
        self.store.enable_timers(bound, self.timer_reduction);
        Self {
            budget: self.budget,
            fifo: self.fifo,
            clock_reduction: self.clock_reduction,
            dead_value_reduction: self.dead_value_reduction,
            timer_reduction: self.timer_reduction,
            only: self.only,
            never_quiescent: self.never_quiescent,
            counter_window: self.counter_window,
            immune: self.immune,
            never_expiring: self.never_expiring,
            timing,
            ..Self::of(self.n, self.store)
        }
    }

    /// Whether a process has set a timer although timers do not run. Then the exploration proves nothing.
    pub fn needs_timing(&self) -> bool {
        self.store.needs_timing()
    }

    /// The initial state, after every process has started.
    pub(crate) fn initial_state(&self) -> State {
        let nodes = (0..self.n as u8).map(|id| self.store.initial_node(id));
        let mut state = State::new(nodes, self.budget);
        for process in 0..self.n as u8 {
            self.step_process(&mut state, process, Input::Start, None);
        }
        self.end_finished_round(&mut state);
        state
    }

    /// Whether the user at a process must issue a command at the start.
    pub(crate) fn must_request(&self, process: u8) -> bool {
        self.store.summary(self.store.initial_node(process)).next_command == Some(true)
    }

    /// Whether a process is up and its user is inside the critical section.
    pub(crate) fn is_inside(&self, state: &State, process: u8) -> bool {
        state.is_up(process) && self.summary(state, process).is_inside
    }

    fn summary(&self, state: &State, process: u8) -> &NodeSummary {
        self.store.summary(state.node(process))
    }

    /// Gives an input to a process and applies its effects. Returns the number of recipients of its first multicast.
    fn step_process(
        &self,
        state: &mut State,
        process: u8,
        input: Input,
        crash_after: Option<u8>,
    ) -> u8 {
        let transition = self.transition(process, state.node(process), input, crash_after);
        for (to, message) in &transition.sent {
            state.enqueue(Envelope::new(process, *to, *message));
        }
        match crash_after {
            Some(_) => self.crash(state, process, transition.node),
            None => state.set_node(process, transition.node),
        }
        transition.multicast
    }

    /// Crashes a process and replaces its node. Every live process must be notified of the crash.
    fn crash(&self, state: &mut State, victim: u8, node: u32) {
        state.crash(victim, node);
        state.budget.crashes -= 1;
        for observer in state.up() {
            match state.suspected.contains(observer, victim) {
                // The suspicion was wrong until now and is correct from now on.
                true => {
                    state.suspected.remove(observer, victim);
                    self.record_notified(state, observer, victim);
                }
                false => state.pending_notices.insert(observer, victim),
            }
        }
    }

    fn record_notified(&self, state: &mut State, observer: u8, victim: u8) {
        if self.may_recover() {
            state.notified.insert(observer, victim);
        }
    }

    /// Marks a process as up again. A process that was notified of its crash suspects it wrongly from now on, until it
    /// learns of the recovery. The recovered process is notified of every process that is down, whether it knew that or
    /// not, and learns which processes have recovered meanwhile.
    fn recover(&self, state: &mut State, process: u8) {
        for other in state.up() {
            if state.pending_notices.contains(other, process) {
                state.pending_notices.remove(other, process);
            }
            for (observer, victim) in [(other, process), (process, other)] {
                if state.notified.contains(observer, victim) {
                    state.notified.remove(observer, victim);
                    state.suspected.insert(observer, victim);
                }
            }
        }
        state.recover(process);
        state.budget.recoveries -= 1;
        for other in state.down() {
            state.pending_notices.insert(process, other);
        }
    }

    /// Applies an action, and replaces the state by its canonical form. Returns the number of recipients of the process's first
    /// multicast (0 for an immune process).
    fn apply(&self, next: &mut State, kind: ActionKind, crash_after: Option<u8>) -> u8 {
        let (process, multicast) = self.raw_apply(next, kind, crash_after);
        let Some(process) = process else { return 0 };
        self.canonicalise(next, process);
        if self.immune & (1 << process) == 0 { multicast } else { 0 }
    }

    /// Applies an action. Returns the process that has made a step, and the number of recipients of its first multicast.
    fn raw_apply(
        &self,
        next: &mut State,
        kind: ActionKind,
        crash_after: Option<u8>,
    ) -> (Option<u8>, u8) {
        let (process, input) = match kind {
            ActionKind::Deliver { from, to, index } => {
                let envelope = next.take(from, to, index);
                (to, Input::Message { from, message: envelope.message() })
            }
            ActionKind::Command(process) => (process, Input::Command),
            ActionKind::NotifyCrash { observer, victim } => {
                next.pending_notices.remove(observer, victim);
                self.record_notified(next, observer, victim);
                (observer, Input::Crashed(victim))
            }
            ActionKind::Suspect { observer, victim } => {
                next.budget.suspicions -= 1;
                next.suspected.insert(observer, victim);
                (observer, Input::Crashed(victim))
            }
            ActionKind::Trust { observer, victim } => {
                next.suspected.remove(observer, victim);
                (observer, Input::Alive(victim))
            }
            ActionKind::RoundEnd(process) => {
                next.round_end_pending &= !(1 << process);
                (process, Input::RoundEnd(next.round - 1))
            }
            ActionKind::Expire { process, index } => {
                next.budget.timeouts = next.budget.timeouts.saturating_sub(1);
                (process, Input::Expired(index))
            }
            ActionKind::Tick => {
                next.mark_late();
                next.map_messages(|message| self.changed_message(message, MessageChange::Aged));
                for process in 0..self.n as u8 {
                    if self.summary(next, process).exists {
                        self.step_process(next, process, Input::Tick, None);
                    }
                }
                return (None, 0);
            }
            ActionKind::Recover(process) => {
                self.recover(next, process);
                (process, Input::Recovered)
            }
            ActionKind::Crash(victim) => {
                let input = Input::Crash { may_recover: self.may_recover() };
                let node = self.transition(victim, next.node(victim), input, None).node;
                self.crash(next, victim, node);
                self.end_finished_round(next);
                return (None, 0);
            }
            ActionKind::Lose { from, to, index } => {
                next.take(from, to, index);
                next.budget.losses -= 1;
                self.end_finished_round(next);
                return (None, 0);
            }
        };
        let multicast = self.step_process(next, process, input, crash_after);
        self.end_finished_round(next);
        (Some(process), multicast)
    }

    /// Ends the round if nothing is left to happen in it.
    fn end_finished_round(&self, state: &mut State) {
        if state.round_end_pending != 0 || state.envelopes().len() > 0 {
            return;
        }
        let awaits = |process: &u8| self.summary(state, *process).awaits_round;
        let awaiting = state.up().filter(awaits).fold(0, |all, process| all | 1 << process);
        let must = |process| self.summary(state, process).next_command == Some(true);
        if awaiting != 0 && !state.up().any(must) {
            state.round_end_pending = awaiting;
            state.round += 1;
        }
    }

    /// Whether every process is up, no message is in flight and no notice is pending. Reductions keep every such state: a
    /// path to it has all deliveries that they explore first.
    fn is_settled(&self, state: &State) -> bool {
        state.envelopes().len() == 0
            && state.down().next().is_none()
            && state.pending_notices.is_empty()
            && state.suspected.is_empty()
    }

    /// Lowers all counters of which only differences matter, so that states recur or equal others. With timers these counters are times,
    /// which each instant lowers instead.
    fn rebase(&self, state: &mut State) {
        if !(self.never_quiescent || self.clock_reduction) || self.timing != Timing::None {
            return;
        }
        let nodes = state.nodes().iter().map(|node| self.store.summary(*node).counters);
        let envelopes =
            state.envelopes().map(|envelope| self.store.message(envelope.message()).counters);
        let counters = nodes.chain(envelopes).flatten().reduce(CounterRange::union);
        let Some(CounterRange { least, greatest }) = counters else { return };
        let by = self.counter_window.map_or(least, |window| greatest.saturating_sub(window));
        // Algorithms may give a time of 0 a meaning of its own.
        let by = by.max(least).saturating_sub(self.clock_reduction.into());
        if by == 0 {
            return;
        }
        for process in 0..self.n as u8 {
            let lowered = self.transition(process, state.node(process), Input::Lowered(by), None);
            state.set_node(process, lowered.node);
        }
        state.map_messages(|message| self.changed_message(message, MessageChange::Lowered(by)));
    }

    /// Returns the state after an action.
    pub(crate) fn after(&self, state: &State, Action { kind, crash_after }: Action) -> State {
        let mut next = state.clone();
        self.apply(&mut next, kind, crash_after);
        next
    }

    /// Returns the state after an action, not in its canonical form.
    fn raw_after(&self, state: &State, Action { kind, crash_after }: Action) -> State {
        let mut next = state.clone();
        self.raw_apply(&mut next, kind, crash_after);
        next
    }

    /// Adds the successor by an action, and the successors in which the process crashes in the
    /// middle of its first multicast.
    fn push(
        &self,
        state: &State,
        kind: ActionKind,
        class: Option<FairnessClass>,
        successors: &mut Vec<Next>,
    ) {
        let multicast = self.push_one(state, Action { kind, crash_after: None }, class, successors);
        if state.budget.crashes > 0 {
            for sends in 0..multicast {
                let action = Action { kind, crash_after: Some(sends) };
                self.push_one(state, action, None, successors);
            }
        }
    }

    /// Adds the successor by an action. Returns the number of recipients of the process's first multicast.
    fn push_one(
        &self,
        state: &State,
        action: Action,
        class: Option<FairnessClass>,
        successors: &mut Vec<Next>,
    ) -> u8 {
        // The state is changed where it stays, because moving it takes as long as most changes.
        successors.push(Successor { action, class, state: state.clone() });
        let next = successors.last_mut().expect("it was pushed");
        self.apply(&mut next.state, action.kind, action.crash_after)
    }

    /// Adds the successors by commands, deliveries, crash notices and ends of suspicions at one process.
    fn process_successors(&self, state: &State, process: u8, successors: &mut Vec<Next>) {
        if let Some(must) = self.summary(state, process).next_command {
            let class = must.then_some(FairnessClass(u16::from(process)));
            self.push(state, ActionKind::Command(process), class, successors);
        }
        let (mut index, mut last) = (0, None);
        for envelope in state.envelopes() {
            let same_link = last == Some(envelope.link());
            (index, last) = (if same_link { index + 1 } else { 0 }, Some(envelope.link()));
            if envelope.to() != process || (self.fifo && same_link) {
                continue;
            }
            let (from, to) = (envelope.from(), envelope.to());
            let kind = ActionKind::Deliver { from, to, index };
            self.push(state, kind, Some(class_of(8, from, to)), successors);
        }
        if !(state.pending_notices.any_of(process) || state.suspected.any_of(process)) {
            return;
        }
        for victim in 0..self.n as u8 {
            if state.pending_notices.contains(process, victim) {
                let class = Some(class_of(72, process, victim));
                self.push(
                    state,
                    ActionKind::NotifyCrash { observer: process, victim },
                    class,
                    successors,
                );
            }
            if state.suspected.contains(process, victim) {
                let class = Some(class_of(136, process, victim));
                let kind = ActionKind::Trust { observer: process, victim };
                self.push(state, kind, class, successors);
            }
        }
    }

    /// Adds the successors by faults that the budget still allows.
    fn fault_successors(&self, state: &State, successors: &mut Vec<Next>) {
        if state.budget.crashes > 0 {
            let mortal = state.up().filter(|victim| self.immune & (1 << victim) == 0);
            mortal.for_each(|victim| self.push(state, ActionKind::Crash(victim), None, successors));
        }
        if state.budget.recoveries > 0 {
            let back = state.down().filter(|process| self.summary(state, *process).exists);
            back.for_each(|process| {
                self.push(state, ActionKind::Recover(process), None, successors)
            });
        }
        if state.budget.losses > 0 {
            let (mut index, mut last) = (0, None);
            for envelope in state.envelopes() {
                let same_link = last == Some(envelope.link());
                (index, last) = (if same_link { index + 1 } else { 0 }, Some(envelope.link()));
                let kind = ActionKind::Lose { from: envelope.from(), to: envelope.to(), index };
                self.push(state, kind, None, successors);
            }
        }
        if state.budget.suspicions > 0 {
            for observer in state.up() {
                let whom = state.up().filter(|victim| *victim != observer);
                for victim in whom.filter(|victim| !state.suspected.contains(observer, *victim)) {
                    self.push(state, ActionKind::Suspect { observer, victim }, None, successors);
                }
            }
        }
    }
}

/// Fairness class of an action that involves two processes. Classes of the same kind of action start at `base`.
fn class_of(base: u16, a: u8, b: u8) -> FairnessClass {
    FairnessClass(base + u16::from(a) * PROCESSES_MOST as u16 + u16::from(b))
}

fn process_id(process: u8) -> ProcessId {
    ProcessId::new(process.into())
}

impl Model for World<'_> {
    type State = State;
    type Action = Action;

    fn initial_states(&self) -> Vec<State> {
        vec![self.initial_state()]
    }

    fn fingerprint(&self, state: &State) -> Fingerprint {
        match self.renamings() {
            [] => state.fingerprint(self.fifo),
            renamings => self.canonical_fingerprint(state, renamings),
        }
    }

    fn successors(&self, state: &State, successors: &mut Vec<Next>) {
        self.successors_and_omission(state, successors);
    }

    fn broken(&self, state: &State) -> Option<Property> {
        let broken = self.store.broken(state.nodes());
        let broken = broken.filter(|property| self.is_checked(*property));
        let settled =
            || self.is_settled(state).then(|| self.store.broken_when_settled(state.nodes()));
        broken.or_else(|| settled().flatten().filter(|property| self.is_checked(*property)))
    }

    fn broken_when_quiescent(&self, state: &State) -> Option<Property> {
        let broken = match self.waiting(state) {
            0 => self.store.broken_when_quiescent(state.nodes()),
            _ => Some(self.store.starvation_property()),
        };
        broken.filter(|property| self.is_checked(*property))
    }

    fn waiting(&self, state: &State) -> u8 {
        let is_waiting = |process: &u8| self.summary(state, *process).is_waiting;
        state.up().filter(is_waiting).fold(0, |all, process| all | 1 << process)
    }

    fn starvation_property(&self) -> Option<Property> {
        Some(self.store.starvation_property()).filter(|property| self.is_checked(*property))
    }

    fn goals_reached(&self, state: &State) -> u64 {
        u64::from(state.nodes().iter().any(|node| self.store.summary(*node).is_satisfied))
    }

    fn goals(&self) -> u64 {
        1
    }

    fn is_reduced(&self) -> bool {
        self.uses_partial_order_reduction() || !self.renamings().is_empty()
    }

    fn is_unsupported(&self) -> bool {
        self.needs_timing()
    }

    fn bytes(&self, state: &State) -> usize {
        state.bytes()
    }
}

impl PackedModel for World<'_> {
    fn pack(&self, state: &State, bytes: &mut Vec<u8>) {
        state.pack(self.budget, bytes);
    }

    fn unpack(&self, bytes: &mut &[u8]) -> State {
        State::unpack(self.n, self.budget, bytes)
    }

    fn save(&self, bytes: &mut Vec<u8>) {
        World::save(self, bytes);
    }

    fn restore(&self, bytes: &[u8]) -> bool {
        World::restore(self, bytes).is_some()
    }

    fn successors_and_omission(&self, state: &State, successors: &mut Vec<Next>) -> bool {
        if state.round_end_pending == 0
            && self.uses_partial_order_reduction()
            && self.persistent_set_successors(state, successors)
        {
            // A write would take the cache line from the other threads, and every state comes here.
            if !self.skipped.load(Ordering::Relaxed) {
                self.skipped.store(true, Ordering::Relaxed);
            }
            return true;
        }
        self.all_successors(state, successors);
        false
    }

    fn all_successors(&self, state: &State, successors: &mut Vec<Next>) {
        if state.round_end_pending != 0 {
            // At the end of a round no process observes the actions of the others, so one order is enough.
            let process = state.round_end_pending.trailing_zeros() as u8;
            let class = Some(FairnessClass(200 + u16::from(process)));
            self.push(state, ActionKind::RoundEnd(process), class, successors);
            return;
        }
        state.up().for_each(|process| self.process_successors(state, process, successors));
        match self.timing {
            Timing::None => {}
            Timing::Instants => self.time_successors(state, successors),
            Timing::AnyTime => self.timeout_successors(state, successors),
        }
        self.fault_successors(state, successors);
    }
}
