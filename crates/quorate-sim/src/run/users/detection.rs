//! Users of a computation that is observed: each follows its script while its process is active.

use quorate_core::definition::detection::Situation;
use quorate_core::detection::{Command, Output, StableProperty};
use quorate_core::{ProcessId, ProcessSet};

use super::scripted::ScriptedUser;
use crate::random::{Random, Stream};
use crate::scenario::Scenario;
use crate::scenario::script::{Script, Step};

/// The user of one process, and what it has observed.
///
/// When its script is over, it lets an active process rest, or grants what others wait for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DetectionUser {
    property: StableProperty,
    commands: Vec<Command>,
    issued: usize,
    situation: Situation,
    /// Processes whose requests have arrived and are not granted.
    requests: ProcessSet,
}

impl DetectionUser {
    /// Creates a user that issues these commands in order.
    pub fn new(property: StableProperty, commands: Vec<Command>) -> Self {
        let (situation, requests) = (Situation::new(property), ProcessSet::new());
        Self { property, commands, issued: 0, situation, requests }
    }

    /// The state of the process, as the user observes it.
    pub fn situation(&self) -> &Situation {
        &self.situation
    }

    /// The process has crashed.
    pub fn crash(&mut self) {
        self.situation.crash();
        self.commands.clear();
        self.requests.clear();
    }
}

impl ScriptedUser for DetectionUser {
    type Command = Command;
    type Output = Output;

    fn next_command(&self) -> Option<Command> {
        let command = self.command_at(self.issued)?;
        let possible = match command {
            Command::Start => true,
            Command::Grant => self.situation.is_active() && !self.requests.is_empty(),
            Command::Send(_) | Command::Rest | Command::Wait(_) => self.situation.is_active(),
        };
        possible.then_some(command)
    }

    fn command_at(&self, place: usize) -> Option<Command> {
        self.commands.get(place).cloned().or(match self.property {
            StableProperty::Termination => Some(Command::Rest),
            StableProperty::AndDeadlock => Some(Command::Grant),
            StableProperty::OrDeadlock => None,
        })
    }

    fn on_command(&mut self, command: &Command) {
        let granted = self.requests.first().filter(|_| *command == Command::Grant);
        if let Some(process) = granted {
            self.requests.remove(process);
        }
        self.situation.on_command(command, granted);
        self.issued += 1;
    }

    fn on_output(&mut self, output: &Output) {
        if let Output::Requested(by) = output {
            self.requests.insert(*by);
        }
        self.situation.on_output(output);
    }
}

/// Scripts of the users: those of the scenario, or drawn from the seed.
///
/// A computation that may terminate is begun by the server, and each process sends a few messages whenever it is active. In the other
/// computations the requesters wait for one or two others, again and again.
pub(crate) fn planned_scripts(scenario: &Scenario, property: StableProperty) -> Vec<Vec<Command>> {
    let n = scenario.processes;
    if !scenario.script.is_empty() {
        return detection_commands(&scenario.script, n);
    }
    let mut random = Random::new(scenario.seed, Stream::Scripts);
    let requesters: ProcessSet =
        scenario.first_requests().into_iter().map(|(process, _)| process).collect();
    let mut draw_script = |process: ProcessId| {
        let mut commands = Vec::new();
        let is_root = process.number() == scenario.server;
        if is_root && property == StableProperty::Termination {
            commands.push(Command::Start);
        }
        let steps = if n > 1 { scenario.repeat } else { 0 };
        for _ in 0..steps {
            let other = |random: &mut Random| {
                let shift = random.between(1, n as u64 - 1) as usize;
                ProcessId::from_index((process.index() + shift) % n)
            };
            match property {
                StableProperty::Termination => {
                    for _ in 0..random.between(1, 2) {
                        commands.push(Command::Send(other(&mut random)));
                    }
                    commands.push(Command::Rest);
                }
                _ if !requesters.contains(process) => {}
                StableProperty::AndDeadlock => {
                    let on = [other(&mut random), other(&mut random)].into_iter().collect();
                    commands.push(Command::Wait(on));
                    if random.chance(0.5) {
                        commands.push(Command::Grant);
                    }
                }
                StableProperty::OrDeadlock => {
                    if random.chance(0.7) {
                        commands.push(Command::Send(other(&mut random)));
                    }
                    let on = [other(&mut random), other(&mut random)].into_iter().collect();
                    commands.push(Command::Wait(on));
                    if random.chance(0.5) {
                        commands.push(Command::Send(other(&mut random)));
                    }
                }
            }
        }
        commands
    };
    ProcessId::all(n).map(&mut draw_script).collect()
}

/// The commands that a script prescribes for each process.
pub fn detection_commands(script: &[Script], n: usize) -> Vec<Vec<Command>> {
    let mut commands = vec![Vec::new(); n];
    for own in script {
        commands[own.process.index()].extend(own.steps.iter().filter_map(|step| match step {
            Step::Start => Some(Command::Start),
            Step::Send(to) => Some(Command::Send(*to)),
            Step::Rest => Some(Command::Rest),
            Step::Wait(on) => Some(Command::Wait(on.clone())),
            Step::Grant => Some(Command::Grant),
            // A scenario with such steps is refused.
            Step::Transfer { .. } | Step::Record => None,
        }));
    }
    commands
}
