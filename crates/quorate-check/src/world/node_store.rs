//! Processes of a world and their users: everything that depends on their types.
//!
//! A world knows nodes and messages only by number. It is compiled once; only this module is compiled for every type of
//! processes.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};

use quorate_core::{
    Belief, Effect, Effects, Message as _, Process, ProcessId, Property, Recipients, Span, Time,
};
use quorate_sim::traitor::{Strategy, Treatment};
use smallvec::SmallVec;

use super::interner::Interner;
use super::timing::{HORIZON, Pending};
use super::transition::{Input, Memo, Transition};
use super::{PROCESSES_MOST, process_id};
use crate::{Fingerprint, Users, fingerprint_of};

/// Type-erased interface of a world to its processes and users.
pub(super) trait NodeStore: Send + Sync {
    /// Number of the node with which a process starts.
    fn initial_node(&self, id: u8) -> u32;

    /// Type-independent facts about a node.
    fn summary(&self, node: u32) -> &NodeSummary;

    /// Type-independent facts about a message.
    fn message(&self, message: u32) -> &MessageSummary;

    /// Result of an input to a node. With `crash_after` the process crashes after this many sends of its first multicast;
    /// the flag tells whether it may recover.
    fn step(&self, id: u8, node: u32, input: Input, crash_after: Option<(u8, bool)>) -> Transition;

    /// Number of a message after the same change.
    fn lowered_message(&self, message: u32, by: u64) -> u32;

    /// Number of a message whose counters above `most` become `most`.
    fn capped_message(&self, message: u32, most: u64) -> u32;

    /// Number of a message in flight to a node, without values that are dead there.
    fn received_form(&self, node: u32, from: u8, message: u32) -> u32;

    /// Number of a message that has been in flight for one instant more.
    fn aged_message(&self, message: u32) -> u32;

    /// Number of a node whose process is renamed to `id` and that knows all others by their new names; `None`
    /// if it cannot be renamed.
    fn renamed(&self, id: u8, node: u32, name: &dyn Fn(ProcessId) -> ProcessId) -> Option<u32>;

    /// Number of a message with renamed processes; `None` if it cannot be renamed.
    fn renamed_message(&self, message: u32, name: &dyn Fn(ProcessId) -> ProcessId) -> Option<u32>;

    /// Fingerprints of all nodes and of all messages, by number.
    fn prints(&self) -> [Vec<Fingerprint>; 2];

    /// Reserves numbers for nodes and messages with these fingerprints. There may be none yet.
    fn reserve(&self, prints: [&[Fingerprint]; 2]);

    /// Whether there is a node with this number.
    fn has_node(&self, node: u32) -> bool;

    /// Whether there is a message with this number.
    fn has_message(&self, message: u32) -> bool;

    /// The property that these nodes violate together, if any.
    fn broken(&self, nodes: &[u32]) -> Option<Property>;

    /// The property that these nodes violate if no action that must happen is possible, if any.
    fn broken_when_quiescent(&self, nodes: &[u32]) -> Option<Property>;

    /// The property that the users violate if nothing is in flight.
    fn broken_when_settled(&self, nodes: &[u32]) -> Option<Property>;

    /// Whether a change of a user may end a violation that involves several users.
    fn is_visible(&self, before: u32, after: u32) -> bool;

    /// The property violated if a user waits forever.
    fn starvation_property(&self) -> Property;

    /// Whether a process has set a timer although timers do not run. Then the exploration proves nothing.
    fn needs_timing(&self) -> bool;

    /// Lets timers run, with `bound` as the maximum delay of a message, or at any time without one. Numbers assigned before
    /// become invalid. If `sorted`, the order in which a process has set its timers is forgotten.
    fn enable_timers(&mut self, bound: Option<Span>, sorted: bool);

    /// Makes processes Byzantine. Must be called before any input.
    fn set_traitors(&mut self, traitors: &[(ProcessId, Strategy)]);
}

