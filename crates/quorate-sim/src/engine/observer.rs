//! Observers of a run: monitors, message counts and traces are fed through these hooks.

use quorate_core::{Belief, Process, ProcessId, Span, Time};

use super::network::Loss;
use crate::scenario::plan::{FaultEvent, Memory};

/// An event of a run: its number, time and process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    /// Number of the event: an input that a process handles, or a fault.
    pub event: u64,
    /// Time of the event.
    pub time: Time,
    /// The process that the event belongs to.
    pub process: ProcessId,
}

/// An input of a process, except messages.
#[derive(Debug)]
pub enum Input<'a, P: Process> {
    /// The process starts at time zero.
    Start,
    /// The user gives a command. The number is that of the event that caused it, if there is one.
    Command(&'a P::Command, Option<u64>),
    /// A timer expires that was set in this event.
    Timer(&'a P::Timer, u64),
    /// The detector has changed its belief because of this event.
    Belief(Belief, u64),
    /// A synchronous round with this number has ended.
    RoundEnd(u64),
    /// The process recovers, with or without memory.
    Recovery(Memory),
}

/// How a message leaves its sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Departure {
    /// The message is sent normally.
    Sent,
    /// The network sends a second copy of the message.
    Duplicated,
    /// The link changes the contents of the message.
    Changed,
    /// The message is lost immediately.
    Lost(Loss),
}

/// Receives everything that happens in a run, in order. The default methods do nothing.
pub trait Observer<P: Process> {
    /// A process is about to receive an input.
    fn input(&mut self, at: Moment, input: &Input<'_, P>) {
        let _ = (at, input);
    }

    /// A message is sent. `id` is its number; both copies of a duplicate have the same number. The returned tag travels
    /// with the message and is passed to `deliver` or `lose`.
    fn send(
        &mut self,
        at: Moment,
        id: u64,
        to: ProcessId,
        message: &P::Message,
        departure: Departure,
    ) -> u32 {
        let _ = (at, id, to, message, departure);
        0
    }

    /// The messages that the process has just sent, one to each receiver, were one multicast.
    fn multicast(&mut self, at: Moment, message: &P::Message, to_others: u64, to_self: bool) {
        let _ = (at, message, to_others, to_self);
    }

    /// A message with this tag has arrived and is about to be handled.
    fn deliver(&mut self, at: Moment, from: ProcessId, tag: u32, message: &P::Message) {
        let _ = (at, from, tag, message);
    }

    /// A message with this tag was in flight and is lost.
    fn lose(&mut self, at: Moment, from: ProcessId, tag: u32, message: &P::Message, why: Loss) {
        let _ = (at, from, tag, message, why);
    }

    /// A process produces an output for its user.
    fn output(&mut self, at: Moment, output: &P::Output) {
        let _ = (at, output);
    }

    /// A process has refused a command.
    fn refuse(&mut self, at: Moment, command: &P::Command, why: &P::Misuse) {
        let _ = (at, command, why);
    }

    /// The detector inside a process has changed its belief.
    fn belief_changed(&mut self, at: Moment, belief: Belief) {
        let _ = (at, belief);
    }

    /// A message or a scheduled event of the process exceeded the bound: in an externally driven run, or because the arrival
    /// of the message was chosen.
    fn late(&mut self, at: Moment, from: ProcessId, by: Span) {
        let _ = (at, from, by);
    }

    /// A message that has arrived at the process will be handled only after this time, because more messages wait there than
    /// all processes together send at a time.
    fn overloaded(&mut self, at: Moment, wait: Span) {
        let _ = (at, wait);
    }

    /// A process has ignored an input.
    fn ignore(&mut self, at: Moment, why: &'static str) {
        let _ = (at, why);
    }

    /// A process has handled an input and is now in this state.
    fn handled(&mut self, at: Moment, process: &P) {
        let _ = (at, process);
    }

    /// Whether the observer has failed, so that there is no use in continuing the run.
    fn is_closed(&self) -> bool {
        false
    }

    /// A fault is injected. `at` names the process that it affects, or process 0 if it affects the whole network.
    fn fault(&mut self, at: Moment, fault: &FaultEvent) {
        let _ = (at, fault);
    }
}

/// An observer that ignores everything.
impl<P: Process> Observer<P> for () {}
