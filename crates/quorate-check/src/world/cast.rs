//! The processes of a world and their users: all that depends on their types.
//!
//! A world knows nodes and messages by their numbers. It is compiled once, and only this for every algorithm.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};

use quorate_core::{
    Belief, Effect, Effects, Message as _, Process, ProcessId, Property, Recipients, Span, Time,
};
use smallvec::SmallVec;

use super::shelf::Shelf;
use super::timing::{HORIZON, Waits};
use super::transition::{Input, Known, Outcome};
use super::{PROCESSES_MOST, named};
use crate::{Users, fingerprint_of};

/// What a world asks of its processes and users, whatever their types.
pub(super) trait Insides: Send + Sync {
    /// The number of the node that a process begins with.
    fn begin(&self, id: u8) -> u32;

    /// What can be seen of a node.
    fn look(&self, node: u32) -> &Look;

    /// What can be seen of a message.
    fn message(&self, message: u32) -> &Seen;

    /// What comes of telling a node something, if it crashes after so many sends of its first multicast or does not, and
    /// whether it may come back then.
    fn tell(&self, id: u8, node: u32, input: Input, crash_after: Option<(u8, bool)>) -> Outcome;

    /// The number of a node after its process has crashed, with its memory if it may come back.
    fn down(&self, id: u8, node: u32, may_return: bool) -> u32;

    /// The number of a node whose numbers of which only differences matter are all lower by so much.
    fn lowered(&self, id: u8, node: u32, by: u64) -> u32;

    /// The same for a message.
    fn lowered_message(&self, message: u32, by: u64) -> u32;

    /// The number of a message that has been under way for one instant more.
    fn older_message(&self, message: u32) -> u32;

    /// The number of a node that is now called `id`, and others by other names.
    fn renamed(&self, id: u8, node: u32, name: &dyn Fn(ProcessId) -> ProcessId) -> Option<u32>;

    /// The same for a message.
    fn renamed_message(&self, message: u32, name: &dyn Fn(ProcessId) -> ProcessId) -> Option<u32>;

    /// What is wrong with these users together.
    fn broken(&self, nodes: &[u32]) -> Option<Property>;

    /// What is wrong with them where nothing that must happen is left to happen.
    fn broken_at_rest(&self, nodes: &[u32]) -> Option<Property>;

    /// Whether a change of a user may mend or undo what is wrong with several users together.
    fn shows(&self, before: u32, after: u32) -> bool;

    /// The property that is broken if a user waits for ever.
    fn patience(&self) -> Property;

    /// Whether a process has set a timer and none runs, so that nothing was shown.
    fn has_strayed(&self) -> bool;

    /// From now on timers run, and a message takes so long at most. Numbers that were given do not count any longer.
    fn run_timers(&mut self, bound: Span);
}

/// What can be seen of a process with its user.
#[derive(Debug)]
pub(super) struct Look {
    /// Whether its user may ask something now, and if so, whether it will.
    pub(super) wish: Option<bool>,
    /// Whether its user waits for what it must not wait for in vain.
    pub(super) waits: bool,
    pub(super) is_pleased: bool,
    pub(super) is_inside: bool,
    /// Whether there is a process: it is up, or may come back.
    pub(super) exists: bool,
    /// Whether it waits for the end of a round.
    pub(super) awaits_round: bool,
    /// Of each of its timers, how many instants are left, and whether what has to arrive by then arrives before.
    pub(super) timers: Box<[(u8, bool)]>,
    /// The least of its numbers of which only differences matter.
    pub(super) least: u64,
    /// The numbers of what comes of what it is told.
    pub(super) known: Known,
}

/// What can be seen of a message.
#[derive(Debug)]
pub(super) struct Seen {
    pub(super) least: u64,
    /// The numbers of what it is called by other names.
    pub(super) known: Known,
}

/// A process with its user.
#[derive(Debug)]
struct Node<P: Process, L> {
    /// None if it is down.
    process: Option<P>,
    place: L,
    waits: Waits<P::Timer>,
    look: Look,
}

