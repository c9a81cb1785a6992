//! Users of an election: each begins its elections one after the other, and some change their identifiers.

use quorate_core::election::{Command, Output};
use quorate_core::{ProcessId, ProcessSet, Span, Time};

use crate::engine::{Agenda, User};
use crate::observe::Followers;
use crate::scenario::plan::Memory;

/// The users that begin elections. They are content once every live process has had a live leader for a while, and
/// neither commands nor faults are planned any more.
#[derive(Clone, Debug)]
pub struct ElectionUsers {
    planned: Vec<(ProcessId, Span, Command)>,
    repeat: u32,
    think: Span,
    users: Vec<ElectionUser>,
    /// Number of planned commands that are not due yet.
    ahead: usize,
    followers: Followers,
    quiet: Span,
    last_fault: Time,
    settled_since: Option<Time>,
}

/// The user of one process.
#[derive(Clone, Copy, Debug, Default)]
struct ElectionUser {
    /// Number of elections that are due, including the current one.
    due: u32,
}

impl ElectionUsers {
    /// Creates users for n processes from the times at which elections begin, the changes of identifiers, the number of
    /// elections per begin, and the pause after each of them.
    pub fn new(
        n: usize,
        begin: Vec<(ProcessId, Span)>,
        identify: Vec<(ProcessId, Span, u64)>,
        repeat: u32,
        think: Span,
    ) -> Self {
        let identify = identify
            .into_iter()
            .map(|(process, after, value)| (process, after, Command::Identify(value)));
        let begin = begin.into_iter().map(|(process, after)| (process, after, Command::Elect));
        // An identifier that changes at the time of an election already counts in that election.
        let planned: Vec<_> = identify.chain(begin).collect();
        Self {
            ahead: planned.len(),
            planned,
            repeat,
            think,
            users: vec![ElectionUser::default(); n],
            followers: Followers::new(n, ProcessSet::new()),
            quiet: Span::ZERO,
            last_fault: Time::ZERO,
            settled_since: None,
        }
    }

    /// For a run that does not end otherwise: it is over when all live processes have been settled for `quiet` after
    /// the last fault. Traitors do not count.
    #[must_use]
    pub fn patient(self, quiet: Span, last_fault: Time, traitors: ProcessSet) -> Self {
        let followers = Followers::new(self.users.len(), traitors);
        Self { quiet, last_fault, followers, ..self }
    }
}

impl User for ElectionUsers {
    type Command = Command;
    type Output = Output;

    fn begin(&mut self, agenda: &mut Agenda<Command>) {
        agenda.append(&mut self.planned);
    }

    /// If an election of the process is in progress, or the process is down, the next election begins after that.
    fn on_due(&mut self, process: ProcessId, command: &Command, up: bool) -> bool {
        self.ahead -= 1;
        self.settled_since = None;
        match command {
            Command::Identify(_) => up,
            Command::Elect => {
                let user = &mut self.users[process.index()];
                let idle = user.due == 0;
                user.due = user.due.saturating_add(self.repeat);
                up && idle
            }
        }
    }

    fn accepted(&mut self, _: ProcessId, _: &Command, _: &mut Agenda<Command>) {}

    /// A completed election counts as one of the requested elections, whichever process began it.
    fn on_output(&mut self, process: ProcessId, output: &Output, agenda: &mut Agenda<Command>) {
        self.followers.on_output(process, *output);
        self.settled_since = None;
        let user = &mut self.users[process.index()];
        if matches!(output, Output::Elected(_)) && user.due > 0 {
            user.due -= 1;
            if user.due > 0 {
                agenda.push((process, self.think, Command::Elect));
            }
        }
    }

    fn crashed(&mut self, process: ProcessId) {
        self.followers.crash(process);
        self.settled_since = None;
    }

    fn recovered(&mut self, process: ProcessId, memory: Memory, agenda: &mut Agenda<Command>) {
        self.followers.recover(process, memory);
        self.settled_since = None;
        if self.users[process.index()].due > 0 {
            agenda.push((process, Span::ZERO, Command::Elect));
        }
    }

    fn is_content(&mut self, now: Time) -> bool {
        if let Some(since) = self.settled_since {
            return now >= since + self.quiet;
        }
        let waits = |(user, process): (&ElectionUser, ProcessId)| {
            user.due > 0 && !self.followers.is_down(process)
        };
        let waiting = self.users.iter().zip(ProcessId::all(self.users.len())).any(waits);
        if self.ahead == 0 && !waiting && self.followers.is_settled() {
            self.settled_since = Some(now.max(self.last_fault));
        }
        false
    }
}
