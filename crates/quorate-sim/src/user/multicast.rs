//! Users of a multicast: each sends its messages at their times, whatever becomes of the earlier ones.

use quorate_core::multicast::{Command, Group, Multicast, Output};
use quorate_core::{ProcessId, ProcessSet, Span, Time};

use crate::plan::Memory;
use crate::user::{Agenda, User};

/// The senders. They are content once every message is where it should be and nothing has happened for a while.
#[derive(Clone, Debug)]
pub struct MulticastUsers {
    planned: Vec<(ProcessId, Span, u64)>,
    to: Group,
    members: ProcessSet,
    /// Messages whose time has not come.
    ahead: usize,
    /// What has been sent, and which live members have not delivered it.
    missing: Vec<Missing>,
    down: ProcessSet,
    quiet: Span,
    settled_since: Option<Time>,
}

#[derive(Clone, Debug)]
struct Missing {
    origin: ProcessId,
    id: u64,
    members: ProcessSet,
    delivered: bool,
}

impl MulticastUsers {
    /// Senders among n processes: when each first sends, how often it sends again and how long after, and to whom. A
    /// run that would not end by itself is over when nothing is missing for `quiet`.
    pub fn new(
        n: usize,
        first: Vec<(ProcessId, Span)>,
        repeat: u32,
        think: Span,
        to: Group,
        quiet: Span,
    ) -> Self {
        let times = |(process, after): (ProcessId, Span)| {
            let again = |count: u32| Span(think.0.saturating_mul(count.into()));
            (0..repeat).map(move |count| (process, after + again(count)))
        };
        let mut times: Vec<(ProcessId, Span)> = first.into_iter().flat_map(times).collect();
        // Numbers rise with time at each process; who sends at the same time does so in the order of the plan.
        times.sort_by_key(|(_, after)| *after);
        let mut next = vec![0; n];
        let number = |(process, after): (ProcessId, Span)| {
            let id = next[process.index()];
            next[process.index()] += 1;
            (process, after, id)
        };
        let planned: Vec<_> = times.into_iter().map(number).collect();
        Self {
            ahead: planned.len(),
            planned,
            members: to.members(n),
            to,
            missing: Vec::new(),
            down: ProcessSet::new(),
            quiet,
            settled_since: None,
        }
    }
}

impl<P: Multicast> User<P> for MulticastUsers {
    fn begin(&mut self, agenda: &mut Agenda<Command>) {
        let planned = std::mem::take(&mut self.planned).into_iter();
        agenda.extend(planned.map(|(process, after, id)| {
            (process, after, Command::Multicast { id, to: self.to.clone() })
        }));
    }

    fn falls_due(&mut self, process: ProcessId, command: &Command, up: bool) -> bool {
        self.ahead -= 1;
        self.settled_since = None;
        if up {
            let Command::Multicast { id, .. } = command;
            let members = &self.members - &self.down;
            self.missing.push(Missing { origin: process, id: *id, members, delivered: false });
        }
        up
    }

    fn accepted(&mut self, _: ProcessId, _: &Command, _: &mut Agenda<Command>) {}

    fn hear(&mut self, process: ProcessId, output: &Output, _: &mut Agenda<Command>) {
        let Output::Delivered { origin, id } = *output;
        let place = self.missing.iter().position(|sent| (sent.origin, sent.id) == (origin, id));
        let Some(place) = place else { return };
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
        self.settled_since = None;
        self.missing.retain_mut(|sent| {
            sent.members.remove(process);
            !sent.members.is_empty()
        });
    }

    fn recovered(&mut self, process: ProcessId, _: Memory, _: &mut Agenda<Command>) {
        self.down.remove(process);
    }

    fn is_content(&mut self, now: Time) -> bool {
        // Nobody needs to deliver what nobody has, if its sender is gone.
        let lost = |sent: &Missing| !sent.delivered && self.down.contains(sent.origin);
        if self.ahead > 0 || !self.missing.iter().all(lost) {
            return false;
        }
        let since = *self.settled_since.get_or_insert(now);
        now >= since + self.quiet
    }
}
