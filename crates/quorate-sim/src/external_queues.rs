//! What waits while a world is driven from outside: errands for each process, messages on each link.
//!
//! Two worlds that are told the same of a process plan the same errands for it at the same times and number its messages
//! alike. So a world that runs one process over sockets and one that follows all of them agree without speaking of what
//! a timer or a command is.

use std::collections::{BTreeMap, VecDeque};

use quorate_core::{Belief, Process, ProcessId, Span, Time};

use crate::engine::{Envelope, ScheduledEvent};
use crate::externally_driven::{OutgoingMessage, Wire};
use crate::plan::FaultEvent;
use crate::slab::Slab;
use crate::user::Agenda;

pub(crate) struct ExternalQueues<P: Process> {
    pub(crate) wire: Wire<P::Message>,
    /// What takes longer than this is late.
    pub(crate) bound: Span,
    /// What each process is to do, by time and by when it was planned, and where that is kept: maps of the errands
    /// themselves would be compiled for every algorithm.
    due: Vec<BTreeMap<(Time, u64), u32>>,
    scheduled: Slab<ScheduledEvent<P>>,
    planned: u64,
    pub(crate) links: LinkQueues,
    /// The messages that wait on links.
    pub(crate) envelopes: Slab<Envelope<P::Message>>,
    /// How often each process has come back without memory.
    pub(crate) incarnations: Vec<u32>,
    /// The one process that really runs here; none where all are followed.
    pub(crate) me: Option<ProcessId>,
    /// What the oracle will tell whom.
    pub(crate) notifications: BTreeMap<(Time, u64), DetectorNotification>,
    /// What is to befall the world.
    pub(crate) fault_events: Vec<(Time, FaultEvent)>,
    /// What users ask of each process from its start on.
    pub(crate) initial_commands: Agenda<P::Command>,
    /// What has been sent since this was last asked for.
    pub(crate) sent: Vec<OutgoingMessage>,
}

/// What the oracle will tell.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DetectorNotification {
    pub(crate) observer: ProcessId,
    pub(crate) belief: Belief,
    pub(crate) because_of: u64,
    pub(crate) epoch: u32,
}

/// The links between processes.
pub(crate) type LinkQueues = BTreeMap<(ProcessId, ProcessId), LinkQueue>;

/// The messages from one process to another that have not arrived.
#[derive(Debug, Default)]
pub(crate) struct LinkQueue {
    /// The number of the last one, counted from 1 in each life of the sender.
    last: u64,
    pub(crate) waiting: VecDeque<InFlightMessage>,
}

/// A message under way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InFlightMessage {
    /// Which life of the sender has sent it, and as which of its messages to this receiver.
    pub(crate) number: (u32, u64),
    /// Where its contents are kept.
    pub(crate) envelope: u32,
    pub(crate) sent: Time,
}

/// Takes what is under way to those who are down off its links.
pub(crate) fn take_undeliverable(links: &mut LinkQueues, up: &[bool]) -> Vec<InFlightMessage> {
    let links = links.iter_mut().filter(|((_, to), _)| !up[to.index()]);
    links.flat_map(|(_, link)| link.waiting.drain(..)).collect()
}

/// Takes what nobody will send again off its links: its sender is down, or has come back without memory.
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

/// Takes what the user of a process asks from its start on.
pub(crate) fn take_own_commands<C>(commands: &mut Agenda<C>, process: ProcessId) -> Agenda<C> {
    commands.extract_if(.., |(owner, ..)| *owner == process).collect()
}

/// Whether a message is under way between processes that are up.
pub(crate) fn in_flight(links: &LinkQueues, up: &[bool], incarnations: &[u32]) -> bool {
    // What a life has sent that is over may arrive or not.
    links.iter().any(|((from, to), link)| {
        let incarnation = incarnations[from.index()];
        let sent = link.waiting.iter().any(|waiting| waiting.number.0 == incarnation);
        sent && up[from.index()] && up[to.index()]
    })
}

/// The process counts its messages anew.
fn restart_numbering(links: &mut LinkQueues, process: ProcessId) {
    let own = links.iter_mut().filter(|((from, _), _)| *from == process);
    own.for_each(|(_, link)| link.last = 0);
}

/// The number of the next message on a link.
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
            due: vec![BTreeMap::new(); n],
            scheduled: Slab::default(),
            planned: 0,
            links: BTreeMap::new(),
            envelopes: Slab::default(),
            incarnations: vec![0; n],
            me: None,
            notifications: BTreeMap::new(),
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

    /// A message leaves: to oneself at once, to others on their links.
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

    /// The process comes back without memory and counts its messages anew.
    pub(crate) fn begin_incarnation(&mut self, process: ProcessId) {
        self.incarnations[process.index()] += 1;
        restart_numbering(&mut self.links, process);
    }

    /// When the next errand of a process is due.
    pub(crate) fn next(&self, process: ProcessId) -> Option<(Time, &ScheduledEvent<P>)> {
        let (&(time, _), &slot) = self.due[process.index()].first_key_value()?;
        Some((time, self.scheduled.get(slot)))
    }

    pub(crate) fn take_next(&mut self, process: ProcessId) -> Option<(Time, ScheduledEvent<P>)> {
        let ((due, _), slot) = self.due[process.index()].pop_first()?;
        Some((due, self.scheduled.remove(slot)))
    }
}
