//! Who watches a run: monitors, accounts and traces see it through these hooks.

use quorate_core::{Belief, Process, ProcessId, Span, Time};

use crate::network::Loss;
use crate::plan::{FaultEvent, Memory};

/// Where in the run something happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    /// The number of the event: an input that a process handles, or a deed that befalls it.
    pub event: u64,
    /// Its time.
    pub time: Time,
    /// Whose event it is.
    pub process: ProcessId,
}

/// What a process is told, messages apart.
#[derive(Debug)]
pub enum Input<'a, P: Process> {
    /// It starts.
    Start,
    /// Its user asks something, because of an earlier event if one is named.
    Command(&'a P::Command, Option<u64>),
    /// A timer runs out that was set in this event.
    Timer(&'a P::Timer, u64),
    /// Its detector has changed its mind, because of this event.
    Belief(Belief, u64),
    /// A round is over.
    RoundEnd(u64),
    /// It is back.
    Recovery(Memory),
}

/// How a message leaves its sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Departure {
    /// On its way.
    Sent,
    /// On its way a second time.
    Duplicated,
    /// It will not arrive.
    Lost(Loss),
}

/// Sees everything that happens, in order. The methods do nothing unless an observer says otherwise.
pub trait Observer<P: Process> {
    /// A process is about to be told something.
    fn input(&mut self, at: Moment, input: &Input<'_, P>) {
        let _ = (at, input);
    }

    /// A message leaves, the `id`th; both copies of a duplicate are the same message. What is returned is written on it and comes back when it arrives.
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

    /// A message has arrived, with what was written on it, and is about to be handled.
    fn deliver(&mut self, at: Moment, from: ProcessId, tag: u32, message: &P::Message) {
        let _ = (at, from, tag, message);
    }

    /// A message that was under way does not arrive after all.
    fn lose(&mut self, at: Moment, from: ProcessId, tag: u32, message: &P::Message, why: Loss) {
        let _ = (at, from, tag, message, why);
    }

    /// A process tells its user something.
    fn output(&mut self, at: Moment, output: &P::Output) {
        let _ = (at, output);
    }

    /// A command was refused.
    fn refuse(&mut self, at: Moment, command: &P::Command, why: &P::Misuse) {
        let _ = (at, command, why);
    }

    /// The detector that a process brings with it has changed its mind.
    fn belief_changed(&mut self, at: Moment, belief: Belief) {
        let _ = (at, belief);
    }

    /// Something came later than the bound that was counted on: a message of another, or what the process was to do
    /// itself. Only where processes run over sockets.
    fn late(&mut self, at: Moment, from: ProcessId, by: Span) {
        let _ = (at, from, by);
    }

    /// A process did not act on an input.
    fn ignore(&mut self, at: Moment, why: &'static str) {
        let _ = (at, why);
    }

    /// A process has handled what it was told, and this is what it has become.
    fn handled(&mut self, at: Moment, process: &P) {
        let _ = (at, process);
    }

    /// Whether there is no point in going on: nobody is watching any more.
    fn is_closed(&self) -> bool {
        false
    }

    /// Something befalls the world. `at` names the process it befalls, if it is one.
    fn fault(&mut self, at: Moment, fault: &FaultEvent) {
        let _ = (at, fault);
    }
}

/// Nobody watches.
impl<P: Process> Observer<P> for () {}