/// A message that was sent some time.
#[derive(Debug)]
struct Sent<M> {
    message: M,
    seen: Seen,
}

/// Processes of one type and their users.
pub(super) struct Cast<P: Process, U: Users, F> {
    n: usize,
    make: F,
    users: U,
    /// The longest that a message takes, where timers run.
    bound: Option<Span>,
    strayed: AtomicBool,
    nodes: Shelf<Node<P, U::Place>>,
    messages: Shelf<Sent<P::Message>>,
}

impl<P, U, F> Cast<P, U, F>
where
    P: Process,
    U: Users<Command = P::Command, Output = P::Output>,
    F: Fn(ProcessId) -> P + Send + Sync,
{
    pub(super) fn new(n: usize, make: F, users: U) -> Self {
        let (nodes, messages) = (Shelf::default(), Shelf::default());
        Self { n, make, users, bound: None, strayed: AtomicBool::new(false), nodes, messages }
    }

    /// What a process's own clock shows.
    fn now(&self) -> Time {
        Time(self.bound.map_or(0, |bound| bound.0.saturating_mul(HORIZON)))
    }

    fn post(&self, to: ProcessId, message: P::Message, posts: &mut Vec<(u8, u32)>) {
        if to.index() < self.n {
            posts.push((to.index() as u8, self.keep_message(message)));
        }
    }

    /// The number of a message.
    fn keep_message(&self, mut message: P::Message) -> u32 {
        self.messages.number(fingerprint_of(&message), || {
            let least = least_of(|look| message.relative(look));
            Sent { message, seen: Seen { least, known: Known::default() } }
        })
    }

    /// The number of a node. Processes that do not know who they are are kept apart all the same.
    fn keep(&self, id: u8, mut process: Option<P>, place: U::Place, waits: Waits<P::Timer>) -> u32 {
        let print = fingerprint_of(&(id, &process, &place, &waits));
        self.nodes.number(print, || {
            let least =
                least_of(|look| process.iter_mut().for_each(|process| process.relative(look)));
            let (awaits_round, timers) = (waits.round, waits.seen());
            let mut look = self.users.look(&place, awaits_round, timers, least);
            look.exists = process.is_some();
            Node { process, place, waits, look }
        })
    }

    fn keep_down(&self, id: u8, process: Option<P>, place: &U::Place, may_return: bool) -> u32 {
        match self.users.suspended(place).filter(|_| may_return) {
            Some(suspended) => self.keep(id, process, suspended, Waits::default()),
            // Of the dead only what its user must be remembered for counts.
            None => self.keep(id, None, self.users.crashed(place), Waits::default()),
        }
    }

    fn places(&self, nodes: &[u32]) -> Places<'_, U> {
        nodes.iter().map(|node| &self.nodes.get(*node).place).collect()
    }
}

type Places<'w, U> = SmallVec<[&'w <U as Users>::Place; PROCESSES_MOST]>;

/// What can be seen of users, compiled once for their family.
trait Lookable: Users {
    fn look(
        &self,
        place: &Self::Place,
        awaits_round: bool,
        timers: Box<[(u8, bool)]>,
        least: u64,
    ) -> Look {
        Look {
            wish: self.wish(place).map(|(_, will)| will),
            waits: self.waits(place),
            is_pleased: self.is_pleased(place),
            is_inside: self.is_inside(place),
            exists: false,
            awaits_round,
            timers,
            least,
            known: Known::default(),
        }
    }
}

impl<U: Users> Lookable for U {}

