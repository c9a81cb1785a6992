//! A world whose inputs come from outside, for running processes over sockets and judging the run here.
//!
//! The same world is used in two roles. A world that runs one process receives its incoming messages and due events,
//! and returns the messages to send. A world that follows all processes receives the same inputs for each of them, in
//! an order that is consistent with their vector clocks. It feeds the users, the monitors and the trace like a
//! simulation does. Nothing here depends on the algorithm: messages are bytes, and scheduled events (timers and
//! commands) are identified by their order alone.

use quorate_core::{Belief, Process, ProcessId, ProcessSet, Span, Time};

use super::effects::awaiting;
use super::event::{Envelope, Item, PendingCommand, ScheduledEvent};
use super::external_queues::{
    ExternalQueues, InFlightMessage, OutgoingMessage, Wire, in_flight, take_own_commands,
    take_undeliverable, take_unsent,
};
use super::limits::{Ending, Limits};
use super::network::Loss;
use super::observer::{Departure, Input, Observer};
use super::user::User;
use super::world::World;
use crate::scenario::plan::{FaultEvent, Memory};

/// Drives a world from outside until the run ends.
pub trait Driver {
    /// Drives the world to its end and returns why the run ended.
    fn drive(&mut self, world: &mut dyn ExternallyDriven) -> Ending;
}

/// A message was reported as delivered that was not in flight, or whose contents differ.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("message {number:?} from {from} to {to} arrived, but was not sent or had other contents")]
pub struct Misdelivery {
    /// The sender that was reported.
    pub from: ProcessId,
    /// The receiver that was reported.
    pub to: ProcessId,
    /// Incarnation of the sender and sequence number of the message.
    pub number: (u32, u64),
}

/// A world whose processes receive their inputs from outside. Each `now` is the time of the event.
pub trait ExternallyDriven {
    /// Number of processes in the world.
    fn processes(&self) -> usize;

    /// Limits at which the driver stops the run.
    fn limits(&self) -> Limits;

    /// Declares that only this process runs in this world. Its messages
    /// are then encoded for sending, and none are kept on links.
    fn run_only(&mut self, me: ProcessId);

    /// Removes and returns the planned faults with their times. To be called once.
    fn take_fault_events(&mut self) -> Vec<(Time, FaultEvent)>;

    /// Starts a process and schedules its user's planned commands. All processes start at time zero.
    fn start(&mut self, process: ProcessId);

    /// Time at which the next scheduled event of a process is due.
    fn next_scheduled(&mut self, process: ProcessId) -> Option<Time>;

    /// Runs the next scheduled event of a process.
    fn run_next_scheduled(&mut self, process: ProcessId, now: Time);

    /// Receives a message for the process that runs in this world. Returns whether the bytes were a valid message.
    fn receive(&mut self, from: ProcessId, to: ProcessId, bytes: &[u8], now: Time) -> bool;

    /// Removes and returns the messages sent since the last call.
    fn take_sent(&mut self) -> Vec<OutgoingMessage>;

    /// Delivers a message that was sent earlier and returns its bytes. Fails if it was not in flight, or if its bytes
    /// do not pass the check.
    fn deliver(
        &mut self,
        from: ProcessId,
        to: ProcessId,
        number: (u32, u64),
        check: &dyn Fn(&[u8]) -> bool,
        now: Time,
    ) -> Result<Vec<u8>, Misdelivery>;

    /// Removes and returns the oracle's notifications that are due: observer, belief, and the event that caused it.
    fn take_due_notifications(&mut self, now: Time) -> Vec<(ProcessId, Belief, u64)>;

    /// Time of the oracle's next notification.
    fn next_notification_time(&self) -> Option<Time>;

    /// Notifies a process of a belief of its detector.
    fn deliver_suspicion(
        &mut self,
        observer: ProcessId,
        belief: Belief,
        because_of: u64,
        now: Time,
    );

    /// Injects a fault into the world.
    fn inject(&mut self, fault: FaultEvent, now: Time);

    /// Starts or ends a false suspicion. Returns the notification for the observer, if its belief changes.
    fn set_false_suspicion(
        &mut self,
        fault: &FaultEvent,
        now: Time,
    ) -> Option<(ProcessId, Belief, u64)>;

    /// Live processes that await the end of a round.
    fn awaits_round(&self) -> ProcessSet;

    /// Number of the next round to end, and the earliest time at which it may end.
    fn next_round(&self) -> (u64, Time);

    /// Ends a round for a process.
    fn end_round(&mut self, process: ProcessId, number: u64, now: Time);

    /// Whether the process is up.
    fn is_up(&self, process: ProcessId) -> bool;

    /// Whether a message is in flight between live processes.
    fn in_flight(&self) -> bool;

