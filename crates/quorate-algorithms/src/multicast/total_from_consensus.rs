//! Total order from consensus: messages are spread reliably, and a sequence of agreements decides which are next.
//!
//! - **Source**: Chandra and Toueg, "Unreliable Failure Detectors for Reliable Distributed Systems", JACM 43(2), 1996,
//!   section 7.2: atomic broadcast from consensus.
//! - **Assumes**: the same as the two layers below: links that lose nothing; fewer than half of the processes crash,
//!   and crashed processes do not recover; a detector that eventually reports every crash and may suspect other
//!   processes for a while.
//! - **Guarantees**: validity, integrity, agreement and total order regardless of the detector; deliveries continue
//!   once it stops suspecting wrongly. Neither FIFO nor causal order.
//! - **Costs**: n(n - 1) messages, those of the reliable multicast, and at most one agreement per message, of
//!   (n + 3)(n - 1) messages if no process is suspected; five message delays.
//! - **Departs from the paper**: nowhere. It consists of `reliable` and instances of `chandra-toueg`'s rotating
//!   coordinator in parallel, and a layer over both.

use alloc::vec::Vec;
use core::convert::Infallible;

use quorate_core::multicast::{Command, Content, Group, Misuse, Output};
use quorate_core::{
    Assumption, Cost, Effects, Layer, NoMessage, Process, ProcessId, Profile, Property, Route,
    SortedMap, SortedSet, Stack, UpperLayer,
};

use super::Reliable;
use crate::agreement::Rotating;
use crate::instances::{Instances, Numbered};
use crate::parallel::{Parallel, Side};
use crate::{Algorithm, Setup, Sound};

/// A message, identified by its sender and its number.
type MessageId = (ProcessId, u64);

/// The messages to be delivered next, in ascending order.
type Batch = Vec<MessageId>;

/// The two layers below, in parallel.
type LowerLayers = Parallel<Reliable, Instances<Rotating<Batch>>>;

/// Total order over a reliable multicast and agreements.
pub type TotalFromConsensus = Stack<Batches, LowerLayers>;

/// Delivers batch after batch, as agreed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Batches {
    last: Option<u64>,
    /// Messages that have been received and not yet delivered.
    waiting: SortedSet<MessageId>,
    delivered: SortedSet<MessageId>,
    /// The number of the agreement that decides the next batch. `proposed` records whether this process has proposed one.
    next: u64,
    proposed: bool,
    /// Batches that are agreed and not yet delivered, by agreement.
    agreed: SortedMap<u64, Batch>,
}

/// Outputs of the layer: commands for the multicast or the agreements below, or deliveries to the user.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum BatchesOutput {
    /// Multicasts a message reliably.
    Send(Command),
    /// Proposes a batch to an agreement.
    Propose(Numbered<Batch>),
    /// Delivers the next message.
    Deliver(Output),
}

impl Batches {
    /// Delivers agreed batches as far as their messages have arrived, then proposes the next batch.
    fn advance(&mut self, out: &mut Effects<Self>) {
        while let Some(batch) = self.agreed.get(&self.next) {
            let here =
                |name: &MessageId| self.waiting.contains(name) || self.delivered.contains(name);
            if !batch.iter().all(here) {
                return;
            }
            for (origin, id) in self.agreed.remove(&self.next).unwrap_or_default() {
                if self.delivered.insert((origin, id)) {
                    self.waiting.remove(&(origin, id));
                    out.output(BatchesOutput::Deliver(Output::Delivered {
                        origin,
                        id,
                        body: Content::TRUE,
                    }));
                }
            }
            self.next += 1;
            self.proposed = false;
        }
        if !self.proposed && !self.waiting.is_empty() {
            self.proposed = true;
            let batch = self.waiting.iter().copied().collect();
            out.output(BatchesOutput::Propose(Numbered { instance: self.next, what: batch }));
        }
    }
}

impl Process for Batches {
    type Command = Command;
    type Message = NoMessage;
    type Timer = Infallible;
    type Output = BatchesOutput;
    type Misuse = Misuse;

    fn on_command(&mut self, command: Command, out: &mut Effects<Self>) -> Result<(), Misuse> {
        let Command::Multicast { id, to, .. } = &command;
        if *to != Group::All {
            return Err(Misuse::EverybodyOnly);
        }
        if self.last.is_some_and(|last| *id <= last) {
            return Err(Misuse::NumberUsed(*id));
        }
        self.last = Some(*id);
        out.output(BatchesOutput::Send(command));
        Ok(())
    }

    fn on_message(&mut self, _: ProcessId, message: NoMessage, _: &mut Effects<Self>) {
        match message {}
    }
}

impl UpperLayer<LowerLayers> for Batches {
    type Up = Output;

    fn on_lower_output(
        &mut self,
        output: <LowerLayers as Process>::Output,
        out: &mut Effects<Self>,
    ) {
        match output {
            Side::Left(Output::Delivered { origin, id, .. }) => {
                self.waiting.insert((origin, id));
            }
            Side::Right(Numbered { instance, what }) => {
                self.agreed.insert(instance, what);
            }
        }
        self.advance(out);
    }

    fn route(output: BatchesOutput) -> Route<Output, <LowerLayers as Process>::Command> {
        match output {
            BatchesOutput::Send(command) => Route::Down(Side::Left(command)),
            BatchesOutput::Propose(batch) => Route::Down(Side::Right(batch)),
            BatchesOutput::Deliver(output) => Route::Up(output),
        }
    }
}

impl Algorithm for TotalFromConsensus {
    const PROFILE: Profile = Profile {
        name: "total-from-consensus",
        layer: Layer::Multicast,
        summary: "a reliable multicast, and one consensus after another on the next messages to deliver",
        source: "Chandra, Toueg, JACM 43(2), 1996",
        specimen: None,
        assumes: &[
            Assumption::NoLoss,
            Assumption::FewCrashes,
            Assumption::LessThanAHalf,
            Assumption::CrashStop,
            Assumption::EventualDetector,
            Assumption::Honesty,
        ],
        guarantees: &[
            Property::DeliveryValidity,
            Property::DeliveryIntegrity,
            Property::DeliveryAgreement,
            Property::TotalOrder,
        ],
        cost: "n(n - 1) messages per multicast, and at most one consensus",
        never_quiescent: false,
    };

    const GROUPS: bool = false;

    fn tolerates(n: usize) -> Option<usize> {
        Some((n - 1) / 2)
    }

    fn build(setup: &Setup, id: ProcessId) -> Self {
        let lower =
            Parallel::new(Reliable::new(setup.n, id), Instances::new(Rotating::new(setup.n, id)));
        Self::new(Batches::default(), lower)
    }

    fn cost(setup: &Setup) -> Cost {
        let n = setup.n as u64;
        // A message that arrives just after an agreement has begun waits for the next agreement.
        Cost::exact("n(n - 1)", n * (n - 1))
            .with_delays(4..=10, 0..=0)
            .without_delays_if_single(setup.n)
    }
}

impl Sound for TotalFromConsensus {}