/// Type-independent facts about a process with its user.
#[derive(Debug)]
pub(super) struct NodeSummary {
    /// Number of its process.
    pub(super) id: u8,
    /// Whether its user may issue a command now, and if so, whether it must.
    pub(super) next_command: Option<bool>,
    /// Whether its user waits for something that it must eventually get.
    pub(super) is_waiting: bool,
    pub(super) is_satisfied: bool,
    pub(super) is_inside: bool,
    /// Whether there is a process: it is up, or may recover.
    pub(super) exists: bool,
    /// Whether it waits for the end of a round.
    pub(super) awaits_round: bool,
    /// For each timer, the number of instants left, and whether it expires only after all messages
    /// due by then have arrived.
    pub(super) timers: Box<[(u8, bool)]>,
    /// Range of its counters of which only differences matter.
    pub(super) counters: Option<CounterRange>,
    /// Whether it is up and its user may make a request, now or later.
    pub(super) may_request: bool,
    /// The greatest counter to which it may compare another if no user makes a request any more; `None` if it is not known.
    pub(super) compared: Option<u64>,
    /// Memoized results of inputs to it.
    pub(super) memo: Memo,
}

/// Type-independent facts about a message.
#[derive(Debug)]
pub(super) struct MessageSummary {
    pub(super) counters: Option<CounterRange>,
    /// Memoized numbers of the message under renamings.
    pub(super) memo: Memo,
}

/// A process with its user.
#[derive(Debug)]
struct Node<P: Process, L> {
    /// `None` if the process is down and will not recover.
    process: Option<P>,
    user: L,
    pending: Pending<P::Timer>,
    summary: NodeSummary,
}

/// A message with its type-independent facts.
#[derive(Debug)]
struct StoredMessage<M> {
    message: M,
    summary: MessageSummary,
}

/// Processes of one type and their users.
pub(super) struct TypedNodeStore<P: Process, U: Users, F> {
    n: usize,
    make: F,
    users: U,
    traitors: Vec<(ProcessId, Strategy)>,
    /// Maximum delay of a message, if time advances in instants.
    bound: Option<Span>,
    runs_timers: bool,
    sorts_timers: bool,
    needs_timing: AtomicBool,
    nodes: Interner<Node<P, U::UserState>>,
    messages: Interner<StoredMessage<P::Message>>,
}

impl<P, U, F> TypedNodeStore<P, U, F>
where
    P: Process,
    U: Users<Command = P::Command, Output = P::Output>,
    F: Fn(ProcessId) -> P + Send + Sync,
{
    pub(super) fn new(n: usize, make: F, users: U) -> Self {
        Self {
            n,
            make,
            users,
            traitors: Vec::new(),
            bound: None,
            runs_timers: false,
            sorts_timers: false,
            needs_timing: AtomicBool::new(false),
            nodes: Interner::default(),
            messages: Interner::default(),
        }
    }

    /// Local clock of a process, which always shows the same time: see `timing.rs`.
    fn now(&self) -> Time {
        Time(self.bound.map_or(0, |bound| bound.0.saturating_mul(HORIZON)))
    }

    /// Sends a message, or what a traitor sends in its place.
    fn send(&self, from: (u8, &P), to: ProcessId, message: P::Message, sent: &mut Vec<(u8, u32)>) {
        let (id, process) = from;
        let strategy = self.traitors.iter().find(|(traitor, _)| *traitor == process_id(id));
        let treatment =
            strategy.and_then(|(_, strategy)| strategy.fixed_treatment(to, message.kind()));
        let (message, times) = match treatment.unwrap_or(Treatment::Truth) {
            Treatment::Nothing => return,
            Treatment::Truth => (message, 1),
            Treatment::Twice => (message, 2),
            Treatment::Lie(choice) => (process.forge(&message, choice), 1),
        };
        if to.index() < self.n {
            let number = self.intern_message(message);
            sent.extend(std::iter::repeat_n((to.index() as u8, number), times));
        }
    }

    fn intern_message(&self, mut message: P::Message) -> u32 {
        self.messages.intern(fingerprint_of(&message), || {
            let counters = CounterRange::of(|visit| message.visit_shift_invariant(visit));
            StoredMessage { message, summary: MessageSummary { counters, memo: Memo::default() } }
        })
    }

    /// Number of a node. The id is part of the key, because a process need not know its own id.
    fn intern_node(
        &self,
        id: u8,
        mut process: Option<P>,
        user: U::UserState,
        mut pending: Pending<P::Timer>,
    ) -> u32 {
        if self.sorts_timers {
            pending.sort();
        }
        let print = fingerprint_of(&(id, &process, &user, &pending));
        self.nodes.intern(print, || {
            let counters = CounterRange::of(|visit| {
                process.iter_mut().for_each(|process| process.visit_shift_invariant(visit))
            });
            let (awaits_round, timers) = (pending.round, pending.summary());
            let mut summary = self.users.summarize(&user, awaits_round, timers, counters);
            (summary.id, summary.exists) = (id, process.is_some());
            summary.may_request &= process.is_some();
            summary.compared = process.as_ref().map_or(Some(0), Process::greatest_compared);
            Node { process, user, pending, summary }
        })
    }

    fn intern_down(
        &self,
        id: u8,
        process: Option<P>,
        user: &U::UserState,
        may_recover: bool,
    ) -> u32 {
        match self.users.suspended(user).filter(|_| may_recover) {
            Some(suspended) => self.intern_node(id, process, suspended, Pending::default()),
            // Of a process that will not recover, only what its user made known to others matters.
            None => self.intern_node(id, None, self.users.crashed(user), Pending::default()),
        }
    }

    /// Number of a node after all counters of which only differences matter are lowered by `by`, but not below 0.
    fn lowered(&self, id: u8, node: &Node<P, U::UserState>, by: u64) -> u32 {
        self.changed(id, node, |process| {
            process.visit_shift_invariant(&mut |number| *number = number.saturating_sub(by));
        })
    }

    /// Number of a node whose process is changed.
    fn changed(&self, id: u8, node: &Node<P, U::UserState>, change: impl FnOnce(&mut P)) -> u32 {
        let mut process = node.process.clone();
        process.as_mut().map(change);
        self.intern_node(id, process, node.user.clone(), node.pending.clone())
    }

    fn user_states(&self, nodes: &[u32]) -> UserStates<'_, U> {
        nodes.iter().map(|node| &self.nodes.get(*node).user).collect()
    }
}

