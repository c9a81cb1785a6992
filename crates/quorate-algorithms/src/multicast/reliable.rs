//! Reliable multicast: a process that receives a message for the first time forwards it to all before it delivers it.
//!
//! - **Source**: Coulouris et al., Distributed Systems, 5th edition, section 15.4.2 (R-multicast over B-multicast).
//! - **Assumes**: links that lose nothing. Any order; duplicates are tolerated. Any process may crash at any moment,
//!   and crashed processes do not recover; no detector is needed.
//! - **Guarantees**: validity, integrity and agreement: every live member delivers once, or none does.
//! - **Costs**: n(n - 1) messages, one message delay. To m members: m(m - 1), or m * m from a sender that is not a member.
//! - **Departs from the paper**: no process sends to itself. The sender delivers its own message once it has
//!   sent it to all.
//!
//! A message may have a body, in which layers above put their ordering data: see `fifo` and `causal`.

use core::convert::Infallible;

use quorate_core::multicast::{Body, Command, Content, Group, LastNumber, Misuse, Output};
use quorate_core::{
    Assumption, Cost, Effects, Kind, Layer, Process, ProcessId, Profile, Property, SortedSet,
};

use crate::{Algorithm, Setup, Sound};

/// One process of the reliable multicast.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Reliable<B = Content> {
    id: ProcessId,
    n: usize,
    last: LastNumber,
    /// The messages received so far, by sender and number.
    received: SortedSet<(ProcessId, u64)>,
    body: core::marker::PhantomData<B>,
}

/// A message from its sender, or forwarded by another process.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message<B = Content> {
    /// Sent by the origin itself.
    Send(Parcel<B>),
    /// Forwarded for the origin, which is named.
    Relay(ProcessId, Parcel<B>),
}

/// The contents of a message, without its origin.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Parcel<B> {
    id: u64,
    to: Group,
    body: B,
}

impl<B: Body> Reliable<B> {
    /// Creates process `id` of `n`.
    pub fn new(n: usize, id: ProcessId) -> Self {
        let (last, received) = (LastNumber::default(), SortedSet::new());
        Self { id, n, last, received, body: core::marker::PhantomData }
    }

    fn receive(&mut self, origin: ProcessId, parcel: Parcel<B>, out: &mut Effects<Self>) {
        if !self.received.insert((origin, parcel.id)) {
            return;
        }
        let mut others = parcel.to.members(self.n);
        let member = others.remove(self.id);
        let Parcel { id, body, .. } = parcel.clone();
        // Forwards before delivering: a process that crashes in between has not delivered a message that only some have.
        if origin == self.id {
            out.multicast(others, Message::Send(parcel));
        } else {
            out.multicast(others, Message::Relay(origin, parcel));
        }
        if member {
            out.output(Output::Delivered { origin, id, body });
        }
    }
}

impl<B: Body> Process for Reliable<B> {
    type Command = Command<B>;
    type Message = Message<B>;
    type Timer = Infallible;
    type Output = Output<B>;
    type Misuse = Misuse;

    fn on_command(
        &mut self,
        Command::Multicast { id, to, body }: Command<B>,
        out: &mut Effects<Self>,
    ) -> Result<(), Misuse> {
        self.last.take(id)?;
        self.receive(self.id, Parcel { id, to, body }, out);
        Ok(())
    }

    fn on_message(&mut self, from: ProcessId, message: Message<B>, out: &mut Effects<Self>) {
        match message {
            Message::Send(parcel) => self.receive(from, parcel, out),
            Message::Relay(origin, _) if origin.index() >= self.n => {
                out.ignored("a message of one who does not exist");
            }
            Message::Relay(origin, parcel) if origin != self.id => {
                self.receive(origin, parcel, out);
            }
            // Every receiver forwards a process's own message back to it.
            Message::Relay(..) => {}
        }
    }
}

impl<B: Body> quorate_core::Message for Message<B> {
    const KINDS: &'static [Kind] = &[Kind::multicast("SEND"), Kind::multicast("RELAY")];

    fn kind(&self) -> usize {
        match self {
            Self::Send(_) => 0,
            Self::Relay(..) => 1,
        }
    }

    /// A lying process changes the number.
    fn forged(&self, choice: u64) -> Self {
        let lie = |parcel: &Parcel<B>| Parcel { id: choice % 8, ..parcel.clone() };
        match self {
            Self::Send(parcel) => Self::Send(lie(parcel)),
            Self::Relay(origin, parcel) => Self::Relay(*origin, lie(parcel)),
        }
    }
}

/// The cost of the reliable multicast, which is also the cost of an order over it.
pub(super) fn cost_of_relaying(setup: &Setup) -> Cost {
    let members = setup.to.size(setup.n) as u64;
    match setup.to {
        Group::All => Cost::exact("n(n - 1)", members * (members - 1)),
        // A sender that is not a member sends one more message.
        Group::Only(_) => {
            Cost::between("m(m - 1) to m*m", members * (members - 1), members * members)
        }
    }
}

impl Algorithm for Reliable {
    const PROFILE: Profile = Profile {
        name: "reliable",
        layer: Layer::Multicast,
        summary: "every process forwards a message to all when it first receives it",
        source: "Coulouris et al., Distributed Systems, 5th edition, section 15.4",
        specimen: None,
        assumes: &[Assumption::NoLoss, Assumption::CrashStop, Assumption::Honesty],
        guarantees: &[
            Property::DeliveryValidity,
            Property::DeliveryIntegrity,
            Property::DeliveryAgreement,
        ],
        cost: "n(n - 1) messages per multicast",
        never_quiescent: false,
    };

    fn build(setup: &Setup, id: ProcessId) -> Self {
        Self::new(setup.n, id)
    }

    fn cost(setup: &Setup) -> Cost {
        cost_of_relaying(setup).with_delays(1..=1, 0..=0)
    }
}

impl Sound for Reliable {}