    /// Whether the users have nothing left to wait for.
    fn is_content(&mut self, now: Time) -> bool;

    /// Ends the run at this time. Messages that never left their sender are lost.
    fn finish(&mut self, now: Time);
}

impl<P, U, O> World<P, U, O>
where
    P: Process,
    U: User<Command = P::Command, Output = P::Output>,
    O: Observer<P>,
{
    /// Switches the world to inputs from outside. Messages and scheduled events that take longer than the bound are late.
    pub(crate) fn drive_externally(&mut self, wire: Wire<P::Message>, bound: Span) {
        let mut external = ExternalQueues::new(self.engine.n, wire, bound);
        while let Some((time, _, item)) = self.engine.queue.pop() {
            if let Item::Scheduled(slot) = item {
                external.plan(Time(time), self.engine.scheduled.remove(slot));
            }
        }
        self.engine.user.begin(&mut external.initial_commands);
        self.engine.external = Some(Box::new(external));
    }

    fn external(&mut self) -> &mut ExternalQueues<P> {
        self.engine.external.as_mut().expect("an externally driven world has external queues")
    }

    fn lose_all(&mut self, lost: Vec<InFlightMessage>, why: Loss) {
        for waiting in lost {
            let envelope = self.external().envelopes.remove(waiting.envelope);
            self.lose(&envelope, why);
        }
    }

    fn lose(&mut self, envelope: &Envelope<P::Message>, why: Loss) {
        let at = self.engine.next_moment(envelope.to);
        self.engine.observer.lose(at, envelope.from, envelope.tag, &envelope.message, why);
    }

    fn note_if_late(&mut self, from: ProcessId, process: ProcessId, since: Time, now: Time) {
        let took = now.since(since);
        if took > self.external().bound {
            self.engine.observer.late(self.engine.moment(process), from, took);
        }
    }

    /// Loses the messages in flight to processes that are down.
    fn drop_undeliverable(&mut self) {
        let up = self.up();
        let lost = take_undeliverable(&mut self.external().links, &up);
        self.lose_all(lost, Loss::Down);
    }

    /// Removes stale timers from the front of the queue, so that the next scheduled event is current.
    fn skip_stale(&mut self, process: ProcessId) {
        let node = &self.nodes[process.index()];
        let external =
            self.engine.external.as_mut().expect("an externally driven world has external queues");
        while let Some((_, ScheduledEvent::Timer { timer, generation, .. })) =
            external.next(process)
        {
            if node.is_running(timer, *generation) {
                return;
            }
            external.take_next(process);
        }
    }
}

