//! The engine of a world: applies the effects of processes and holds the pending events.

use quorate_core::{
    Belief, Effect, Effects, Message, Process, ProcessId, ProcessSet, Recipients, Span, Time,
};

use super::event::{Envelope, Item, PendingCommand, ScheduledEvent};
use super::external_queues::ExternalQueues;
use super::limits::Limits;
use super::network::{Fate, Loss, Network};
use super::node::Node;
use super::observer::{Departure, Moment, Observer};
use super::oracle::Oracle;
use super::queue::{Label, Queue};
use super::slab::Slab;
use super::user::{Agenda, User};
use crate::random::Random;
use crate::scenario::traitor::Treatment;

/// Everything in a world except the processes themselves.
pub(crate) struct Engine<P: Process, U, O> {
    pub(crate) n: usize,
    pub(crate) now: Time,
    pub(crate) event: u64,
    pub(crate) messages: u64,
    pub(crate) deliveries: u64,
    pub(crate) queue: Queue<Item<P::Message>>,
    pub(crate) scheduled: Slab<ScheduledEvent<P>>,
    pub(crate) network: Network,
    pub(crate) oracle: Option<Oracle>,
    /// Whether handling a message may take time at any process.
    pub(crate) handling_takes_time: bool,
    pub(crate) handling: Span,
    /// Handling time of one message of every process. Messages that wait longer show that the receiver is overloaded.
    pub(crate) queueing: Span,
    pub(crate) traitor_random: Random,
    pub(crate) round: Option<Round>,
    pub(crate) agenda: Agenda<P::Command>,
    pub(crate) limits: Limits,
    /// Queues of an externally driven world: scheduled events by process, messages by link. None in a simulation.
    pub(crate) external: Option<Box<ExternalQueues<P>>>,
    pub(crate) user: U,
    pub(crate) observer: O,
}

/// Synchronous rounds, and the processes that await the end of the current one.
pub(crate) struct Round {
    pub(crate) length: Span,
    pub(crate) awaited_by: ProcessSet,
    /// Number of the last round that has ended.
    pub(crate) last_ended: u64,
}

/// Live processes that await the end of the round.
pub(crate) fn awaiting(round: Option<&Round>, up: &[bool]) -> ProcessSet {
    let awaited = round.into_iter().flat_map(|round| &round.awaited_by);
    awaited.filter(|process| up[process.index()]).collect()
}

