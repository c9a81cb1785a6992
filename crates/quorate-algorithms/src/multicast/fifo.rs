//! FIFO multicast: messages of one sender are numbered, and a receiver holds back a message that arrives too early.
//!
//! - **Source**: Coulouris et al., Distributed Systems, 5th edition, section 15.4.3 (FO-multicast over R-multicast).
//! - **Assumes**: the same as the reliable multicast below: links that lose nothing. Any order of messages on a link.
//! - **Guarantees**: validity, integrity, agreement and FIFO order. Not causal order: an answer may be
//!   delivered before the question.
//! - **Costs**: n(n - 1) messages, those of the reliable multicast; one message delay.
//! - **Departs from the paper**: numbers are counted per sender and group of members, so that groups need not be
//!   declared. Messages to different groups are not ordered relative to each other.

use core::convert::Infallible;

use quorate_core::multicast::{Body, Command, Content, Group, LastNumber, Misuse, Output};
use quorate_core::{
    Assumption, Cost, Effects, Layer, NoMessage, Process, ProcessId, Profile, Property, Route,
    SortedMap, Stack, UpperLayer,
};

use super::Reliable;
use super::reliable::cost_of_relaying;
use crate::{Algorithm, Setup, Sound};

/// FIFO order over the reliable multicast.
pub type Fifo = Stack<FifoOrder, Reliable<Place>>;

/// Delivers the messages of each sender in order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct FifoOrder {
    last: LastNumber,
    /// Number of messages sent to each group.
    sent: SortedMap<Group, u64>,
    /// Number of messages delivered per sender and group.
    delivered: SortedMap<(ProcessId, Group), u64>,
    /// Messages that have arrived too early.
    held_back: SortedMap<(ProcessId, Place), u64>,
}

impl Body for Place {}

/// The position of a message in the order of its sender: its number among the messages to this group.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Place {
    to: Group,
    number: u64,
}

/// Outputs of the order: a command for the multicast below, or a delivery to the user.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum FifoOrderOutput {
    /// Multicasts a message reliably.
    Send(Command<Place>),
    /// Delivers the next message.
    Deliver(Output),
}

impl Process for FifoOrder {
    type Command = Command;
    type Message = NoMessage;
    type Timer = Infallible;
    type Output = FifoOrderOutput;
    type Misuse = Misuse;

    fn on_command(
        &mut self,
        Command::Multicast { id, to, .. }: Command,
        out: &mut Effects<Self>,
    ) -> Result<(), Misuse> {
        self.last.take(id)?;
        let number = self.sent.entry(to.clone()).or_default();
        let body = Place { to: to.clone(), number: *number };
        *number += 1;
        out.output(FifoOrderOutput::Send(Command::Multicast { id, to, body }));
        Ok(())
    }

    fn on_message(&mut self, _: ProcessId, message: NoMessage, _: &mut Effects<Self>) {
        match message {}
    }
}

impl UpperLayer<Reliable<Place>> for FifoOrder {
    type Up = Output;

    fn on_lower_output(
        &mut self,
        Output::Delivered { origin, id, body }: Output<Place>,
        out: &mut Effects<Self>,
    ) {
        let to = body.to.clone();
        self.held_back.insert((origin, body), id);
        let next = self.delivered.entry((origin, to.clone())).or_default();
        while let Some(id) =
            self.held_back.remove(&(origin, Place { to: to.clone(), number: *next }))
        {
            *next += 1;
            out.output(FifoOrderOutput::Deliver(Output::Delivered {
                origin,
                id,
                body: Content::TRUE,
            }));
        }
    }

    fn route(output: FifoOrderOutput) -> Route<Output, Command<Place>> {
        match output {
            FifoOrderOutput::Send(command) => Route::Down(command),
            FifoOrderOutput::Deliver(output) => Route::Up(output),
        }
    }
}

impl Algorithm for Fifo {
    const PROFILE: Profile = Profile {
        name: "fifo",
        layer: Layer::Multicast,
        summary: "numbers per sender over the reliable multicast",
        source: "Coulouris et al., Distributed Systems, 5th edition, section 15.4",
        specimen: None,
        assumes: &[Assumption::NoLoss, Assumption::CrashStop, Assumption::Honesty],
        guarantees: &[
            Property::DeliveryValidity,
            Property::DeliveryIntegrity,
            Property::DeliveryAgreement,
            Property::FifoOrder,
        ],
        cost: "n(n - 1) messages per multicast",
        never_quiescent: false,
    };

    fn build(setup: &Setup, id: ProcessId) -> Self {
        Self::new(FifoOrder::default(), Reliable::new(setup.n, id))
    }

    fn cost(setup: &Setup) -> Cost {
        cost_of_relaying(setup).with_delays(1..=1, 0..=0)
    }
}

impl Sound for Fifo {}