impl<P, U, F> Insides for Cast<P, U, F>
where
    P: Process,
    U: Users<Command = P::Command, Output = P::Output>,
    F: Fn(ProcessId) -> P + Send + Sync,
{
    fn begin(&self, id: u8) -> u32 {
        let process = (self.make)(named(id));
        self.keep(id, Some(process), self.users.place(named(id)), Waits::default())
    }

    fn look(&self, node: u32) -> &Look {
        &self.nodes.get(node).look
    }

    fn message(&self, message: u32) -> &Seen {
        &self.messages.get(message).seen
    }

    fn tell(&self, id: u8, node: u32, input: Input, crash_after: Option<(u8, bool)>) -> Outcome {
        let node = self.nodes.get(node);
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
            Input::Recovered => {
                self.users.resumed(&mut place);
                process.on_recovery(&mut out);
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
                        let recipients = recipients(&to, id, self.n);
                        if multicast == 0 {
                            multicast = recipients.len() as u8;
                        }
                        let most = crash_after.map_or(usize::MAX, |(sends, _)| sends.into());
                        for to in recipients.into_iter().take(most) {
                            match to == named(id) {
                                true => to_self.push_back(message.clone()),
                                false => self.post(to, message.clone(), &mut posts),
                            }
                        }
                        if let Some((_, may_return)) = crash_after {
                            let node = self.keep_down(id, Some(process), &place, may_return);
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

    fn down(&self, id: u8, node: u32, may_return: bool) -> u32 {
        let node = self.nodes.get(node);
        self.keep_down(id, node.process.clone(), &node.place, may_return)
    }

    fn lowered(&self, id: u8, node: u32, by: u64) -> u32 {
        let node = self.nodes.get(node);
        let mut process = node.process.clone();
        if let Some(process) = &mut process {
            process.relative(&mut |number| *number -= by);
        }
        self.keep(id, process, node.place.clone(), node.waits.clone())
    }

    fn lowered_message(&self, message: u32, by: u64) -> u32 {
        let mut message = self.messages.get(message).message.clone();
        message.relative(&mut |number| *number -= by);
        self.keep_message(message)
    }

    fn older_message(&self, message: u32) -> u32 {
        let own = self.messages.get(message);
        if own.seen.least == u64::MAX {
            return message;
        }
        let (mut message, bound) = (own.message.clone(), self.bound.unwrap_or_default().0);
        message.relative(&mut |moment| *moment = moment.saturating_sub(bound));
        self.keep_message(message)
    }

    fn renamed(&self, id: u8, node: u32, name: &dyn Fn(ProcessId) -> ProcessId) -> Option<u32> {
        let own = self.nodes.get(node);
        let process = match &own.process {
            Some(process) => Some(process.renamed(name)?),
            None => None,
        };
        let user = self.users.renamed(&own.place, name)?;
        Some(self.keep(id, process, user, own.waits.clone()))
    }

    fn renamed_message(&self, message: u32, name: &dyn Fn(ProcessId) -> ProcessId) -> Option<u32> {
        let renamed = self.messages.get(message).message.renamed(name)?;
        Some(self.keep_message(renamed))
    }

    fn broken(&self, nodes: &[u32]) -> Option<Property> {
        self.users.broken(self.places(nodes).iter().copied())
    }

    fn broken_at_rest(&self, nodes: &[u32]) -> Option<Property> {
        self.users.broken_at_rest(self.places(nodes).iter().copied())
    }

    fn shows(&self, before: u32, after: u32) -> bool {
        self.users.shows(&self.nodes.get(before).place, &self.nodes.get(after).place)
    }

    fn patience(&self) -> Property {
        self.users.patience()
    }

    fn has_strayed(&self) -> bool {
        self.strayed.load(Ordering::Relaxed)
    }

    fn run_timers(&mut self, bound: Span) {
        self.bound = Some(bound);
        self.strayed = AtomicBool::new(false);
        (self.nodes, self.messages) = (Shelf::default(), Shelf::default());
    }
}

/// Whom a multicast goes to.
fn recipients(to: &Recipients, id: u8, n: usize) -> Vec<ProcessId> {
    match to {
        Recipients::Others => ProcessId::all(n).filter(|to| *to != named(id)).collect(),
        Recipients::Set(set) => set.iter().collect(),
    }
}

fn least_of(mut show: impl FnMut(&mut dyn FnMut(&mut u64))) -> u64 {
    let mut least = u64::MAX;
    show(&mut |number| least = least.min(*number));
    least
}
