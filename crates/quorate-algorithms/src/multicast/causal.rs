//! Causal multicast: a message carries a vector clock of its sender's deliveries, and waits until all of these have
//! happened at the receiver.
//!
//! - **Source**: Birman, Schiper and Stephenson, "Lightweight Causal and Atomic Group Multicast", ACM TOCS 9(3), 1991
//!   (CBCAST); Coulouris et al., 5th edition, section 15.4.3 (CO-multicast).
//! - **Assumes**: the same as the reliable multicast below: links that lose nothing. Any order of messages on a link.
//! - **Guarantees**: validity, integrity, agreement, FIFO order and causal order. Not total order: concurrent messages
//!   may be delivered in different orders.
//! - **Costs**: n(n - 1) messages, those of the reliable multicast, each with a vector of n numbers; one message delay.
//! - **Departs from the paper**: one clock per group of members, so that groups need not be declared; messages to
//!   different groups are not ordered relative to each other. Views and view changes are left out. They are not needed,
//!   because a message that one live process has delivered reaches all, so no process waits for a crashed one.

use alloc::vec::Vec;
use core::convert::Infallible;

use quorate_core::multicast::{Body, Command, Content, Group, LastNumber, Misuse, Output};
use quorate_core::{
    Assumption, Cost, Effects, Layer, NoMessage, Process, ProcessId, Profile, Property, Route,
    SortedMap, Stack, UpperLayer, VectorClock,
};

use super::Reliable;
use super::reliable::cost_of_relaying;
use crate::{Algorithm, Setup, Sound};

/// Causal order over the reliable multicast.
pub type Causal = Stack<CausalOrder, Reliable<Past>>;

/// Holds a message back until its causal predecessors have been delivered.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CausalOrder {
    id: ProcessId,
    last: LastNumber,
    /// Number of delivered messages per group and sender. For this process itself, the number of sent messages.
    clocks: SortedMap<Group, VectorClock>,
    /// Messages that have arrived too early, in order of arrival.
    held_back: Vec<Output<Past>>,
}

impl Body for Past {}

/// The numbers of messages that the sender had delivered and sent, including this message.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Past {
    to: Group,
    clock: VectorClock,
}

/// Outputs of the order: a command for the multicast below, or a delivery to the user.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum CausalOrderOutput {
    /// Multicasts a message reliably.
    Send(Command<Past>),
    /// Delivers the next message.
    Deliver(Output),
}

impl CausalOrder {
    /// Creates the order of process `id`.
    pub fn new(id: ProcessId) -> Self {
        Self { id, last: LastNumber::default(), clocks: SortedMap::new(), held_back: Vec::new() }
    }

    /// Whether a message is the next of its sender and all messages that it depends on have been delivered.
    fn is_next(&self, Output::Delivered { origin, body, .. }: &Output<Past>) -> bool {
        let none = VectorClock::new();
        let here = self.clocks.get(&body.to).unwrap_or(&none);
        // A process's own messages can be delivered as soon as they are sent.
        *origin == self.id
            || body.clock.iter().all(|(process, count)| match process == *origin {
                true => count == here.of(process) + 1,
                false => count <= here.of(process),
            })
    }

    fn deliver(&mut self, message: Output<Past>, out: &mut Effects<Self>) {
        let Output::Delivered { origin, id, body } = message;
        if origin != self.id {
            self.clocks.entry(body.to).or_default().tick(origin);
        }
        out.output(CausalOrderOutput::Deliver(Output::Delivered {
            origin,
            id,
            body: Content::TRUE,
        }));
    }
}

impl Process for CausalOrder {
    type Command = Command;
    type Message = NoMessage;
    type Timer = Infallible;
    type Output = CausalOrderOutput;
    type Misuse = Misuse;

    fn on_command(
        &mut self,
        Command::Multicast { id, to, .. }: Command,
        out: &mut Effects<Self>,
    ) -> Result<(), Misuse> {
        self.last.take(id)?;
        let clock = self.clocks.entry(to.clone()).or_default();
        clock.tick(self.id);
        let body = Past { to: to.clone(), clock: clock.clone() };
        out.output(CausalOrderOutput::Send(Command::Multicast { id, to, body }));
        Ok(())
    }

    fn on_message(&mut self, _: ProcessId, message: NoMessage, _: &mut Effects<Self>) {
        match message {}
    }
}

impl UpperLayer<Reliable<Past>> for CausalOrder {
    type Up = Output;

    fn on_lower_output(&mut self, message: Output<Past>, out: &mut Effects<Self>) {
        self.held_back.push(message);
        while let Some(next) = self.held_back.iter().position(|message| self.is_next(message)) {
            let message = self.held_back.remove(next);
            self.deliver(message, out);
        }
    }

    fn route(output: CausalOrderOutput) -> Route<Output, Command<Past>> {
        match output {
            CausalOrderOutput::Send(command) => Route::Down(command),
            CausalOrderOutput::Deliver(output) => Route::Up(output),
        }
    }
}

impl Algorithm for Causal {
    const PROFILE: Profile = Profile {
        name: "causal",
        layer: Layer::Multicast,
        summary: "vector clocks over the reliable multicast",
        source: "Birman, Schiper, Stephenson, ACM TOCS 9(3), 1991",
        specimen: None,
        assumes: &[Assumption::NoLoss, Assumption::CrashStop, Assumption::Honesty],
        guarantees: &[
            Property::DeliveryValidity,
            Property::DeliveryIntegrity,
            Property::DeliveryAgreement,
            Property::FifoOrder,
            Property::CausalOrder,
        ],
        cost: "n(n - 1) messages per multicast, each with n numbers",
        never_quiescent: false,
    };

    fn build(setup: &Setup, id: ProcessId) -> Self {
        Self::new(CausalOrder::new(id), Reliable::new(setup.n, id))
    }

    fn cost(setup: &Setup) -> Cost {
        cost_of_relaying(setup).with_delays(1..=1, 0..=0)
    }
}

impl Sound for Causal {}
