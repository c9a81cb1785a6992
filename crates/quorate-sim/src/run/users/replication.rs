//! Users of a replicated log: clients that submit commands at their replica, without waiting for earlier ones.

use std::collections::VecDeque;

use quorate_core::agreement::Value;
use quorate_core::replication::{Command, Output, command_value};
use quorate_core::{ProcessId, ProcessSet, SortedMap, Span, Time};

use crate::engine::{Agenda, User};
use crate::scenario::plan::Memory;

/// The clients. They are content once every live replica has applied every command of a live replica.
#[derive(Clone, Debug)]
pub struct ReplicationUsers {
    planned: Vec<(ProcessId, Span)>,
    repeat: u64,
    pause: Span,
    clients: Vec<ReplicationUser>,
    /// Replicas that have not applied a command yet, whether up or down, and the replica where it was submitted.
    missing: SortedMap<Value, (ProcessId, ProcessSet)>,
    /// Commands that were applied before they counted as accepted.
    early: Vec<(ProcessId, Value)>,
    replicas: ProcessSet,
    down: ProcessSet,
}

/// The client of one replica.
#[derive(Clone, Debug, Default)]
struct ReplicationUser {
    /// Number of requests that are not due yet.
    ahead: u32,
    /// Number of the next command of each request that is due, the current request first.
    due: VecDeque<u64>,
    /// Number of the first command after the current request.
    end: u64,
}

impl ReplicationUsers {
    /// Creates clients of n replicas from the times of their requests, the number of commands per request and the pause between
    /// them. Replicas in `exempt` need not apply anything.
    pub fn new(
        n: usize,
        mut planned: Vec<(ProcessId, Span)>,
        repeat: u32,
        pause: Span,
        exempt: &ProcessSet,
    ) -> Self {
        // Numbers of commands ascend with time at each replica.
        planned.sort_by_key(|(_, after)| *after);
        let mut clients = vec![ReplicationUser::default(); n];
        for (process, _) in &planned {
            clients[process.index()].ahead += 1;
        }
        Self {
            planned,
            repeat: repeat.into(),
            pause,
            clients,
            missing: SortedMap::new(),
            early: Vec::new(),
            replicas: &ProcessSet::all(n) - exempt,
            down: ProcessSet::new(),
        }
    }

    fn command(&self, process: ProcessId, number: u64) -> Command {
        Command::Submit(command_value(self.clients.len(), process.index(), number))
    }

    fn wants(&self, process: ProcessId) -> bool {
        let client = &self.clients[process.index()];
        !self.down.contains(process) && (client.ahead > 0 || !client.due.is_empty())
    }
}

impl User for ReplicationUsers {
    type Command = Command;
    type Output = Output;

    fn begin(&mut self, agenda: &mut Agenda<Command>) {
        let mut counts = vec![0; self.clients.len()];
        for (process, after) in std::mem::take(&mut self.planned) {
            let number: &mut u64 = &mut counts[process.index()];
            agenda.push((process, after, self.command(process, *number)));
            *number += self.repeat;
        }
    }

    /// If the client is still submitting an earlier request, or its replica is down, the request begins after that.
    fn on_due(&mut self, process: ProcessId, command: &Command, up: bool) -> bool {
        let Command::Submit(value) = *command;
        let n = self.clients.len() as u64;
        let client = &mut self.clients[process.index()];
        let idle = client.due.is_empty();
        let number = (value.0 - 1) / n;
        client.ahead -= 1;
        client.due.push_back(number);
        if idle {
            client.end = number + self.repeat;
        }
        up && idle
    }

    fn accepted(&mut self, process: ProcessId, command: &Command, agenda: &mut Agenda<Command>) {
        let Command::Submit(value) = *command;
        let mut missing = self.replicas.clone();
        self.early.retain(|(replica, early)| {
            if *early == value {
                missing.remove(*replica);
            }
            *early != value
        });
        if !missing.is_empty() {
            self.missing.insert(value, (process, missing));
        }
        let repeat = self.repeat;
        let client = &mut self.clients[process.index()];
        if let Some(next) = client.due.front_mut() {
            *next += 1;
            if *next == client.end {
                client.due.pop_front();
                client.end = client.due.front().map_or(0, |next| next + repeat);
            }
        }
        // A client whose replica crashed while it took the command continues after the recovery.
        let next = client.due.front().copied().filter(|_| !self.down.contains(process));
        agenda.extend(next.map(|number| (process, self.pause, self.command(process, number))));
    }

    fn on_output(&mut self, process: ProcessId, output: &Output, _: &mut Agenda<Command>) {
        let Output::Applied { command: Some(value), .. } = *output else { return };
        match self.missing.get_mut(&value) {
            Some((_, replicas)) => {
                replicas.remove(process);
                if replicas.is_empty() {
                    self.missing.remove(&value);
                }
            }
            None => self.early.push((process, value)),
        }
    }

    fn crashed(&mut self, process: ProcessId) {
        self.down.insert(process);
    }

    fn recovered(&mut self, process: ProcessId, _: Memory, agenda: &mut Agenda<Command>) {
        self.down.remove(process);
        let next = self.clients[process.index()].due.front().copied();
        agenda.extend(next.map(|number| (process, Span::ZERO, self.command(process, number))));
    }

    fn is_content(&mut self, _: Time) -> bool {
        let busy = ProcessId::all(self.clients.len()).any(|process| self.wants(process));
        // Commands of a replica that is down may be lost.
        let is_open = |(owner, missing): &(ProcessId, ProcessSet)| {
            !self.down.contains(*owner) && !(missing - &self.down).is_empty()
        };
        !busy && !self.missing.values().any(is_open)
    }
}