impl<P, U, O> Engine<P, U, O>
where
    P: Process,
    U: User<Command = P::Command, Output = P::Output>,
    O: Observer<P>,
{
    pub(crate) fn moment(&self, process: ProcessId) -> Moment {
        Moment { event: self.event, time: self.now, process }
    }

    #[inline(always)]
    pub(crate) fn next_moment(&mut self, process: ProcessId) -> Moment {
        self.event += 1;
        self.moment(process)
    }

    pub(crate) fn schedule_belief(&mut self, observer: ProcessId, belief: Belief, because_of: u64) {
        let Some(oracle) = &mut self.oracle else { return };
        let (delay, epoch) = oracle.delay(observer, belief.about());
        let time = self.now + delay;
        self.enqueue(time, ScheduledEvent::Belief { observer, belief, because_of, epoch });
    }

    /// Returns why a message that reached its receiver is not handled, or none if it is handled.
    #[inline(always)]
    pub(crate) fn drop_reason(
        &mut self,
        node: &Node<P>,
        from: ProcessId,
        to: ProcessId,
    ) -> Option<Loss> {
        if !node.up {
            return Some(Loss::Down);
        }
        if let Some(block_reason) = self.network.block_reason(from, to) {
            return Some(block_reason);
        }
        let omits = node.omit_receive();
        (omits > 0.0 && self.network.draw_omission(omits)).then_some(Loss::ReceiveOmission)
    }

    /// Applies the effects of a process in order. Returns whether the process crashed while it sent a multicast.
    #[inline(always)]
    pub(crate) fn apply_effects(
        &mut self,
        node: &mut Node<P>,
        at: Moment,
        effects: &mut Effects<P>,
    ) -> bool {
        // About every second message causes no effects.
        if effects.is_empty() {
            return false;
        }
        for effect in effects.drain() {
            match effect {
                Effect::Send { to, message } => self.send(node, at, to, message),
                Effect::Multicast { to, message } => {
                    if self.multicast(node, at, &to, &message) {
                        return true;
                    }
                }
                Effect::SetTimer { timer, after } => {
                    let generation = node.set_timer(timer.clone());
                    let time = self.now + node.real_span(after);
                    let process = at.process;
                    self.enqueue(
                        time,
                        ScheduledEvent::Timer { process, generation, set_in: at.event, timer },
                    );
                }
                Effect::CancelTimer(timer) => node.cancel_timer(&timer),
                Effect::AwaitRound => {
                    if let Some(round) = &mut self.round {
                        round.awaited_by.insert(at.process);
                    }
                }
                Effect::Output(output) => {
                    self.observer.output(at, &output);
                    if self.user.voids_plans(&output) {
                        node.incarnation += 1;
                    }
                    self.user.on_output(at.process, &output, &mut self.agenda);
                    self.flush_agenda(node, at);
                }
                Effect::Believed(belief) => self.observer.belief_changed(at, belief),
                Effect::Ignored(why) => self.observer.ignore(at, why),
            }
        }
        false
    }

    /// Schedules the commands that users give in response to an output. They are always for the process of the output.
    fn flush_agenda(&mut self, node: &Node<P>, at: Moment) {
        while let Some((process, after, command)) = self.agenda.pop() {
            let incarnation = Some(node.incarnation);
            let pending =
                PendingCommand { process, command, because_of: Some(at.event), incarnation };
            self.enqueue(self.now + node.paced(after), ScheduledEvent::Command(pending));
        }
    }

    /// Whether queued items and the link state exceed the memory limit.
    #[inline(always)]
    pub(crate) fn is_full(&self) -> bool {
        self.queue.len() + self.network.weight() > self.limits.queued
    }

    #[inline(never)]
    pub(crate) fn enqueue(&mut self, time: Time, event: ScheduledEvent<P>) {
        if let Some(external) = &mut self.external {
            return external.plan(time, event);
        }
        let slot = self.scheduled.insert(event);
        self.queue.push(time.0, Label::default(), Item::Scheduled(slot));
    }

    /// Sends to each recipient in ascending order. Returns whether the sender crashed while doing so.
    fn multicast(
        &mut self,
        node: &Node<P>,
        at: Moment,
        to: &Recipients,
        message: &P::Message,
    ) -> bool {
        let sends_left = node.crash_after_sends();
        let most = sends_left.map_or(usize::MAX, |sends| sends as usize);
        // One loop for both cases: the inlined code of `send` would otherwise be compiled twice.
        let (mut to_others, mut to_self) = (0, false);
        for to in to.among(self.n, at.process).take(most) {
            if to == at.process {
                to_self = true;
            } else {
                to_others += 1;
            }
            self.send(node, at, to, message.clone());
        }
        self.observer.multicast(at, message, to_others, to_self);
        sends_left.is_some()
    }

    #[inline(always)]
    fn send(&mut self, node: &Node<P>, at: Moment, to: ProcessId, message: P::Message) {
        if !node.has_no_faults() {
            return self.send_with_faults(node, at, to, message);
        }
        self.dispatch(at, to, message);
    }

    #[cold]
    #[inline(never)]
    fn send_with_faults(&mut self, node: &Node<P>, at: Moment, to: ProcessId, message: P::Message) {
        let omits = node.omit_send();
        if to != at.process && omits > 0.0 && self.network.draw_omission(omits) {
            return self.suppress(at, to, &message, Loss::SendOmission);
        }
        let Some(strategy) = node.traitor().filter(|_| to != at.process) else {
            return self.dispatch_cold(at, to, message);
        };
        match strategy.treatment(to, message.kind(), &mut self.traitor_random) {
            Treatment::Nothing => self.suppress(at, to, &message, Loss::Treason),
            Treatment::Truth => self.dispatch_cold(at, to, message),
            Treatment::Twice => {
                self.dispatch_cold(at, to, message.clone());
                self.dispatch_cold(at, to, message);
            }
            Treatment::Lie(choice) => {
                let lie = node.process.forge(&message, choice);
                self.dispatch_cold(at, to, lie);
            }
        }
    }

    /// Counts a message that its sender suppresses. It never reaches a link.
    fn suppress(&mut self, at: Moment, to: ProcessId, message: &P::Message, why: Loss) {
        self.messages += 1;
        self.observer.send(at, self.messages, to, message, Departure::Lost(why));
    }

    /// Dispatches a message off the hot path. Not inlined, so that the code of `dispatch` is not duplicated.
    #[inline(never)]
    fn dispatch_cold(&mut self, at: Moment, to: ProcessId, message: P::Message) {
        self.dispatch(at, to, message);
    }

    #[inline(always)]
    fn dispatch(&mut self, at: Moment, to: ProcessId, message: P::Message) {
        if to.index() >= self.n {
            return self.observer.ignore(at, "a message to a process that does not exist");
        }
        self.messages += 1;
        let id = self.messages;
        if self.external.is_some() {
            return self.dispatch_externally(at, id, to, message);
        }
        let fate = self.network.fate(id, at.process, to, self.now);
        if !self.network.is_healthy() {
            self.report_late(at, id, to, fate);
        }
        match fate {
            Fate::Arrives(time) => self.depart(at, id, to, message, time, Departure::Sent),
            Fate::ArrivesTwice(first, second) => {
                self.depart_cold(at, id, to, message.clone(), first, Departure::Sent);
                self.depart_cold(at, id, to, message, second, Departure::Duplicated);
            }
            Fate::ArrivesChanged(time, choice) => {
                let changed = message.forged(choice);
                // A message without contents cannot be changed.
                let is_changed = changed != message;
                let how = if is_changed { Departure::Changed } else { Departure::Sent };
                let tag = self.observer.send(at, id, to, &message, how);
                let label = Label { from: at.process.number(), to: to.number(), tag };
                self.queue.push(time.0, label, Item::Message(changed));
            }
            Fate::Lost(why) => {
                self.observer.send(at, id, to, &message, Departure::Lost(why));
            }
        }
    }

    /// Reports a message whose chosen arrival breaks the bound that processes rely on.
    #[cold]
    #[inline(never)]
    fn report_late(&mut self, at: Moment, id: u64, to: ProcessId, fate: Fate) {
        if let Some(delay) = self.network.chosen_excess(id, fate, self.now) {
            let arrival = Moment { time: self.now + delay, process: to, ..at };
            self.observer.late(arrival, at.process, delay);
        }
    }

    #[cold]
    #[inline(never)]
    fn dispatch_externally(&mut self, at: Moment, id: u64, to: ProcessId, message: P::Message) {
        let tag = self.observer.send(at, id, to, &message, Departure::Sent);
        if let Some(external) = &mut self.external {
            external.send(self.now, Envelope { from: at.process, to, tag, message });
        }
    }

    #[cold]
    #[inline(never)]
    fn depart_cold(
        &mut self,
        at: Moment,
        id: u64,
        to: ProcessId,
        message: P::Message,
        time: Time,
        how: Departure,
    ) {
        self.depart(at, id, to, message, time, how);
    }

    #[inline(always)]
    fn depart(
        &mut self,
        at: Moment,
        id: u64,
        to: ProcessId,
        message: P::Message,
        time: Time,
        how: Departure,
    ) {
        let tag = self.observer.send(at, id, to, &message, how);
        let label = Label { from: at.process.number(), to: to.number(), tag };
        self.queue.push(time.0, label, Item::Message(message));
    }
}
