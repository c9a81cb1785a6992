//! Users that follow a script: each issues its commands one after the other, as soon as the last one permits and not before their
//! times.

use quorate_core::{ProcessId, Span, Time};

use crate::engine::{Agenda, User};
use crate::random::{Random, Stream};
use crate::scenario::Scenario;
use crate::scenario::plan::Memory;

/// The user of one process, which knows its next command.
pub trait ScriptedUser: Clone {
    /// Command that the user may issue.
    type Command: Clone;
    /// Output that the user may receive.
    type Output;

    /// The command that the user issues next, if it may do so now. It stays the same until the user issues it.
    fn next_command(&self) -> Option<Self::Command>;

    /// The command that is issued after `place` others, whatever happens in between.
    fn command_at(&self, place: usize) -> Option<Self::Command>;

    /// The user has issued a command.
    fn on_command(&mut self, command: &Self::Command);

    /// The process has produced an output.
    fn on_output(&mut self, output: &Self::Output);
}

/// Users that follow scripts.
///
/// A command whose time has come waits until it is possible. A command without a time follows the last one after a pause, and the last
/// time of the process.
#[derive(Clone, Debug)]
pub struct ScriptedUsers<U> {
    users: Vec<TimedUser<U>>,
    pause: Pause,
}

/// A user, and when it issues its commands.
#[derive(Clone, Debug)]
struct TimedUser<U> {
    user: U,
    /// Times of the first commands, ascending.
    times: Vec<Span>,
    /// Number of times that are not due yet.
    ahead: usize,
    /// Number of times that were due before their command was possible.
    overdue: usize,
    /// Whether a command is on the agenda that does not wait for a time.
    queued: bool,
}

/// Pauses between commands: as configured, or drawn.
#[derive(Clone, Debug)]
struct Pause {
    configured: Option<Span>,
    most: Span,
    random: Random,
}

impl Pause {
    fn next(&mut self) -> Span {
        self.configured.unwrap_or_else(|| Span(self.random.between(0, self.most.0)))
    }
}

impl<U: ScriptedUser> ScriptedUsers<U> {
    /// Creates users from the times of their first commands. Pauses are those of the scenario, or drawn up to two message delays.
    pub fn new(scenario: &Scenario, users: impl IntoIterator<Item = (U, Vec<Span>)>) -> Self {
        let timed = |(user, times): (U, Vec<Span>)| {
            let ahead = times.len();
            TimedUser { user, times, ahead, overdue: 0, queued: false }
        };
        let pause = Pause {
            configured: Some(scenario.think.0).filter(|think| *think > Span::ZERO),
            most: Span(scenario.delay_unit().0.saturating_mul(2)),
            random: Random::new(scenario.seed, Stream::Pauses),
        };
        Self { users: users.into_iter().map(timed).collect(), pause }
    }

    /// Puts the next command on the agenda if it is possible and its time has come.
    fn schedule(&mut self, process: ProcessId, agenda: &mut Agenda<U::Command>) {
        let user = &mut self.users[process.index()];
        let Some(command) = user.user.next_command().filter(|_| !user.queued) else { return };
        let after = match (user.overdue, user.ahead) {
            (1.., _) => {
                user.overdue -= 1;
                Span::ZERO
            }
            (0, 0) => self.pause.next(),
            (0, _) => return,
        };
        user.queued = true;
        agenda.push((process, after, command));
    }
}

impl<U: ScriptedUser> User for ScriptedUsers<U> {
    type Command = U::Command;
    type Output = U::Output;

    fn begin(&mut self, agenda: &mut Agenda<U::Command>) {
        for (process, user) in ProcessId::all(self.users.len()).zip(&mut self.users) {
            for (place, time) in std::mem::take(&mut user.times).into_iter().enumerate() {
                match user.user.command_at(place) {
                    Some(command) => agenda.push((process, time, command)),
                    None => user.ahead -= 1,
                }
            }
        }
    }

    fn on_due(&mut self, process: ProcessId, _: &U::Command, up: bool) -> bool {
        let user = &mut self.users[process.index()];
        user.ahead -= 1;
        let possible =
            up && user.overdue == 0 && !user.queued && user.user.next_command().is_some();
        if possible {
            // Its outputs come before the process counts as having accepted it.
            user.queued = true;
        } else {
            user.overdue += 1;
        }
        possible
    }

    fn accepted(
        &mut self,
        process: ProcessId,
        command: &U::Command,
        agenda: &mut Agenda<U::Command>,
    ) {
        let user = &mut self.users[process.index()];
        user.queued = false;
        user.user.on_command(command);
        self.schedule(process, agenda);
    }

    fn on_output(
        &mut self,
        process: ProcessId,
        output: &U::Output,
        agenda: &mut Agenda<U::Command>,
    ) {
        self.users[process.index()].user.on_output(output);
        self.schedule(process, agenda);
    }

    /// A user whose process crashes issues no further commands, because these algorithms do not tolerate crashes.
    fn crashed(&mut self, process: ProcessId) {
        self.users[process.index()].queued = true;
    }

    fn recovered(&mut self, process: ProcessId, memory: Memory, agenda: &mut Agenda<U::Command>) {
        if memory == Memory::Kept {
            self.users[process.index()].queued = false;
            self.schedule(process, agenda);
        }
    }

    /// The run ends when nothing is left to happen: none of these algorithms runs forever.
    fn is_content(&mut self, _: Time) -> bool {
        false
    }
}
