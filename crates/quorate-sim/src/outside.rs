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

pub(crate) struct Outside<P: Process> {
    pub(crate) wire: Wire<P::Message>,
    /// What takes longer than this is late.
    pub(crate) bound: Span,
    /// What each process is to do, by time and by when it was planned.
    errands: Vec<BTreeMap<(Time, u64), Errand<P>>>,
    planned: u64,
    pub(crate) links: BTreeMap<(ProcessId, ProcessId), Link<P::Message>>,
    /// How often each process has come back without memory.
    pub(crate) lives: Vec<u32>,
    /// The one process that really runs here; none where all are followed.
    pub(crate) me: Option<ProcessId>,
    /// What the oracle will tell whom.
    pub(crate) news: BTreeMap<(Time, u64), News>,
    /// What is to befall the world.
    pub(crate) deeds: Vec<(Time, Deed)>,
    /// What users ask of each process from its start on.
    pub(crate) asked: Vec<(ProcessId, Span, P::Command)>,
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

/// The messages from one process to another that have not arrived.
pub(crate) struct Link<M> {
    /// The number of the last one, counted from 1 in each life of the sender.
    last: u64,
    pub(crate) waiting: VecDeque<Waiting<M>>,
}

/// A message under way.
pub(crate) struct Waiting<M> {
    /// Which life of the sender has sent it, and as which of its messages to this receiver.
    pub(crate) number: (u32, u64),
    pub(crate) parcel: Parcel<M>,
    pub(crate) sent: Time,
}

impl<P: Process> Outside<P> {
    pub(crate) fn new(n: usize, wire: Wire<P::Message>, bound: Span) -> Self {
        Self {
            wire,
            bound,
            errands: (0..n).map(|_| BTreeMap::new()).collect(),
            planned: 0,
            links: BTreeMap::new(),
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
        self.errands[process.index()].insert((time, self.planned), errand);
    }

    /// A message leaves: to oneself at once, to others on their links.
    pub(crate) fn send(&mut self, now: Time, parcel: Parcel<P::Message>) {
        let (from, to) = (parcel.from, parcel.to);
        if from == to {
            return self.plan(now, Errand::Handled(parcel));
        }
        let link = self.links.entry((from, to)).or_default();
        link.last += 1;
        let number = (self.lives[from.index()], link.last);
        match self.me {
            None => link.waiting.push_back(Waiting { number, parcel, sent: now }),
            Some(_) => {
                let bytes = (self.wire.encode)(&parcel.message);
                self.sent.push(Sent { to, number, bytes });
            }
        }
    }

    /// The process comes back without memory and counts its messages anew.
    pub(crate) fn begin_life(&mut self, process: ProcessId) {
        self.lives[process.index()] += 1;
        let own = self.links.iter_mut().filter(|((from, _), _)| *from == process);
        own.for_each(|(_, link)| link.last = 0);
    }

    /// When the next errand of a process is due.
    pub(crate) fn next(&self, process: ProcessId) -> Option<(Time, &Errand<P>)> {
        self.errands[process.index()].iter().next().map(|(&(time, _), errand)| (time, errand))
    }

    pub(crate) fn take_next(&mut self, process: ProcessId) -> Option<(Time, Errand<P>)> {
        self.errands[process.index()].pop_first().map(|((due, _), errand)| (due, errand))
    }
}

impl<M> Default for Link<M> {
    fn default() -> Self {
        Self { last: 0, waiting: VecDeque::new() }
    }
}
