//! One agreement per process, each commanded by a different process, in parallel.

use alloc::vec::Vec;

use quorate_core::agreement::{Command, Decision, Misuse, Output, Value};
use quorate_core::{Belief, Effects, Kind, Message, Process, ProcessId, ProcessSet};

use super::General;
use crate::Setup;

/// A process that takes part in one agreement per process. It commands one of them with its proposal, and decides the
/// vector of all outcomes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PerCommander<G> {
    id: ProcessId,
    /// The agreements, indexed by commander.
    instances: Vec<G>,
    /// The commanders of the agreements that have not decided here.
    undecided: ProcessSet,
}

/// A message or timer of one of the agreements.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct OfOne<M> {
    /// The commander of the agreement.
    pub commander: ProcessId,
    /// The message or timer itself.
    pub part: M,
}

impl<G: General> PerCommander<G> {
    /// Creates process `id` of all agreements.
    pub fn new(setup: &Setup, id: ProcessId) -> Self {
        let instances =
            ProcessId::all(setup.n).map(|commander| G::with_commander(setup, id, commander));
        Self { id, instances: instances.collect(), undecided: ProcessSet::all(setup.n) }
    }

    fn with_instance<R>(
        &mut self,
        commander: ProcessId,
        out: &mut Effects<Self>,
        step: impl FnOnce(&mut G, &mut Effects<G>) -> R,
    ) -> Option<R> {
        let instance = self.instances.get_mut(commander.index())?;
        let mut effects = Effects::new(out.now());
        let result = step(instance, &mut effects);
        for effect in effects {
            let message = |part| OfOne { commander, part };
            let timer = |part| OfOne { commander, part };
            match effect.embed(message, timer) {
                Ok(effect) => out.push(effect),
                Err(output) => self.on_instance_output(commander, &output, out),
            }
        }
        Some(result)
    }

    fn with_all(&mut self, out: &mut Effects<Self>, step: impl Fn(&mut G, &mut Effects<G>)) {
        for commander in ProcessId::all(self.instances.len()) {
            self.with_instance(commander, out, &step);
        }
    }

    /// Handles an output of one agreement. When all have decided, the vector is decided.
    fn on_instance_output(
        &mut self,
        commander: ProcessId,
        output: &Output,
        out: &mut Effects<Self>,
    ) {
        match output {
            Output::Blocked => out.output(Output::Blocked),
            Output::Decided(_) => {
                if self.undecided.remove(commander) && self.undecided.is_empty() {
                    let entries: Vec<Option<Value>> =
                        self.instances.iter().map(G::agreed).collect();
                    out.output(Output::Decided(Decision::Vector(entries)));
                }
            }
        }
    }
}

impl<G: General> Process for PerCommander<G> {
    type Command = Command;
    type Message = OfOne<G::Message>;
    type Timer = OfOne<G::Timer>;
    type Output = Output;
    type Misuse = Misuse;

    fn on_start(&mut self, out: &mut Effects<Self>) {
        self.with_all(out, G::on_start);
    }

    fn on_command(&mut self, command: Command, out: &mut Effects<Self>) -> Result<(), Misuse> {
        let result =
            self.with_instance(self.id, out, |instance, out| instance.on_command(command, out));
        result.unwrap_or(Ok(()))
    }

    fn on_message(&mut self, from: ProcessId, message: Self::Message, out: &mut Effects<Self>) {
        let OfOne { commander, part } = message;
        let handled = self
            .with_instance(commander, out, |instance, out| instance.on_message(from, part, out));
        if handled.is_none() {
            out.ignored("a message of an agreement that nobody commands");
        }
    }

    fn on_timer(&mut self, timer: Self::Timer, out: &mut Effects<Self>) {
        let OfOne { commander, part } = timer;
        self.with_instance(commander, out, |instance, out| instance.on_timer(part, out));
    }

    fn on_belief(&mut self, belief: Belief, out: &mut Effects<Self>) {
        self.with_all(out, |instance, out| instance.on_belief(belief, out));
    }

    fn on_round_end(&mut self, round: u64, out: &mut Effects<Self>) {
        self.with_all(out, |instance, out| instance.on_round_end(round, out));
    }

    fn on_recovery(&mut self, out: &mut Effects<Self>) {
        self.with_all(out, G::on_recovery);
    }

    fn forge(&self, message: &Self::Message, choice: u64) -> Self::Message {
        let OfOne { commander, part } = message;
        let part = match self.instances.get(commander.index()) {
            Some(instance) => instance.forge(part, choice),
            None => part.forged(choice),
        };
        OfOne { commander: *commander, part }
    }
}

impl<M: Message> Message for OfOne<M> {
    const KINDS: &'static [Kind] = M::KINDS;

    fn kind(&self) -> usize {
        self.part.kind()
    }

    fn bytes(&self) -> Option<u64> {
        self.part.bytes().map(|bytes| bytes + 8)
    }

    fn forged(&self, choice: u64) -> Self {
        Self { commander: self.commander, part: self.part.forged(choice) }
    }
}
