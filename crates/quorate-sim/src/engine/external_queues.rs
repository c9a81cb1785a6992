//! Queues of an externally driven world: scheduled events of each process, and messages on each link.
//!
//! Two worlds that receive the same inputs for a process schedule the same events for it at the same times, and number
//! its messages alike. So a world that runs one process over sockets and a world that follows all processes stay in
//! agreement. They never need to exchange the contents of a timer or a command.

use std::collections::VecDeque;

use quorate_core::{Belief, Process, ProcessId, SortedMap, Span, Time};

use super::event::{Envelope, ScheduledEvent};
use super::slab::Slab;
use super::user::Agenda;
use crate::scenario::plan::FaultEvent;

/// Functions that encode and decode messages.
#[derive(Debug)]
pub struct Wire<M> {
    /// Encodes a message as bytes.
    pub encode: fn(&M) -> Vec<u8>,
    /// Decodes a message; none if the bytes are not a valid message.
    pub decode: fn(&[u8]) -> Option<M>,
}

/// A message that the process running in this world sends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutgoingMessage {
    /// The receiver of the message.
    pub to: ProcessId,
    /// Incarnation of the sender, and the sequence number among its messages to this receiver.
    pub number: (u32, u64),
    /// The message as encoded bytes.
    pub bytes: Vec<u8>,
}

/// Pending events and messages of an externally driven world.
pub(crate) struct ExternalQueues<P: Process> {
    pub(crate) wire: Wire<P::Message>,
    /// Maximum time that a message or a scheduled event may take before it counts as late.
    pub(crate) bound: Span,
    /// Slots of the pending events of each process in `scheduled`, ordered by due time and then by planning order. The
    /// maps hold slots instead of events, because maps of events would be compiled for every type of
    /// processes.
    due: Vec<SortedMap<(Time, u64), u32>>,
    scheduled: Slab<ScheduledEvent<P>>,
    planned: u64,
    pub(crate) links: LinkQueues,
    /// Contents of the messages that wait on links.
    pub(crate) envelopes: Slab<Envelope<P::Message>>,
    /// Number of times that each process has restarted without memory.
    pub(crate) incarnations: Vec<u32>,
    /// The only process that runs in this world. None in a world that follows all processes.
    pub(crate) me: Option<ProcessId>,
    /// Pending notifications of the oracle, by due time and planning order.
    pub(crate) notifications: SortedMap<(Time, u64), DetectorNotification>,
    /// Faults that are still to be handed to the driver.
    pub(crate) fault_events: Vec<(Time, FaultEvent)>,
    /// Commands that users give to each process from its start on.
    pub(crate) initial_commands: Agenda<P::Command>,
    /// Messages sent since the last call of `take_sent`.
    pub(crate) sent: Vec<OutgoingMessage>,
}

/// A notification that the oracle is to deliver to an observer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DetectorNotification {
    pub(crate) observer: ProcessId,
    pub(crate) belief: Belief,
    pub(crate) because_of: u64,
    pub(crate) epoch: u32,
}

pub(crate) type LinkQueues = SortedMap<(ProcessId, ProcessId), LinkQueue>;

/// The messages from one process to another that have not arrived yet.
#[derive(Debug, Default)]
pub(crate) struct LinkQueue {
    /// Number of the last message, counted from 1 in each incarnation of the sender.
    last: u64,
    pub(crate) waiting: VecDeque<InFlightMessage>,
}

/// A message in flight on a link.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InFlightMessage {
    /// Incarnation of the sender, and the sequence number among its messages to this receiver.
    pub(crate) number: (u32, u64),
    /// Slot of its contents in `ExternalQueues::envelopes`.
    pub(crate) envelope: u32,
    pub(crate) sent: Time,
}

/// Removes from the links all messages to processes that are down.
pub(crate) fn take_undeliverable(links: &mut LinkQueues, up: &[bool]) -> Vec<InFlightMessage> {
    let links = links.iter_mut().filter(|((_, to), _)| !up[to.index()]);
    links.flat_map(|(_, link)| link.waiting.drain(..)).collect()
}

/// Removes from the links all messages that will never be sent
/// (again): their sender is down, or has restarted without memory.
pub(crate) fn take_unsent(
    links: &mut LinkQueues,
    up: &[bool],
    incarnations: &[u32],
) -> Vec<InFlightMessage> {
    let mut lost = Vec::new();
    for ((from, _), link) in links {
        let abandoned = |waiting: &InFlightMessage| {
            !up[from.index()] || waiting.number.0 < incarnations[from.index()]
        };
        lost.extend(link.waiting.iter().copied().filter(abandoned));
        link.waiting.retain(|waiting| !abandoned(waiting));
    }
    lost
}

