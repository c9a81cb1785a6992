//! A few replicas for unit tests: messages are delivered in the order of sending, and timers expire on demand.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use quorate_core::agreement::Value;
use quorate_core::replication::{Command, Output};
use quorate_core::{Effect, Effects, Process, ProcessId, ProcessSet};

pub(crate) struct Cluster<P: Process> {
    pub(crate) replicas: Vec<P>,
    in_flight: VecDeque<(ProcessId, ProcessId, P::Message)>,
    pub(crate) outputs: Vec<(usize, Output)>,
    /// Processes that neither send nor receive.
    pub(crate) isolated: ProcessSet,
}

impl<P: Process<Command = Command, Output = Output>> Cluster<P> {
    pub(crate) fn new(replicas: Vec<P>) -> Self {
        let (in_flight, outputs, isolated) = Default::default();
        Self { replicas, in_flight, outputs, isolated }
    }

    fn input(&mut self, process: usize, act: impl FnOnce(&mut P, &mut Effects<P>)) {
        let mut out = Effects::default();
        act(&mut self.replicas[process], &mut out);
        let (id, n) = (ProcessId::from_index(process), self.replicas.len());
        for effect in out {
            match effect {
                Effect::Send { to, message } => self.in_flight.push_back((id, to, message)),
                Effect::Multicast { to, message } => {
                    let to: Vec<ProcessId> = to.among(n, id).collect();
                    let copies = to.into_iter().map(|to| (id, to, message.clone()));
                    self.in_flight.extend(copies);
                }
                Effect::Output(output) => self.outputs.push((process, output)),
                _ => {}
            }
        }
    }

    pub(crate) fn submit(&mut self, process: usize, value: u64) {
        self.input(process, |replica, out| {
            assert!(replica.on_command(Command::Submit(Value(value)), out).is_ok());
        });
    }

    pub(crate) fn expire(&mut self, process: usize, timer: P::Timer) {
        self.input(process, |replica, out| replica.on_timer(timer, out));
    }

    pub(crate) fn recover(&mut self, process: usize) {
        self.input(process, |replica, out| replica.on_recovery(out));
    }

    /// Delivers all messages, and those that are sent in answer.
    pub(crate) fn deliver(&mut self) {
        while let Some((from, to, message)) = self.in_flight.pop_front() {
            if !self.isolated.contains(from) && !self.isolated.contains(to) {
                self.input(to.index(), |replica, out| replica.on_message(from, message, out));
            }
        }
    }

    /// Delivers the first messages that are in flight, without answers.
    pub(crate) fn deliver_first(&mut self, count: usize) {
        for _ in 0..count {
            let Some((from, to, message)) = self.in_flight.pop_front() else { return };
            if !self.isolated.contains(from) && !self.isolated.contains(to) {
                self.input(to.index(), |replica, out| replica.on_message(from, message, out));
            }
        }
    }

    /// Isolates exactly these processes.
    pub(crate) fn isolate(&mut self, processes: &[usize]) {
        self.isolated = processes.iter().copied().map(ProcessId::from_index).collect();
    }

    /// The commands that a process has applied, 0 for a no-op.
    pub(crate) fn applied(&self, process: usize) -> Vec<u64> {
        let own = self.outputs.iter().filter(|(at, _)| *at == process);
        own.filter_map(|(_, output)| match output {
            Output::Applied { command, .. } => Some(command.map_or(0, |value| value.0)),
            _ => None,
        })
        .collect()
    }

    /// The terms that a process has led.
    pub(crate) fn led(&self, process: usize) -> Vec<u64> {
        let own = self.outputs.iter().filter(|(at, _)| *at == process);
        own.filter_map(|(_, output)| match output {
            Output::Leads { term } => Some(*term),
            _ => None,
        })
        .collect()
    }
}