type UserStates<'w, U> = SmallVec<[&'w <U as Users>::UserState; PROCESSES_MOST]>;

/// Type-independent facts about users, compiled once per family.
trait Summarize: Users {
    fn summarize(
        &self,
        user: &Self::UserState,
        awaits_round: bool,
        timers: Box<[(u8, bool)]>,
        counters: Option<CounterRange>,
    ) -> NodeSummary {
        NodeSummary {
            id: 0,
            next_command: self.next_command(user).map(|(_, must)| must),
            is_waiting: self.is_waiting(user),
            is_satisfied: self.is_satisfied(user),
            is_inside: self.is_inside(user),
            exists: false,
            may_request: self.may_request(user),
            compared: None,
            awaits_round,
            timers,
            counters,
            memo: Memo::default(),
        }
    }
}

impl<U: Users> Summarize for U {}

impl<P, U, F> NodeStore for TypedNodeStore<P, U, F>
where
    P: Process,
    U: Users<Command = P::Command, Output = P::Output>,
    F: Fn(ProcessId) -> P + Send + Sync,
{
    fn initial_node(&self, id: u8) -> u32 {
        let process = (self.make)(process_id(id));
        self.intern_node(
            id,
            Some(process),
            self.users.initial_user(process_id(id)),
            Pending::default(),
        )
    }

    fn summary(&self, node: u32) -> &NodeSummary {
        &self.nodes.get(node).summary
    }

    fn message(&self, message: u32) -> &MessageSummary {
        &self.messages.get(message).summary
    }

    fn step(&self, id: u8, node: u32, input: Input, crash_after: Option<(u8, bool)>) -> Transition {
        let node = self.nodes.get(node);
        match input {
            Input::Crash { may_recover } => {
                let process = node.process.clone();
                let down = self.intern_down(id, process, &node.user, may_recover);
                return Transition::silent(down);
            }
            Input::Lowered(by) => return Transition::silent(self.lowered(id, node, by)),
            Input::Forget => {
                return Transition::silent(self.changed(id, node, P::forget_dead_values));
            }
            Input::Capped(most) => {
                let capped = self.changed(id, node, |process| {
                    process.visit_shift_invariant(&mut |number| *number = most.min(*number));
                });
                return Transition::silent(capped);
            }
            _ => {}
        }
        let mut process = node.process.clone().expect("a crashed process receives no input");
        let mut user = node.user.clone();
        let mut pending = node.pending.clone();
        let mut out = Effects::new(self.now());
        match input {
            Input::Start => process.on_start(&mut out),
            Input::Message { from, message } => {
                let message = self.messages.get(message).message.clone();
                process.on_message(process_id(from), message, &mut out);
            }
            Input::Crashed(other) => {
                process.on_belief(Belief::Crashed(process_id(other)), &mut out)
            }
            Input::Alive(other) => process.on_belief(Belief::Alive(process_id(other)), &mut out),
            Input::RoundEnd(round) => {
                pending.round = false;
                process.on_round_end(round.into(), &mut out);
            }
            Input::Renamed(_)
            | Input::Crash { .. }
            | Input::Lowered(_)
            | Input::Forget
            | Input::Capped(_)
            | Input::Incoming { .. } => unreachable!("it is no input to the process"),
            Input::Expired(index) => {
                let armed = pending.timers.remove(index.into());
                process.on_timer(armed.timer, &mut out);
            }
            Input::Tick => {
                pending.tick();
                let bound = self.bound.unwrap_or_default().0;
                process.visit_shift_invariant(&mut |moment| *moment = moment.saturating_sub(bound));
            }
            Input::Recovered => {
                self.users.resumed(&mut user);
                process.on_recovery(&mut out);
            }
            Input::Command => {
                let (command, _) =
                    self.users.next_command(&user).expect("an enabled user has a next command");
                self.users.on_command(&mut user, &command);
                // A refusal would be a bug in the users, which issue only valid commands.
                let _ = process.on_command(command, &mut out);
            }
        }
        let mut to_self = VecDeque::new();
        let mut sent = Vec::new();
        let mut multicast = 0;
        loop {
            for effect in out.drain() {
                match effect {
                    Effect::Send { to, message } if to == process_id(id) => {
                        to_self.push_back(message)
                    }
                    Effect::Send { to, message } => {
                        self.send((id, &process), to, message, &mut sent);
                    }
                    Effect::Multicast { to, message } => {
                        let recipients = recipients(&to, id, self.n);
                        if multicast == 0 {
                            multicast = recipients.len() as u8;
                        }
                        let most = crash_after.map_or(usize::MAX, |(sends, _)| sends.into());
                        for to in recipients.into_iter().take(most) {
                            match to == process_id(id) {
                                true => to_self.push_back(message.clone()),
                                false => {
                                    self.send((id, &process), to, message.clone(), &mut sent);
                                }
                            }
                        }
                        if let Some((_, may_recover)) = crash_after {
                            let node = self.intern_down(id, Some(process), &user, may_recover);
                            return Transition { node, sent: sent.into(), multicast };
                        }
                    }
                    Effect::Output(output) => self.users.on_output(&mut user, &output),
                    Effect::AwaitRound => pending.round = true,
                    Effect::SetTimer { timer, after } => match self.runs_timers {
                        true => pending.set(timer, after, self.bound),
                        false => self.needs_timing.store(true, Ordering::Relaxed),
                    },
                    Effect::CancelTimer(timer) => pending.cancel(&timer),
                    Effect::Believed(_) | Effect::Ignored(_) => {}
                }
            }
            let Some(message) = to_self.pop_front() else { break };
            process.on_message(process_id(id), message, &mut out);
        }
        let node = self.intern_node(id, Some(process), user, pending);
        Transition { node, sent: sent.into(), multicast }
    }

    fn lowered_message(&self, message: u32, by: u64) -> u32 {
        let mut message = self.messages.get(message).message.clone();
        message.visit_shift_invariant(&mut |number| *number = number.saturating_sub(by));
        self.intern_message(message)
    }

    fn capped_message(&self, message: u32, most: u64) -> u32 {
        let mut message = self.messages.get(message).message.clone();
        message.visit_shift_invariant(&mut |number| *number = most.min(*number));
        self.intern_message(message)
    }

    fn received_form(&self, node: u32, from: u8, message: u32) -> u32 {
        let Some(process) = &self.nodes.get(node).process else { return message };
        let mut form = self.messages.get(message).message.clone();
        process.forget_dead_values_of(process_id(from), &mut form);
        self.intern_message(form)
    }

    fn aged_message(&self, message: u32) -> u32 {
        let own = self.messages.get(message);
        if own.summary.counters.is_none() {
            return message;
        }
        let (mut message, bound) = (own.message.clone(), self.bound.unwrap_or_default().0);
        message.visit_shift_invariant(&mut |moment| *moment = moment.saturating_sub(bound));
        self.intern_message(message)
    }

    fn renamed(&self, id: u8, node: u32, name: &dyn Fn(ProcessId) -> ProcessId) -> Option<u32> {
        let own = self.nodes.get(node);
        let process = match &own.process {
            Some(process) => Some(process.renamed(name)?),
            None => None,
        };
        let user = self.users.renamed(&own.user, name)?;
        Some(self.intern_node(id, process, user, own.pending.clone()))
    }

    fn renamed_message(&self, message: u32, name: &dyn Fn(ProcessId) -> ProcessId) -> Option<u32> {
        let renamed = self.messages.get(message).message.renamed(name)?;
        Some(self.intern_message(renamed))
    }

    fn prints(&self) -> [Vec<Fingerprint>; 2] {
        [self.nodes.prints(), self.messages.prints()]
    }

    fn reserve(&self, [nodes, messages]: [&[Fingerprint]; 2]) {
        self.nodes.reserve(nodes);
        self.messages.reserve(messages);
    }

    fn has_node(&self, node: u32) -> bool {
        self.nodes.has(node)
    }

    fn has_message(&self, message: u32) -> bool {
        self.messages.has(message)
    }

    fn broken(&self, nodes: &[u32]) -> Option<Property> {
        self.users.broken(self.user_states(nodes).iter().copied())
    }

    fn broken_when_quiescent(&self, nodes: &[u32]) -> Option<Property> {
        self.users.broken_when_quiescent(self.user_states(nodes).iter().copied())
    }

    fn broken_when_settled(&self, nodes: &[u32]) -> Option<Property> {
        self.users.broken_when_settled(self.user_states(nodes).iter().copied())
    }

    fn is_visible(&self, before: u32, after: u32) -> bool {
        self.users.is_visible(&self.nodes.get(before).user, &self.nodes.get(after).user)
    }

    fn starvation_property(&self) -> Property {
        self.users.starvation_property()
    }

    fn needs_timing(&self) -> bool {
        self.needs_timing.load(Ordering::Relaxed)
    }

    fn enable_timers(&mut self, bound: Option<Span>, sorted: bool) {
        (self.bound, self.runs_timers, self.sorts_timers) = (bound, true, sorted);
        self.needs_timing = AtomicBool::new(false);
        (self.nodes, self.messages) = (Interner::default(), Interner::default());
    }

    fn set_traitors(&mut self, traitors: &[(ProcessId, Strategy)]) {
        self.traitors = traitors.to_vec();
    }
}

/// Recipients of a multicast.
fn recipients(to: &Recipients, id: u8, n: usize) -> Vec<ProcessId> {
    match to {
        Recipients::Others => ProcessId::all(n).filter(|to| *to != process_id(id)).collect(),
        Recipients::Set(set) => set.iter().collect(),
    }
}

/// The least and the greatest of some counters.
#[derive(Clone, Copy, Debug)]
pub(super) struct CounterRange {
    pub(super) least: u64,
    pub(super) greatest: u64,
}

impl CounterRange {
    fn of(mut show: impl FnMut(&mut dyn FnMut(&mut u64))) -> Option<Self> {
        let mut range: Option<Self> = None;
        show(&mut |number| {
            let own = Self { least: *number, greatest: *number };
            range = Some(range.map_or(own, |range| range.union(own)));
        });
        range
    }

    pub(super) fn union(self, other: Self) -> Self {
        let (least, greatest) = (self.least.min(other.least), self.greatest.max(other.greatest));
        Self { least, greatest }
    }
}
