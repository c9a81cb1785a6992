//! A world that is told what happens, in place of deciding it: the way to run processes over sockets and judge them here.
//!
//! The same world stands in two places. Where a process really runs, it is told what arrives and what is due, and says
//! what to send. Where all processes are followed, it is told the same of each of them, in an order that their vector
//! clocks allow, and feeds the users, the monitors and the trace as a simulation does. Nothing here depends on the
//! algorithm: messages are bytes, and errands (timers and commands) are known by their order alone.

use quorate_core::{Belief, Process, ProcessId, ProcessSet, Span, Time};

use crate::engine::{Envelope, Item, PendingCommand, ScheduledEvent, awaiting};
use crate::external_queues::{
    ExternalQueues, InFlightMessage, in_flight, take_own_commands, take_undeliverable, take_unsent,
};
use crate::network::Loss;
use crate::observer::{Departure, Input, Observer};
use crate::plan::{FaultEvent, Memory};
use crate::user::User;
use crate::world::{Ending, Limits, World};

/// Drives a world from outside until it has an end.
pub trait Driver {
    /// Does it.
    fn drive(&mut self, world: &mut dyn ExternallyDriven) -> Ending;
}

/// How messages become bytes and bytes messages.
#[derive(Debug)]
pub struct Wire<M> {
    /// A message as bytes.
    pub encode: fn(&M) -> Vec<u8>,
    /// Bytes as a message, if they are one.
    pub decode: fn(&[u8]) -> Option<M>,
}

/// A message that leaves the process that runs here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutgoingMessage {
    /// To whom.
    pub to: ProcessId,
    /// Which life of its sender has sent it, and as which of its messages to this receiver.
    pub number: (u32, u64),
    /// What.
    pub bytes: Vec<u8>,
}

/// A message is said to have arrived that was not under way.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("message {number:?} from {from} to {to} arrived, and was not sent or not like this")]
pub struct Misdelivery {
    /// Its sender.
    pub from: ProcessId,
    /// Its receiver.
    pub to: ProcessId,
    /// Which it was.
    pub number: (u32, u64),
}

/// A world told from outside what happens to its processes. Times are those of the events.
pub trait ExternallyDriven {
    /// How many processes there are.
    fn processes(&self) -> usize;

    /// When to stop.
    fn limits(&self) -> Limits;

    /// Only this process runs here; what others send is not kept.
    fn run_only(&mut self, me: ProcessId);

    /// What is to befall the world; asked once.
    fn take_fault_events(&mut self) -> Vec<(Time, FaultEvent)>;

    /// A process starts, and what its user plans is planned. All start at time zero.
    fn start(&mut self, process: ProcessId);

    /// When the next errand of a process is due.
    fn next_scheduled(&mut self, process: ProcessId) -> Option<Time>;

    /// A process does its next errand.
    fn run_next_scheduled(&mut self, process: ProcessId, now: Time);

    /// A message arrives at the process that runs here. Whether the bytes were a message.
    fn receive(&mut self, from: ProcessId, to: ProcessId, bytes: &[u8], now: Time) -> bool;

    /// What the process that runs here has sent since this was last asked.
    fn take_sent(&mut self) -> Vec<OutgoingMessage>;

    /// A message that was sent arrives. The bytes that arrived, if it was under way and they pass the check.
    fn deliver(
        &mut self,
        from: ProcessId,
        to: ProcessId,
        number: (u32, u64),
        check: &dyn Fn(&[u8]) -> bool,
        now: Time,
    ) -> Result<Vec<u8>, Misdelivery>;

    /// What the oracle is to tell whom now: observer, belief and the event that caused it.
    fn take_due_notifications(&mut self, now: Time) -> Vec<(ProcessId, Belief, u64)>;

    /// When the oracle has something to tell.
    fn next_notification_time(&self) -> Option<Time>;

    /// A process is told what its detector believes.
    fn deliver_suspicion(
        &mut self,
        observer: ProcessId,
        belief: Belief,
        because_of: u64,
        now: Time,
    );

    /// Something befalls the world.
    fn inject(&mut self, fault: FaultEvent, now: Time);

    /// What becomes of a false suspicion: what to tell the observer, if anything.
    fn set_false_suspicion(
        &mut self,
        fault: &FaultEvent,
        now: Time,
    ) -> Option<(ProcessId, Belief, u64)>;

    /// Who is up and waits for the end of a round.
    fn awaits_round(&self) -> ProcessSet;

    /// The number of the next round to end, and when it may.
    fn next_round(&self) -> (u64, Time);

    /// A round is over for a process.
    fn end_round(&mut self, process: ProcessId, number: u64, now: Time);

    /// Whether a process is up.
    fn is_up(&self, process: ProcessId) -> bool;

    /// Whether a message is under way between processes that are up.
    fn in_flight(&self) -> bool;

    /// Whether nobody wants anything any more.
    fn is_content(&mut self, now: Time) -> bool;

    /// The run is over at this time: what never left is lost.
    fn finish(&mut self, now: Time);
}

impl<P, U, O> World<P, U, O>
where
    P: Process,
    U: User<Command = P::Command, Output = P::Output>,
    O: Observer<P>,
{
    /// From now on what happens is told from outside. What takes longer than the bound is late.
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
        self.engine.external.as_mut().expect("a world that is driven has gone outside")
    }

    /// These do not arrive.
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

    /// What is under way to those who are down does not arrive.
    fn drop_undeliverable(&mut self) {
        let up = self.up();
        let lost = take_undeliverable(&mut self.external().links, &up);
        self.lose_all(lost, Loss::Down);
    }

    /// Forgets timers that do not run any longer, so that the next errand is one.
    fn skip_stale(&mut self, process: ProcessId) {
        let node = &self.nodes[process.index()];
        let external = self.engine.external.as_mut().expect("the world has gone outside");
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
        // Whoever watches here has not seen it leave.
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
                // It was for a life of the receiver that is over.
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
