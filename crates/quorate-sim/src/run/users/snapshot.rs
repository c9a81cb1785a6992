//! Users of a snapshot: each transfers money and begins snapshots, by a script or as the seed chooses.

use quorate_core::snapshot::{Command, Output};
use quorate_core::{ProcessId, Span};

use super::scripted::ScriptedUser;
use crate::random::{Random, Stream};
use crate::scenario::Scenario;
use crate::scenario::script::{Script, Step};

/// Number of transfers of each process, if there is no script.
const TRANSFERS: u64 = 3;

/// The user of one account.
#[derive(Clone, Debug)]
pub struct SnapshotUser {
    commands: Vec<Command>,
    issued: usize,
}

impl SnapshotUser {
    /// Creates a user that issues these commands in order.
    pub fn new(commands: Vec<Command>) -> Self {
        Self { commands, issued: 0 }
    }
}

impl ScriptedUser for SnapshotUser {
    type Command = Command;
    type Output = Output;

    fn next_command(&self) -> Option<Command> {
        self.command_at(self.issued)
    }

    fn command_at(&self, place: usize) -> Option<Command> {
        self.commands.get(place).copied()
    }

    fn on_command(&mut self, _: &Command) {
        self.issued += 1;
    }

    fn on_output(&mut self, _: &Output) {}
}

/// Commands of each user, and the times of the first ones.
///
/// With a script, requests are the times of its steps. Without one, they are the times of snapshots, and the transfers are drawn.
pub(crate) fn planned_commands(scenario: &Scenario) -> Vec<(Vec<Command>, Vec<Span>)> {
    if !scenario.script.is_empty() {
        let commands = scripted_commands(&scenario.script, scenario.processes);
        return commands.into_iter().zip(scenario.step_times()).collect();
    }
    let n = scenario.processes as u64;
    let mut random = Random::new(scenario.seed, Stream::Scripts);
    let unit = scenario.delay_unit().0;
    let pause =
        if scenario.think.0 > Span::ZERO { scenario.think.0.0 } else { unit.saturating_mul(4) };
    let mut planned: Vec<Vec<(Span, Command)>> = vec![Vec::new(); scenario.processes];
    let mut last = 0;
    for (process, first) in scenario.first_requests() {
        for turn in 0..u64::from(scenario.repeat) {
            let time = first.0.saturating_add(pause.saturating_mul(turn));
            last = time.max(last);
            planned[process.index()].push((Span(time), Command::Record));
        }
    }
    let end = last.saturating_add(unit.saturating_mul(4));
    for (process, own) in ProcessId::all(scenario.processes).zip(&mut planned) {
        for _ in 0..if n > 1 { TRANSFERS } else { 0 } {
            let other = (process.index() as u64 + random.between(1, n - 1)) % n;
            let to = ProcessId::from_index(other as usize);
            let amount = random.between(1, 9);
            own.push((Span(random.between(0, end)), Command::Transfer { to, amount }));
        }
        own.sort_by_key(|(time, _)| *time);
    }
    let split = |own: Vec<(Span, Command)>| own.into_iter().map(|(time, it)| (it, time)).unzip();
    planned.into_iter().map(split).collect()
}

/// The commands that a script prescribes for each process.
pub fn scripted_commands(script: &[Script], n: usize) -> Vec<Vec<Command>> {
    let mut commands = vec![Vec::new(); n];
    for own in script {
        commands[own.process.index()].extend(own.steps.iter().filter_map(|step| match *step {
            Step::Transfer { to, amount } => Some(Command::Transfer { to, amount }),
            Step::Record => Some(Command::Record),
            // A scenario with other steps is refused.
            _ => None,
        }));
    }
    commands
}
