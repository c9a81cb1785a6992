//! Users of a multicast: each sends its messages one after the other, without waiting for earlier deliveries.

use std::collections::VecDeque;

use quorate_core::multicast::{Command, Content, Group, Output};
use quorate_core::{ProcessId, ProcessSet, Span, Time};

use crate::engine::{Agenda, User};
use crate::scenario::plan::Memory;

/// The senders. They are content once every message has been
/// delivered where it should be and nothing has changed for a while.
#[derive(Clone, Debug)]
pub struct MulticastUsers {
    planned: Vec<(ProcessId, Span)>,
    repeat: u64,
    pause: Span,
    to: Group,
    members: ProcessSet,
    users: Vec<MulticastUser>,
    /// Number of live processes that still have messages to send.
    wanting: usize,
    /// Messages that some live members have not delivered yet.
    undelivered: Vec<UndeliveredMessage>,
    /// A message that its own sender delivered before the command counts as accepted.
    at_once: Option<(ProcessId, u64)>,
    down: ProcessSet,
    quiet: Span,
    settled_since: Option<Time>,
}

/// The user of one process.
#[derive(Clone, Debug, Default)]
struct MulticastUser {
    down: bool,
    /// Number of requests that are not due yet.
    ahead: u32,
    /// First message number of each request that is due, the current one first.
    due: VecDeque<u64>,
    /// Number of the next message to send.
    next: u64,
}

impl MulticastUser {
    fn wants(&self) -> bool {
        !self.down && (self.ahead > 0 || !self.due.is_empty())
    }
}

#[derive(Clone, Debug)]
struct UndeliveredMessage {
    origin: ProcessId,
    id: u64,
    members: ProcessSet,
    delivered: bool,
}

impl MulticastUsers {
    /// Creates senders among n processes from the times of their requests, the number of
    /// messages per request, the pause between messages, and the receivers. A run that
    /// would not end otherwise is over when no delivery has been missing for `quiet`.
    pub fn new(
        n: usize,
        mut planned: Vec<(ProcessId, Span)>,
        repeat: u32,
        pause: Span,
        to: Group,
        quiet: Span,
    ) -> Self {
        // Message numbers ascend with time at each process.
        planned.sort_by_key(|(_, after)| *after);
        let mut users = vec![MulticastUser::default(); n];
        for (process, _) in &planned {
            users[process.index()].ahead += 1;
        }
        let wanting = users.iter().filter(|user| user.wants()).count();
        Self {
            planned,
            repeat: repeat.into(),
            pause,
            members: to.members(n),
            to,
            users,
            wanting,
            undelivered: Vec::new(),
            at_once: None,
            down: ProcessSet::new(),
            quiet,
            settled_since: None,
        }
    }

    fn command(&self, id: u64) -> Command {
        Command::Multicast { id, to: self.to.clone(), body: Content::TRUE }
    }

    /// Changes the state of a user and updates the number of users that want something.
    fn change<R>(&mut self, process: ProcessId, change: impl FnOnce(&mut MulticastUser) -> R) -> R {
        let user = &mut self.users[process.index()];
        let before = user.wants();
        let result = change(user);
        match (before, user.wants()) {
            (true, false) => self.wanting -= 1,
            (false, true) => self.wanting += 1,
            _ => {}
        }
        self.settled_since = None;
        result
    }
}

impl User for MulticastUsers {
    type Command = Command;
    type Output = Output;

    fn begin(&mut self, agenda: &mut Agenda<Command>) {
        let mut ranks = vec![0; self.users.len()];
        for (process, after) in std::mem::take(&mut self.planned) {
            let rank: &mut u64 = &mut ranks[process.index()];
            agenda.push((process, after, self.command(*rank * self.repeat)));
            *rank += 1;
        }
    }

    /// If the process is still sending an earlier request, or is down, the request begins after that.
    fn on_due(&mut self, process: ProcessId, command: &Command, up: bool) -> bool {
        let Command::Multicast { id, .. } = *command;
        self.change(process, |user| {
            let idle = user.due.is_empty();
            user.ahead -= 1;
            user.due.push_back(id);
            if idle {
                user.next = id;
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
            self.undelivered.push(UndeliveredMessage { origin: process, id, members, delivered });
        }
        let repeat = self.repeat;
        let next = self.change(process, |user| {
            user.next = id + 1;
            if user.due.front().is_some_and(|first| user.next >= first + repeat) {
                user.due.pop_front();
                user.next = user.due.front().copied().unwrap_or(0);
            }
            // A process that crashed while sending continues after its recovery.
            (!user.down && !user.due.is_empty()).then_some(user.next)
        });
        agenda.extend(next.map(|id| (process, self.pause, self.command(id))));
    }

    fn on_output(&mut self, process: ProcessId, output: &Output, _: &mut Agenda<Command>) {
        let Output::Delivered { origin, id, .. } = *output;
        let index = self.undelivered.iter().position(|sent| (sent.origin, sent.id) == (origin, id));
        let Some(index) = index else {
            self.at_once = Some((process, id)).filter(|_| process == origin);
            return;
        };
        self.settled_since = None;
        let sent = &mut self.undelivered[index];
        sent.delivered = true;
        sent.members.remove(process);
        if sent.members.is_empty() {
            self.undelivered.swap_remove(index);
        }
    }

    fn crashed(&mut self, process: ProcessId) {
        self.down.insert(process);
        self.change(process, |user| user.down = true);
        self.undelivered.retain_mut(|sent| {
            sent.members.remove(process);
            !sent.members.is_empty()
        });
    }

    fn recovered(&mut self, process: ProcessId, _: Memory, agenda: &mut Agenda<Command>) {
        self.down.remove(process);
        let next = self.change(process, |user| {
            user.down = false;
            (!user.due.is_empty()).then_some(user.next)
        });
        agenda.extend(next.map(|id| (process, Span::ZERO, self.command(id))));
    }

    fn is_content(&mut self, now: Time) -> bool {
        // A message that no process has delivered and whose sender is down need not be delivered.
        let lost = |sent: &UndeliveredMessage| !sent.delivered && self.down.contains(sent.origin);
        if self.wanting > 0 || !self.undelivered.iter().all(lost) {
            return false;
        }
        let since = *self.settled_since.get_or_insert(now);
        now >= since + self.quiet
    }
}
