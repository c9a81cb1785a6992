//! Users of a resource allocation: like the users of a mutex, but each request has a claim.

use quorate_core::allocation::{ClaimKind, Command, Output};
use quorate_core::{ProcessId, Time, mutex};

use super::MutexUsers;
use crate::engine::{Agenda, User};
use crate::scenario::Scenario;
use crate::scenario::plan::Memory;

/// The users of a resource allocation.
#[derive(Clone, Debug)]
pub struct AllocationUsers {
    users: MutexUsers,
    /// Commands of the mutex users that are to be translated.
    plain: Agenda<mutex::Command>,
    scenario: Scenario,
    kind: ClaimKind,
    /// Number of stays that each process has completed, which is the number of its next claim.
    stays: Vec<u64>,
}

impl AllocationUsers {
    /// Creates the users of a scenario, for an algorithm that serves these claims.
    pub fn new(scenario: &Scenario, kind: ClaimKind) -> Self {
        let users = MutexUsers::new(
            scenario.processes,
            scenario.first_requests(),
            scenario.repeat,
            scenario.section.0,
            scenario.think.0,
        )
        .with_section_times(&scenario.section_of);
        let (plain, stays) = (Vec::new(), vec![0; scenario.processes]);
        Self { users, plain, scenario: scenario.clone(), kind, stays }
    }

    /// Adds claims to the commands of the mutex users. The next claim of a process is for its next stay.
    fn translate(&mut self, agenda: &mut Agenda<Command>) {
        for (process, after, command) in self.plain.drain(..) {
            let number = self.stays[process.index()];
            let command = match command {
                mutex::Command::Acquire => {
                    Command::Request(self.scenario.claim(self.kind, process, number))
                }
                mutex::Command::Release => Command::Release,
            };
            agenda.push((process, after, command));
        }
    }
}

const fn plain(command: &Command) -> mutex::Command {
    match command {
        Command::Request(_) => mutex::Command::Acquire,
        Command::Release => mutex::Command::Release,
    }
}

const fn plain_output(output: &Output) -> mutex::Output {
    match output {
        Output::Entered => mutex::Output::Entered,
        Output::NoQuorum => mutex::Output::NoQuorum,
    }
}

impl User for AllocationUsers {
    type Command = Command;
    type Output = Output;

    /// A planned request is made only if all stays of earlier requests of the process are over, which determines the
    /// number of its claim.
    fn begin(&mut self, agenda: &mut Agenda<Command>) {
        self.users.begin(&mut self.plain);
        let mut order: Vec<usize> = (0..self.plain.len()).collect();
        order.sort_by_key(|place| (self.plain[*place].0, self.plain[*place].1));
        let mut numbers = vec![0; self.plain.len()];
        for pair in order.windows(2) {
            if self.plain[pair[0]].0 == self.plain[pair[1]].0 {
                numbers[pair[1]] = numbers[pair[0]] + u64::from(self.scenario.repeat);
            }
        }
        for ((process, after, _), number) in self.plain.drain(..).zip(numbers) {
            let claim = self.scenario.claim(self.kind, process, number);
            agenda.push((process, after, Command::Request(claim)));
        }
    }

    fn on_due(&mut self, process: ProcessId, command: &Command, up: bool) -> bool {
        self.users.on_due(process, &plain(command), up)
    }

    fn accepted(&mut self, process: ProcessId, command: &Command, agenda: &mut Agenda<Command>) {
        if *command == Command::Release {
            self.stays[process.index()] += 1;
        }
        self.users.accepted(process, &plain(command), &mut self.plain);
        self.translate(agenda);
    }

    fn on_output(&mut self, process: ProcessId, output: &Output, agenda: &mut Agenda<Command>) {
        self.users.on_output(process, &plain_output(output), &mut self.plain);
        self.translate(agenda);
    }

    fn crashed(&mut self, process: ProcessId) {
        self.users.crashed(process);
    }

    fn recovered(&mut self, process: ProcessId, memory: Memory, agenda: &mut Agenda<Command>) {
        self.users.recovered(process, memory, &mut self.plain);
        self.translate(agenda);
    }

    fn is_content(&mut self, now: Time) -> bool {
        self.users.is_content(now)
    }
}
