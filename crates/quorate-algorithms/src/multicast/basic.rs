//! Basic multicast: the sender sends to each member, and each receiver delivers.
//!
//! - **Source**: Coulouris et al., Distributed Systems, 5th edition, section 15.4.1 (B-multicast).
//! - **Assumes**: links that neither lose nor duplicate; any order.
//! - **Guarantees**: validity and integrity. Not agreement: if a sender crashes during a multicast,
//!   only some members deliver.
//! - **Costs**: n - 1 messages, one message delay.
//! - **Departs from the paper**: the sender delivers its own message immediately instead of sending it to itself.

use core::convert::Infallible;

use quorate_core::multicast::{Command, Content, Group, LastNumber, Misuse, Output};
use quorate_core::{Assumption, Cost, Effects, Kind, Layer, Process, ProcessId, Profile, Property};

use crate::{Algorithm, Setup, Sound};

/// One process of the basic multicast.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Basic {
    id: ProcessId,
    n: usize,
    last: LastNumber,
}

/// A message, identified by its sender and its number.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Message {
    id: u64,
}

impl Basic {
    /// Creates process `id` of `n`.
    pub fn new(n: usize, id: ProcessId) -> Self {
        Self { id, n, last: LastNumber::default() }
    }
}

impl Process for Basic {
    type Command = Command;
    type Message = Message;
    type Timer = Infallible;
    type Output = Output;
    type Misuse = Misuse;

    fn on_command(
        &mut self,
        Command::Multicast { id, to, .. }: Command,
        out: &mut Effects<Self>,
    ) -> Result<(), Misuse> {
        self.last.take(id)?;
        let mut others = to.members(self.n);
        if others.remove(self.id) {
            out.output(Output::Delivered { origin: self.id, id, body: Content::TRUE });
        }
        out.multicast(others, Message { id });
        Ok(())
    }

    fn on_message(&mut self, from: ProcessId, message: Message, out: &mut Effects<Self>) {
        out.output(Output::Delivered { origin: from, id: message.id, body: Content::TRUE });
    }
}

impl quorate_core::Message for Message {
    const KINDS: &'static [Kind] = &[Kind::multicast("SEND")];

    fn kind(&self) -> usize {
        0
    }

    fn forged(&self, choice: u64) -> Self {
        Self { id: choice % 8 }
    }
}

impl Algorithm for Basic {
    const PROFILE: Profile = Profile {
        name: "basic",
        layer: Layer::Multicast,
        summary: "the sender sends to each member",
        source: "Coulouris et al., Distributed Systems, 5th edition, section 15.4",
        specimen: None,
        assumes: &[Assumption::NoLoss, Assumption::NoDuplication, Assumption::Honesty],
        guarantees: &[Property::DeliveryValidity, Property::DeliveryIntegrity],
        cost: "n - 1 messages per multicast",
        never_quiescent: false,
    };

    fn build(setup: &Setup, id: ProcessId) -> Self {
        Self::new(setup.n, id)
    }

    fn cost(setup: &Setup) -> Cost {
        let members = setup.to.size(setup.n) as u64;
        let cost = match setup.to {
            Group::All => Cost::exact("n - 1", members - 1),
            // A sender that is not a member sends one more message.
            Group::Only(_) => Cost::between("members - 1", members - 1, members),
        };
        cost.with_delays(1..=1, 0..=0)
    }
}

impl Sound for Basic {}
