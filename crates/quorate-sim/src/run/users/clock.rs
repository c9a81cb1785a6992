//! Users of clock synchronisation: each requests repeatedly that its clock be set. A request that comes due while the
//! previous one is pending is made after it.

use quorate_core::clock_sync::{Command, Output};
use quorate_core::{ProcessId, Span, Time};

use crate::engine::{Agenda, User};
use crate::scenario::plan::Memory;

/// The users of clock synchronisation.
#[derive(Clone, Debug)]
pub struct ClockUsers {
    planned: Vec<(ProcessId, Span)>,
    users: Vec<ClockUser>,
    quiet: Span,
    settled_since: Option<Time>,
}

/// The user of one process.
#[derive(Clone, Copy, Debug, Default)]
struct ClockUser {
    down: bool,
    /// Whether it waits for an answer.
    asking: bool,
    /// Number of requests that are not due yet.
    ahead: u32,
    /// Number of requests that are due, including the current one.
    due: u32,
}

impl ClockUsers {
    /// Creates users for n processes from the time of each first request, the number of requests, and the interval
    /// between them. A run that would not end otherwise is over when no live user has had a request for `quiet`. It
    /// waits that long because a crash may make other processes act.
    pub fn new(
        n: usize,
        first: &[(ProcessId, Span)],
        repeat: u32,
        pause: Span,
        quiet: Span,
    ) -> Self {
        let mut users = vec![ClockUser::default(); n];
        let mut planned = Vec::new();
        for &(process, after) in first {
            users[process.index()].ahead += repeat;
            let times = (0..repeat).map(|time| pause.0.saturating_mul(time.into()));
            planned.extend(times.map(|later| (process, after + Span(later))));
        }
        Self { planned, users, quiet, settled_since: None }
    }
}

impl User for ClockUsers {
    type Command = Command;
    type Output = Output;

    fn begin(&mut self, agenda: &mut Agenda<Command>) {
        let planned = std::mem::take(&mut self.planned).into_iter();
        agenda.extend(planned.map(|(process, after)| (process, after, Command::Synchronise)));
    }

    fn on_due(&mut self, process: ProcessId, _: &Command, up: bool) -> bool {
        let user = &mut self.users[process.index()];
        user.ahead -= 1;
        user.due += 1;
        let now = up && !user.asking;
        user.asking |= now;
        now
    }

    fn accepted(&mut self, _: ProcessId, _: &Command, _: &mut Agenda<Command>) {}

    fn on_output(&mut self, process: ProcessId, _: &Output, agenda: &mut Agenda<Command>) {
        self.settled_since = None;
        let user = &mut self.users[process.index()];
        // A clock may be set without a request of its user.
        if std::mem::take(&mut user.asking) {
            user.due -= 1;
            user.asking = user.due > 0;
            if user.asking {
                agenda.push((process, Span::ZERO, Command::Synchronise));
            }
        }
    }

    fn crashed(&mut self, process: ProcessId) {
        self.settled_since = None;
        self.users[process.index()].down = true;
    }

    fn recovered(&mut self, process: ProcessId, memory: Memory, agenda: &mut Agenda<Command>) {
        let user = &mut self.users[process.index()];
        user.down = false;
        // A process that has kept its memory continues its request.
        if user.due > 0 && (memory == Memory::Lost || !user.asking) {
            user.asking = true;
            agenda.push((process, Span::ZERO, Command::Synchronise));
        }
    }

    fn is_content(&mut self, now: Time) -> bool {
        if !self.users.iter().all(|user| user.down || (user.ahead == 0 && user.due == 0)) {
            return false;
        }
        now >= *self.settled_since.get_or_insert(now) + self.quiet
    }
}