/// Removes and returns the commands that the user of a process gives from its start on.
pub(crate) fn take_own_commands<C>(commands: &mut Agenda<C>, process: ProcessId) -> Agenda<C> {
    commands.extract_if(.., |(owner, ..)| *owner == process).collect()
}

/// Whether a message is in flight between live processes.
pub(crate) fn in_flight(links: &LinkQueues, up: &[bool], incarnations: &[u32]) -> bool {
    // Messages of an earlier incarnation of the sender do not count: they may or may not arrive.
    links.iter().any(|((from, to), link)| {
        let incarnation = incarnations[from.index()];
        let sent = link.waiting.iter().any(|waiting| waiting.number.0 == incarnation);
        sent && up[from.index()] && up[to.index()]
    })
}

/// Restarts the message numbers of a process on all its links.
fn restart_numbering(links: &mut LinkQueues, process: ProcessId) {
    let own = links.iter_mut().filter(|((from, _), _)| *from == process);
    own.for_each(|(_, link)| link.last = 0);
}

/// Allocates the number of the next message on a link.
fn next_number(
    links: &mut LinkQueues,
    link: (ProcessId, ProcessId),
    incarnation: u32,
) -> (u32, u64) {
    let link = links.entry(link).or_default();
    link.last += 1;
    (incarnation, link.last)
}

impl<P: Process> ExternalQueues<P> {
    pub(crate) fn new(n: usize, wire: Wire<P::Message>, bound: Span) -> Self {
        Self {
            wire,
            bound,
            due: vec![SortedMap::new(); n],
            scheduled: Slab::default(),
            planned: 0,
            links: SortedMap::new(),
            envelopes: Slab::default(),
            incarnations: vec![0; n],
            me: None,
            notifications: SortedMap::new(),
            fault_events: Vec::new(),
            initial_commands: Vec::new(),
            sent: Vec::new(),
        }
    }

    pub(crate) fn plan(&mut self, time: Time, event: ScheduledEvent<P>) {
        self.planned += 1;
        let process = match &event {
            ScheduledEvent::Handled(envelope) => envelope.to,
            ScheduledEvent::Timer { process, .. } => *process,
            ScheduledEvent::Command(pending) => pending.process,
            &ScheduledEvent::Belief { observer, belief, because_of, epoch } => {
                let notification = DetectorNotification { observer, belief, because_of, epoch };
                self.notifications.insert((time, self.planned), notification);
                return;
            }
            ScheduledEvent::Fault(fault) => return self.fault_events.push((time, fault.clone())),
        };
        let slot = self.scheduled.insert(event);
        self.due[process.index()].insert((time, self.planned), slot);
    }

    /// Sends a message. A message to the sender itself is due immediately; other messages are appended to their link.
    pub(crate) fn send(&mut self, now: Time, envelope: Envelope<P::Message>) {
        let (from, to) = (envelope.from, envelope.to);
        if from == to {
            return self.plan(now, ScheduledEvent::Handled(envelope));
        }
        let number = next_number(&mut self.links, (from, to), self.incarnations[from.index()]);
        match self.me {
            None => {
                let waiting = InFlightMessage {
                    number,
                    envelope: self.envelopes.insert(envelope),
                    sent: now,
                };
                self.links.entry((from, to)).or_default().waiting.push_back(waiting);
            }
            Some(_) => {
                let bytes = (self.wire.encode)(&envelope.message);
                self.sent.push(OutgoingMessage { to, number, bytes });
            }
        }
    }

    /// Starts a new incarnation of a process that has lost its memory. Its message numbers restart.
    pub(crate) fn begin_incarnation(&mut self, process: ProcessId) {
        self.incarnations[process.index()] += 1;
        restart_numbering(&mut self.links, process);
    }

    /// The next scheduled event of a process, and when it is due.
    pub(crate) fn next(&self, process: ProcessId) -> Option<(Time, &ScheduledEvent<P>)> {
        let (&(time, _), &slot) = self.due[process.index()].first_key_value()?;
        Some((time, self.scheduled.get(slot)))
    }

    pub(crate) fn take_next(&mut self, process: ProcessId) -> Option<(Time, ScheduledEvent<P>)> {
        let ((due, _), slot) = self.due[process.index()].pop_first()?;
        Some((due, self.scheduled.remove(slot)))
    }
}
