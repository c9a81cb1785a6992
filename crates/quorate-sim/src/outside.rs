//! What waits while a world is driven from outside: errands for each process, messages on each link.
//!
//! Two worlds that are told the same of a process plan the same errands for it at the same times and number its messages
//! alike. So a world that runs one process over sockets and one that follows all of them agree without speaking of what
//! a timer or a command is.

use std::collections::{BTreeMap, VecDeque};

use quorate_core::{Belief, Process, ProcessId, Span, Time};

use crate::engine::{Errand, Parcel};
use crate::plan::Deed;
use crate::puppet::{Sent, Wire};
use crate::slab::Slab;
use crate::user::Agenda;

pub(crate) struct Outside<P: Process> {
    pub(crate) wire: Wire<P::Message>,
    /// What takes longer than this is late.
    pub(crate) bound: Span,
    /// What each process is to do, by time and by when it was planned, and where that is kept: maps of the errands
    /// themselves would be compiled for every algorithm.
    due: Vec<BTreeMap<(Time, u64), u32>>,
    errands: Slab<Errand<P>>,
    planned: u64,
    pub(crate) links: Links,
    /// The messages that wait on links.
    pub(crate) parcels: Slab<Parcel<P::Message>>,
    /// How often each process has come back without memory.
    pub(crate) lives: Vec<u32>,
    /// The one process that really runs here; none where all are followed.
    pub(crate) me: Option<ProcessId>,
    /// What the oracle will tell whom.
    pub(crate) news: BTreeMap<(Time, u64), News>,
    /// What is to befall the world.
    pub(crate) deeds: Vec<(Time, Deed)>,
    /// What users ask of each process from its start on.
    pub(crate) asked: Agenda<P::Command>,
    /// What has been sent since this was last asked for.
    pub(crate) sent: Vec<Sent>,
}

/// What the oracle will tell.
#[derive(Clone, Copy, Debug)]
pub(crate) struct News {
    pub(crate) observer: ProcessId,
    pub(crate) belief: Belief,
    pub(crate) because_of: u64,
    pub(crate) epoch: u32,
}

/// The links between processes.
pub(crate) type Links = BTreeMap<(ProcessId, ProcessId), Link>;

/// The messages from one process to another that have not arrived.
#[derive(Debug, Default)]
pub(crate) struct Link {
    /// The number of the last one, counted from 1 in each life of the sender.
    last: u64,
    pub(crate) waiting: VecDeque<Waiting>,
}

/// A message under way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Waiting {
    /// Which life of the sender has sent it, and as which of its messages to this receiver.
    pub(crate) number: (u32, u64),
    /// Where its contents are kept.
    pub(crate) parcel: u32,
    pub(crate) sent: Time,
}

/// Takes what is under way to those who are down off its links.
pub(crate) fn take_what_cannot_arrive(links: &mut Links, up: &[bool]) -> Vec<Waiting> {
    let links = links.iter_mut().filter(|((_, to), _)| !up[to.index()]);
    links.flat_map(|(_, link)| link.waiting.drain(..)).collect()
}

/// Takes what nobody will send again off its links: its sender is down, or has come back without memory.
pub(crate) fn take_unsent(links: &mut Links, up: &[bool], lives: &[u32]) -> Vec<Waiting> {
    let mut lost = Vec::new();
    for ((from, _), link) in links {
        let over = |waiting: &Waiting| !up[from.index()] || waiting.number.0 < lives[from.index()];
        lost.extend(link.waiting.iter().copied().filter(over));
        link.waiting.retain(|waiting| !over(waiting));
    }
    lost
}

/// Takes what the user of a process asks from its start on.
pub(crate) fn take_own<C>(asked: &mut Agenda<C>, process: ProcessId) -> Agenda<C> {
    asked.extract_if(.., |(whose, ..)| *whose == process).collect()
}

/// Whether a message is under way between processes that are up.
pub(crate) fn in_flight(links: &Links, up: &[bool], lives: &[u32]) -> bool {
    // What a life has sent that is over may arrive or not.
    links.iter().any(|((from, to), link)| {
        let life = lives[from.index()];
        let sent = link.waiting.iter().any(|waiting| waiting.number.0 == life);
        sent && up[from.index()] && up[to.index()]
    })
}

/// The process counts its messages anew.
fn count_anew(links: &mut Links, process: ProcessId) {
    let own = links.iter_mut().filter(|((from, _), _)| *from == process);
    own.for_each(|(_, link)| link.last = 0);
}

/// The number of the next message on a link.
fn next_on(links: &mut Links, link: (ProcessId, ProcessId), life: u32) -> (u32, u64) {
    let link = links.entry(link).or_default();
    link.last += 1;
    (life, link.last)
}

impl<P: Process> Outside<P> {
    pub(crate) fn new(n: usize, wire: Wire<P::Message>, bound: Span) -> Self {
        Self {
            wire,
            bound,
            due: vec![BTreeMap::new(); n],
            errands: Slab::default(),
            planned: 0,
            links: BTreeMap::new(),
            parcels: Slab::default(),
            lives: vec![0; n],
            me: None,
            news: BTreeMap::new(),
            deeds: Vec::new(),
            asked: Vec::new(),
            sent: Vec::new(),
        }
    }

    pub(crate) fn plan(&mut self, time: Time, errand: Errand<P>) {
        self.planned += 1;
        let process = match &errand {
            Errand::Handled(parcel) => parcel.to,
            Errand::Timer { process, .. } => *process,
            Errand::Command(asked) => asked.process,
            &Errand::Belief { observer, belief, because_of, epoch } => {
                let news = News { observer, belief, because_of, epoch };
                self.news.insert((time, self.planned), news);
                return;
            }
            Errand::Deed(deed) => return self.deeds.push((time, deed.clone())),
        };
        let place = self.errands.insert(errand);
        self.due[process.index()].insert((time, self.planned), place);
    }

    /// A message leaves: to oneself at once, to others on their links.
    pub(crate) fn send(&mut self, now: Time, parcel: Parcel<P::Message>) {
        let (from, to) = (parcel.from, parcel.to);
        if from == to {
            return self.plan(now, Errand::Handled(parcel));
        }
        let number = next_on(&mut self.links, (from, to), self.lives[from.index()]);
        match self.me {
            None => {
                let waiting = Waiting { number, parcel: self.parcels.insert(parcel), sent: now };
                self.links.entry((from, to)).or_default().waiting.push_back(waiting);
            }
            Some(_) => {
                let bytes = (self.wire.encode)(&parcel.message);
                self.sent.push(Sent { to, number, bytes });
            }
        }
    }

    /// The process comes back without memory and counts its messages anew.
    pub(crate) fn begin_life(&mut self, process: ProcessId) {
        self.lives[process.index()] += 1;
        count_anew(&mut self.links, process);
    }

    /// When the next errand of a process is due.
    pub(crate) fn next(&self, process: ProcessId) -> Option<(Time, &Errand<P>)> {
        let (&(time, _), &place) = self.due[process.index()].first_key_value()?;
        Some((time, self.errands.get(place)))
    }

    pub(crate) fn take_next(&mut self, process: ProcessId) -> Option<(Time, Errand<P>)> {
        let ((due, _), place) = self.due[process.index()].pop_first()?;
        Some((due, self.errands.remove(place)))
    }
}
