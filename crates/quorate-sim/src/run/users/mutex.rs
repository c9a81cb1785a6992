//! Users of a mutex: each requests entry, stays inside for a while, leaves, pauses, and requests again.

use quorate_core::mutex::{Command, Output};
use quorate_core::{ProcessId, Span, Time};

use crate::engine::{Agenda, User};
use crate::scenario::notation::SectionOf;
use crate::scenario::plan::Memory;

/// The users of a mutex.
#[derive(Clone, Debug)]
pub struct MutexUsers {
    planned: Vec<(ProcessId, Span)>,
    repeat: u32,
    section: Span,
    /// Remaining stays of single processes, in reverse order.
    section_of: Vec<(ProcessId, Vec<Span>)>,
    think: Span,
    users: Vec<MutexUser>,
    /// Number of live processes that still want something.
    wanting: usize,
}

/// The user of one process.
#[derive(Clone, Copy, Debug)]
struct MutexUser {
    state: State,
    up: bool,
    /// Number of requests that are not due yet.
    ahead: u32,
    /// Number of entries that are due, including the current one.
    due: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Away,
    Asking,
    Inside,
}

impl MutexUser {
    fn wants(&self) -> bool {
        self.up && (self.due > 0 || self.ahead > 0)
    }
}

impl MutexUsers {
    /// Creates users for n processes from the planned requests, the number of entries per request, the duration of a
    /// stay, and the pause before the next request.
    pub fn new(
        n: usize,
        planned: Vec<(ProcessId, Span)>,
        repeat: u32,
        section: Span,
        think: Span,
    ) -> Self {
        let mut users = vec![MutexUser { state: State::Away, up: true, ahead: 0, due: 0 }; n];
        for (process, _) in &planned {
            users[process.index()].ahead += 1;
        }
        let wanting = users.iter().filter(|user| user.wants()).count();
        let section_of = Vec::new();
        Self { planned, repeat, section, section_of, think, users, wanting }
    }

    /// Sets the stays of single processes in place of the usual one. The last one repeats forever.
    #[must_use]
    pub fn with_section_times(mut self, section_of: &[SectionOf]) -> Self {
        let reversed =
            |own: &SectionOf| (own.process, own.durations.iter().rev().copied().collect());
        self.section_of = section_of.iter().map(reversed).collect();
        self
    }

    /// The duration of the stay that a process begins now.
    fn section_time(&mut self, process: ProcessId) -> Span {
        let own = self.section_of.iter_mut().find(|(owner, _)| *owner == process);
        match own {
            Some((_, durations)) if durations.len() > 1 => durations.pop().unwrap_or(self.section),
            Some((_, durations)) => durations.last().copied().unwrap_or(self.section),
            None => self.section,
        }
    }

    /// Changes the state of a user and updates the number of users that want something.
    fn change(&mut self, process: ProcessId, change: impl FnOnce(&mut MutexUser)) -> MutexUser {
        let user = &mut self.users[process.index()];
        let before = user.wants();
        change(user);
        match (before, user.wants()) {
            (true, false) => self.wanting -= 1,
            (false, true) => self.wanting += 1,
            _ => {}
        }
        *user
    }
}

impl User for MutexUsers {
    type Command = Command;
    type Output = Output;

    fn begin(&mut self, agenda: &mut Agenda<Command>) {
        let planned = std::mem::take(&mut self.planned);
        agenda
            .extend(planned.into_iter().map(|(process, after)| (process, after, Command::Acquire)));
    }

    /// If the user is busy or its process is down, it makes the request after that.
    fn on_due(&mut self, process: ProcessId, _: &Command, up: bool) -> bool {
        let repeat = self.repeat;
        let idle = self.users[process.index()].due == 0;
        self.change(process, |user| {
            user.ahead -= 1;
            user.due = user.due.saturating_add(repeat);
        });
        up && idle
    }

    fn accepted(&mut self, process: ProcessId, command: &Command, agenda: &mut Agenda<Command>) {
        let user = self.change(process, |user| match command {
            // A process that enters or gives up immediately produces that output before its command is accepted.
            Command::Acquire if user.state == State::Inside || user.due == 0 => {}
            Command::Acquire => user.state = State::Asking,
            Command::Release => {
                user.state = State::Away;
                user.due -= 1;
            }
        });
        if user.state == State::Away && user.due > 0 && user.up {
            agenda.push((process, self.think, Command::Acquire));
        }
    }

    fn on_output(&mut self, process: ProcessId, output: &Output, agenda: &mut Agenda<Command>) {
        let user = self.change(process, |user| match output {
            Output::Entered => user.state = State::Inside,
            Output::Token(_) => {}
            Output::NoQuorum => (user.state, user.due) = (State::Away, 0),
            // The interrupted stay has to be repeated.
            Output::Expelled => user.state = State::Away,
        });
        match output {
            Output::Entered => agenda.push((process, self.section_time(process), Command::Release)),
            // During a recovery the process is not up yet. Then `recovered` schedules the request.
            Output::Expelled if user.up && user.due > 0 => {
                agenda.push((process, self.think, Command::Acquire));
            }
            Output::Expelled | Output::NoQuorum | Output::Token(_) => {}
        }
    }

    /// A user that is no longer inside must not release.
    fn voids_plans(&self, output: &Output) -> bool {
        *output == Output::Expelled
    }

    fn crashed(&mut self, process: ProcessId) {
        self.change(process, |user| user.up = false);
    }

    fn recovered(&mut self, process: ProcessId, memory: Memory, agenda: &mut Agenda<Command>) {
        let user = self.change(process, |user| {
            user.up = true;
            if memory == Memory::Lost {
                user.state = State::Away;
            }
        });
        match user.state {
            State::Inside => agenda.push((process, self.section, Command::Release)),
            State::Away if user.due > 0 => agenda.push((process, Span::ZERO, Command::Acquire)),
            State::Asking | State::Away => {}
        }
    }

    fn is_content(&mut self, _: Time) -> bool {
        self.wanting == 0
    }
}
