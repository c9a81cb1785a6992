//! Users of clocks: each wants its own set now and then. One that still waits when it is time again asks after that.

use quorate_core::clock_sync::{Command, Output};
use quorate_core::{ProcessId, Span, Time};

use crate::plan::Memory;
use crate::user::{Agenda, User};

/// Users of clocks.
#[derive(Clone, Debug)]
pub struct ClockUsers {
    planned: Vec<(ProcessId, Span)>,
    users: Vec<ClockUser>,
    quiet: Span,
    settled_since: Option<Time>,
}

/// The user at one process.
#[derive(Clone, Copy, Debug, Default)]
struct ClockUser {
    down: bool,
    /// Whether it waits for an answer.
    asking: bool,
    /// Requests whose time has not come.
    ahead: u32,
    /// Requests whose time has come, the present one included.
    due: u32,
}

impl ClockUsers {
    /// Users of n processes: when each asks first, how often, and how long after that it asks again. A run that would
    /// not end by itself is over when nobody has wanted anything for `quiet`: a crash may make others act.
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
        // A clock may be set though its user did not ask.
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
        // One that remembers goes on with what it was doing.
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
