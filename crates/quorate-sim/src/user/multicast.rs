//! Users of a multicast: each sends its messages one after the other, whatever becomes of the earlier ones.

use std::collections::VecDeque;

use quorate_core::multicast::{Command, Group, Output};
use quorate_core::{ProcessId, ProcessSet, Span, Time};

use crate::plan::Memory;
use crate::user::{Agenda, User};

/// The senders. They are content once every message is where it should be and nothing has happened for a while.
#[derive(Clone, Debug)]
pub struct MulticastUsers {
    planned: Vec<(ProcessId, Span)>,
    repeat: u64,
    pause: Span,
    to: Group,
    members: ProcessSet,
    places: Vec<Place>,
    /// How many live processes still have something to send.
    wanting: usize,
    /// What has been sent, and which live members have not delivered it.
    missing: Vec<Missing>,
    /// The message that its own sender has just delivered, before its command counts as accepted.
    at_once: Option<(ProcessId, u64)>,
    down: ProcessSet,
    quiet: Span,
    settled_since: Option<Time>,
}

/// The user at one process.
#[derive(Clone, Debug, Default)]
struct Place {
    down: bool,
    /// Requests whose time has not come.
    ahead: u32,
    /// The first numbers of the requests whose time has come, the present one first.
    due: VecDeque<u64>,
    /// The next number to send.
    next: u64,
}

impl Place {
    fn wants(&self) -> bool {
        !self.down && (self.ahead > 0 || !self.due.is_empty())
    }
}

#[derive(Clone, Debug)]
struct Missing {
    origin: ProcessId,
    id: u64,
    members: ProcessSet,
    delivered: bool,
}

impl MulticastUsers {
    /// Senders among n processes: when each begins, how many messages it sends then, how long it pauses in between,
    /// and to whom they are. A run that would not end by itself is over when nothing is missing for `quiet`.
    pub fn new(
        n: usize,
        mut planned: Vec<(ProcessId, Span)>,
        repeat: u32,
        pause: Span,
        to: Group,
        quiet: Span,
    ) -> Self {
        // Numbers rise with time at each process.
        planned.sort_by_key(|(_, after)| *after);
        let mut places = vec![Place::default(); n];
        for (process, _) in &planned {
            places[process.index()].ahead += 1;
        }
        let wanting = places.iter().filter(|place| place.wants()).count();
        Self {
            planned,
            repeat: repeat.into(),
            pause,
            members: to.members(n),
            to,
            places,
            wanting,
            missing: Vec::new(),
            at_once: None,
            down: ProcessSet::new(),
            quiet,
            settled_since: None,
        }
    }

    fn command(&self, id: u64) -> Command {
        Command::Multicast { id, to: self.to.clone(), body: () }
    }

    /// Changes a user's place and keeps the count of those who want something.
    fn change<R>(&mut self, process: ProcessId, change: impl FnOnce(&mut Place) -> R) -> R {
        let place = &mut self.places[process.index()];
        let before = place.wants();
        let answer = change(place);
        match (before, place.wants()) {
            (true, false) => self.wanting -= 1,
            (false, true) => self.wanting += 1,
            _ => {}
        }
        self.settled_since = None;
        answer
    }
}

impl User for MulticastUsers {
    type Command = Command;
    type Output = Output;

    fn begin(&mut self, agenda: &mut Agenda<Command>) {
        let mut ranks = vec![0; self.places.len()];
        for (process, after) in std::mem::take(&mut self.planned) {
            let rank: &mut u64 = &mut ranks[process.index()];
            agenda.push((process, after, self.command(*rank * self.repeat)));
            *rank += 1;
        }
    }

    /// One who is still sending, or down, begins when that is over.
    fn falls_due(&mut self, process: ProcessId, command: &Command, up: bool) -> bool {
        let Command::Multicast { id, .. } = *command;
        self.change(process, |place| {
            let idle = place.due.is_empty();
            place.ahead -= 1;
            place.due.push_back(id);
            if idle {
                place.next = id;
            }
            up && idle
        })
    }

    fn accepted(&mut self, process: ProcessId, command: &Command, agenda: &mut Agenda<Command>) {
        let Command::Multicast { id, .. } = *command;
        let mut members = &self.members - &self.down;
        let delivered = self.at_once.take() == Some((process, id));
        if delivered {
            members.remove(process);
        }
        if !members.is_empty() {
            self.missing.push(Missing { origin: process, id, members, delivered });
        }
        let repeat = self.repeat;
        let next = self.change(process, |place| {
            place.next = id + 1;
            if place.due.front().is_some_and(|first| place.next >= first + repeat) {
                place.due.pop_front();
                place.next = place.due.front().copied().unwrap_or(0);
            }
            // One that crashed while sending goes on when it is back.
            (!place.down && !place.due.is_empty()).then_some(place.next)
        });
        agenda.extend(next.map(|id| (process, self.pause, self.command(id))));
    }

    fn hear(&mut self, process: ProcessId, output: &Output, _: &mut Agenda<Command>) {
        let Output::Delivered { origin, id, .. } = *output;
        let place = self.missing.iter().position(|sent| (sent.origin, sent.id) == (origin, id));
        let Some(place) = place else {
            self.at_once = Some((process, id)).filter(|_| process == origin);
            return;
        };
        self.settled_since = None;
        let sent = &mut self.missing[place];
        sent.delivered = true;
        sent.members.remove(process);
        if sent.members.is_empty() {
            self.missing.swap_remove(place);
        }
    }

    fn crashed(&mut self, process: ProcessId) {
        self.down.insert(process);
        self.change(process, |place| place.down = true);
        self.missing.retain_mut(|sent| {
            sent.members.remove(process);
            !sent.members.is_empty()
        });
    }

    fn recovered(&mut self, process: ProcessId, _: Memory, agenda: &mut Agenda<Command>) {
        self.down.remove(process);
        let next = self.change(process, |place| {
            place.down = false;
            (!place.due.is_empty()).then_some(place.next)
        });
        agenda.extend(next.map(|id| (process, Span::ZERO, self.command(id))));
    }

    fn is_content(&mut self, now: Time) -> bool {
        // Nobody needs to deliver what nobody has, if its sender is gone.
        let lost = |sent: &Missing| !sent.delivered && self.down.contains(sent.origin);
        if self.wanting > 0 || !self.missing.iter().all(lost) {
            return false;
        }
        let since = *self.settled_since.get_or_insert(now);
        now >= since + self.quiet
    }
}