impl<P, U, O> ExternallyDriven for World<P, U, O>
where
    P: Process,
    U: User<Command = P::Command, Output = P::Output>,
    O: Observer<P>,
{
    fn processes(&self) -> usize {
        self.engine.n
    }

    fn limits(&self) -> Limits {
        self.engine.limits
    }

    fn run_only(&mut self, me: ProcessId) {
        self.external().me = Some(me);
    }

    fn take_fault_events(&mut self) -> Vec<(Time, FaultEvent)> {
        std::mem::take(&mut self.external().fault_events)
    }

    fn start(&mut self, process: ProcessId) {
        self.engine.now = Time::ZERO;
        let at = self.engine.moment(process);
        self.engine.observer.input(at, &Input::Start);
        self.invoke(at, P::on_start);
        for (process, after, command) in
            take_own_commands(&mut self.external().initial_commands, process)
        {
            let pending = PendingCommand { process, command, because_of: None, incarnation: None };
            self.engine.enqueue(Time::ZERO + after, ScheduledEvent::Command(pending));
        }
    }

    fn next_scheduled(&mut self, process: ProcessId) -> Option<Time> {
        self.skip_stale(process);
        self.external().next(process).map(|(time, _)| time)
    }

    fn run_next_scheduled(&mut self, process: ProcessId, now: Time) {
        self.skip_stale(process);
        self.engine.now = now;
        if let Some((due, event)) = self.external().take_next(process) {
            self.note_if_late(process, process, due, now);
            self.run_scheduled(event);
        }
        self.drop_undeliverable();
    }

    fn receive(&mut self, from: ProcessId, to: ProcessId, bytes: &[u8], now: Time) -> bool {
        let Some(message) = (self.external().wire.decode)(bytes) else { return false };
        self.engine.now = now;
        // The observer of this world has not seen the message being sent.
        let at = self.engine.moment(from);
        self.engine.messages += 1;
        let id = self.engine.messages;
        let tag = self.engine.observer.send(at, id, to, &message, Departure::Sent);
        self.handle_cold(Envelope { from, to, tag, message });
        true
    }

    fn take_sent(&mut self) -> Vec<OutgoingMessage> {
        std::mem::take(&mut self.external().sent)
    }

    fn deliver(
        &mut self,
        from: ProcessId,
        to: ProcessId,
        number: (u32, u64),
        check: &dyn Fn(&[u8]) -> bool,
        now: Time,
    ) -> Result<Vec<u8>, Misdelivery> {
        self.engine.now = now;
        let encode = self.external().wire.encode;
        loop {
            let external = self.external();
            let waiting = external.links.entry((from, to)).or_default().waiting.pop_front();
            let Some(waiting) = waiting else { return Err(Misdelivery { from, to, number }) };
            let envelope = external.envelopes.remove(waiting.envelope);
            if waiting.number > number {
                return Err(Misdelivery { from, to, number });
            }
            if waiting.number < number {
                // The message was for an earlier incarnation of the receiver.
                self.lose(&envelope, Loss::Down);
                continue;
            }
            let bytes = encode(&envelope.message);
            if !check(&bytes) {
                return Err(Misdelivery { from, to, number });
            }
            self.note_if_late(from, to, waiting.sent, now);
            self.handle_cold(envelope);
            self.drop_undeliverable();
            return Ok(bytes);
        }
    }

    fn take_due_notifications(&mut self, now: Time) -> Vec<(ProcessId, Belief, u64)> {
        let mut delivered = Vec::new();
        while let Some(first) =
            self.external().notifications.first_entry().filter(|first| first.key().0 <= now)
        {
            let notification = first.remove();
            let oracle = self.engine.oracle.as_mut().expect("only the oracle plans beliefs");
            let up = self.nodes[notification.observer.index()].up;
            if up
                && oracle.adopt_if_current(
                    notification.observer,
                    notification.belief,
                    notification.epoch,
                )
            {
                delivered.push((
                    notification.observer,
                    notification.belief,
                    notification.because_of,
                ));
            }
        }
        delivered
    }

    fn next_notification_time(&self) -> Option<Time> {
        let external = self.engine.external.as_ref()?;
        external.notifications.first_key_value().map(|((time, _), _)| *time)
    }

    fn deliver_suspicion(
        &mut self,
        observer: ProcessId,
        belief: Belief,
        because_of: u64,
        now: Time,
    ) {
        self.engine.now = now;
        self.deliver_suspicion(observer, belief, because_of);
        self.drop_undeliverable();
    }

    fn inject(&mut self, fault: FaultEvent, now: Time) {
        self.engine.now = now;
        if let FaultEvent::Recover(process, Memory::Lost) = fault {
            self.drop_undeliverable();
            self.external().begin_incarnation(process);
        }
        Self::inject(self, fault);
        self.drop_undeliverable();
    }

    fn set_false_suspicion(
        &mut self,
        fault: &FaultEvent,
        now: Time,
    ) -> Option<(ProcessId, Belief, u64)> {
        let &FaultEvent::Suspect { observer, victim, active } = fault else { return None };
        self.engine.now = now;
        let at = self.engine.next_moment(observer);
        self.engine.observer.fault(at, fault);
        let belief = self.engine.oracle.as_mut()?.set_false_suspicion(observer, victim, active)?;
        Some((observer, belief, at.event))
    }

    fn awaits_round(&self) -> ProcessSet {
        let round = self.engine.round.as_ref();
        awaiting(round, &self.up())
    }

    fn next_round(&self) -> (u64, Time) {
        let next = self.engine.round.as_ref().map(|round| (round.last_ended + 1, round.length));
        next.map_or((0, Time::NEVER), |(number, length)| {
            (number, Time(number.saturating_mul(length.0)))
        })
    }

    fn end_round(&mut self, process: ProcessId, number: u64, now: Time) {
        self.engine.now = now;
        let Some(round) = &mut self.engine.round else { return };
        round.last_ended = number;
        round.awaited_by.remove(process);
        if self.nodes[process.index()].up {
            let at = self.engine.next_moment(process);
            self.engine.observer.input(at, &Input::RoundEnd(number));
            self.invoke(at, |process, out| process.on_round_end(number, out));
        }
        self.drop_undeliverable();
    }

    fn is_up(&self, process: ProcessId) -> bool {
        self.nodes[process.index()].up
    }

    fn in_flight(&self) -> bool {
        let Some(external) = &self.engine.external else { return false };
        in_flight(&external.links, &self.up(), &external.incarnations)
    }

    fn is_content(&mut self, now: Time) -> bool {
        self.engine.user.is_content(now)
    }

    fn finish(&mut self, now: Time) {
        self.engine.now = self.engine.now.max(now);
        self.drop_undeliverable();
        let up = self.up();
        let ExternalQueues { links, incarnations, .. } = self.external();
        let lost = take_unsent(links, &up, incarnations);
        self.lose_all(lost, Loss::Unsent);
    }
}
