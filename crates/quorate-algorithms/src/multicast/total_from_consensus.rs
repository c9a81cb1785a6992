//! Total order from consensus: messages are spread reliably, and one agreement after the other says which are next.
//!
//! - **Source**: Chandra and Toueg, "Unreliable Failure Detectors for Reliable Distributed Systems", JACM 43(2), 1996,
//!   section 7.2: atomic broadcast from consensus.
//! - **Assumes**: what the two below do: links that lose nothing; fewer than half of the processes crash and stay away; a
//!   detector that tells of every crash in the end and may suspect anybody else for a while.
//! - **Guarantees**: validity, integrity, agreement and total order whatever the detector says; deliveries go on once it
//!   stops suspecting wrongly. Neither FIFO nor causal order.
//! - **Costs**: n(n - 1) messages, those of the reliable multicast, and at most one agreement per message, of
//!   (n + 3)(n - 1) messages if nobody is suspected; five message delays.
//! - **Departs from the paper**: nowhere. It is `reliable` and copies of `chandra-toueg`'s rotating coordinator side by side,
//!   and a layer over both.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use core::convert::Infallible;

use quorate_core::multicast::{Command, Group, Misuse, Output};
use quorate_core::{
    Assumption, Cost, Effects, Layer, Over, Process, ProcessId, Profile, Property, Route, Silence,
    Stack,
};

use super::Reliable;
use crate::agreement::Rotating;
use crate::beside::{Beside, Side};
use crate::instances::{Instances, Numbered};
use crate::{Algorithm, Setup, Sound};

/// A message, known by its sender and its number.
type Name = (ProcessId, u64);

/// The messages to be delivered next, in ascending order.
type Batch = Vec<Name>;

/// What it is made of.
type Below = Beside<Reliable, Instances<Rotating<Batch>>>;

/// Total order over a reliable multicast and agreements.
pub type TotalFromConsensus = Stack<Batches, Below>;

/// Delivers batch after batch, as agreed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Batches {
    last: Option<u64>,
    /// What has been received and not been delivered.
    waiting: BTreeSet<Name>,
    delivered: BTreeSet<Name>,
    /// The agreement that says what is next, and whether it has proposed something to it.
    next: u64,
    proposed: bool,
    /// What is agreed and has not been delivered.
    agreed: BTreeMap<u64, Batch>,
}

/// What it wants: from the multicast or the agreements below, or to tell its user.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Wish {
    /// Spread this.
    Send(Command),
    /// In this agreement, these should be next.
    Propose(Numbered<Batch>),
    /// This is next.
    Deliver(Output),
}

impl Batches {
    /// Delivers what is agreed as far as it is here, and proposes what should come after it.
    fn advance(&mut self, out: &mut Effects<Self>) {
        while let Some(batch) = self.agreed.get(&self.next) {
            let here = |name: &Name| self.waiting.contains(name) || self.delivered.contains(name);
            if !batch.iter().all(here) {
                return;
            }
            for (origin, id) in self.agreed.remove(&self.next).unwrap_or_default() {
                if self.delivered.insert((origin, id)) {
                    self.waiting.remove(&(origin, id));
                    out.output(Wish::Deliver(Output::Delivered { origin, id, body: () }));
                }
            }
            self.next += 1;
            self.proposed = false;
        }
        if !self.proposed && !self.waiting.is_empty() {
            self.proposed = true;
            let batch = self.waiting.iter().copied().collect();
            out.output(Wish::Propose(Numbered { instance: self.next, what: batch }));
        }
    }
}

impl Process for Batches {
    type Command = Command;
    type Message = Silence;
    type Timer = Infallible;
    type Output = Wish;
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
        out.output(Wish::Send(command));
        Ok(())
    }

    fn on_message(&mut self, _: ProcessId, message: Silence, _: &mut Effects<Self>) {
        match message {}
    }
}

impl Over<Below> for Batches {
    type Up = Output;

    fn on_below(&mut self, output: <Below as Process>::Output, out: &mut Effects<Self>) {
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

    fn route(wish: Wish) -> Route<Output, <Below as Process>::Command> {
        match wish {
            Wish::Send(command) => Route::Down(Side::Left(command)),
            Wish::Propose(batch) => Route::Down(Side::Right(batch)),
            Wish::Deliver(output) => Route::Up(output),
        }
    }
}

impl Algorithm for TotalFromConsensus {
    const PROFILE: Profile = Profile {
        name: "total-from-consensus",
        layer: Layer::Multicast,
        summary: "a reliable multicast, and consensus after consensus on what is next",
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
        restless: false,
    };

    const GROUPS: bool = false;

    fn bears(n: usize) -> Option<usize> {
        Some((n - 1) / 2)
    }

    fn build(setup: &Setup, id: ProcessId) -> Self {
        let below =
            Beside::new(Reliable::new(setup.n, id), Instances::new(Rotating::new(setup.n, id)));
        Self::new(Batches::default(), below)
    }

    fn cost(setup: &Setup) -> Cost {
        let n = setup.n as u64;
        // A message that comes just after an agreement has begun waits for the next.
        Cost::exact("n(n - 1)", n * (n - 1)).with_delays(4..=10, 0..=0).alone_free(setup.n)
    }
}

impl Sound for TotalFromConsensus {}
