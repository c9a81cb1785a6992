//! Total order by Lamport's acknowledgements: messages are delivered in the order of their stamps, each once
//! everybody has been heard to know of it.
//!
//! - **Source**: Lamport, "Time, Clocks, and the Ordering of Events in a Distributed System", CACM 21(7), 1978: its queue of
//!   requests, with messages in their place.
//! - **Assumes**: links that keep the order of messages and lose none; a perfect detector; crashes without return, of
//!   anybody.
//! - **Guarantees**: validity, integrity, agreement, total order, and FIFO and causal order with it: stamps respect both.
//! - **Costs**: n(n - 1) messages: n - 1 SENDs, and n - 1 ACKs from each of the others; two message delays. For each
//!   crash, another FLUSHED from everybody to everybody.
//! - **Departs from the paper**: acknowledgements go to all and name the message, so that they pass it on as a reliable
//!   multicast does; crashes are borne; messages take the place of requests, and are never released.
//!
//! Lamport's rule: the first of the queue is delivered once something later has come from everybody, for then nothing
//! earlier can come. Of one that has crashed nothing later will come. So whoever is told of a crash stops listening to
//! the crashed and says FLUSHED to all, after all that it has passed on. One who has heard FLUSHED from everybody live,
//! for every crash it knows of, knows all that will ever be known of the crashed, and stops waiting for them.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec;
use alloc::vec::Vec;
use core::convert::Infallible;

use quorate_core::multicast::{Body, Command, Group, LastNumber, Misuse, Output};
use quorate_core::{
    Assumption, Belief, Cost, Effects, Kind, LamportClock, Layer, Process, ProcessId, ProcessSet,
    Profile, Property, Stamp,
};

use crate::{Algorithm, Setup, Sound};

/// One process of it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TotalLamport<B = ()> {
    id: ProcessId,
    n: usize,
    clock: LamportClock,
    last: LastNumber,
    /// What has not been delivered, by stamp.
    queue: BTreeMap<Stamp, (u64, B)>,
    /// The stamp of what was delivered last.
    delivered: Option<Stamp>,
    /// The latest time that has come from each.
    heard: Vec<u64>,
    crashed: ProcessSet,
    /// Who has said that it has passed on all it has of each crashed.
    flushed: BTreeMap<ProcessId, BTreeSet<ProcessId>>,
    /// The crashed of whom all is known.
    closed: ProcessSet,
}

/// What processes say, always with the time of their clock.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message<B = ()> {
    /// A message, multicast at this time.
    Send {
        /// When.
        time: u64,
        /// Its number.
        id: u64,
        /// What it says.
        body: B,
    },
    /// I know of this message.
    Ack {
        /// When I got to know of it.
        time: u64,
        /// Its stamp, and so its sender.
        stamp: Stamp,
        /// Its number.
        id: u64,
        /// What it says.
        body: B,
    },
    /// I have passed on all that I have of this process, which has crashed.
    Flushed {
        /// When I was told of the crash.
        time: u64,
        /// Whose.
        crashed: ProcessId,
    },
}

impl<B> Message<B> {
    fn time(&self) -> u64 {
        match self {
            Self::Send { time, .. } | Self::Ack { time, .. } | Self::Flushed { time, .. } => *time,
        }
    }
}

impl<B: Body> TotalLamport<B> {
    /// Process `id` of n.
    pub fn new(n: usize, id: ProcessId) -> Self {
        Self {
            id,
            n,
            clock: LamportClock::default(),
            last: LastNumber::default(),
            queue: BTreeMap::new(),
            delivered: None,
            heard: vec![0; n],
            crashed: ProcessSet::new(),
            flushed: BTreeMap::new(),
            closed: ProcessSet::new(),
        }
    }

    /// Puts a message that is new here into the queue and tells everybody.
    fn learn(&mut self, stamp: Stamp, id: u64, body: B, out: &mut Effects<Self>) {
        if self.delivered >= Some(stamp) || self.queue.contains_key(&stamp) {
            return;
        }
        self.clock.merge(stamp.time);
        let time = self.clock.tick();
        self.queue.insert(stamp, (id, body.clone()));
        out.send_to_others(Message::Ack { time, stamp, id, body });
    }

    /// Whoever says something has nothing earlier to say.
    fn observe(&mut self, from: ProcessId, time: u64) {
        self.clock.merge(time);
        if let Some(latest) = self.heard.get_mut(from.index()) {
            *latest = time.max(*latest);
        }
    }

    /// Who might still come out with something before this stamp.
    fn awaited(&self, stamp: Stamp) -> ProcessSet {
        let may = |process: &ProcessId| {
            let heard = Stamp { time: self.heard[process.index()], process: *process };
            heard < stamp && *process != self.id && !self.closed.contains(*process)
        };
        ProcessId::all(self.n).filter(may).collect()
    }

    fn deliver(&mut self, out: &mut Effects<Self>) {
        while let Some(entry) = self.queue.first_entry() {
            let stamp = *entry.key();
            if !self.awaited(stamp).is_empty() {
                return;
            }
            if let Some((stamp, (id, body))) = self.queue.pop_first() {
                self.delivered = Some(stamp);
                out.output(Output::Delivered { origin: stamp.process, id, body });
            }
        }
    }

    /// Closes the books on the crashed, once all live have flushed all of them.
    fn close(&mut self) {
        let live = |crashed: &ProcessSet| &ProcessSet::others(self.n, self.id) - crashed;
        let live = live(&self.crashed);
        let all_flushed = |crashed: ProcessId| {
            let by = self.flushed.get(&crashed);
            live.iter().all(|process| by.is_some_and(|by| by.contains(&process)))
        };
        if live.is_empty() || self.crashed.iter().all(all_flushed) {
            self.closed = self.crashed.clone();
        }
    }
}

impl<B: Body> Process for TotalLamport<B> {
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
        if to != Group::All {
            return Err(Misuse::EverybodyOnly);
        }
        self.last.take(id)?;
        let time = self.clock.tick();
        self.queue.insert(Stamp { time, process: self.id }, (id, body.clone()));
        out.send_to_others(Message::Send { time, id, body });
        self.deliver(out);
        Ok(())
    }

    fn on_message(&mut self, from: ProcessId, message: Message<B>, out: &mut Effects<Self>) {
        if self.crashed.contains(from) {
            // Logical time goes on all the same.
            self.clock.merge(message.time());
            return out.ignored("a word of one who has crashed");
        }
        self.observe(from, message.time());
        match message {
            Message::Send { time, id, body } => {
                self.learn(Stamp { time, process: from }, id, body, out);
            }
            Message::Ack { stamp, id, body, .. } => {
                if stamp.process != self.id {
                    self.learn(stamp, id, body, out);
                }
            }
            Message::Flushed { crashed, .. } => {
                self.flushed.entry(crashed).or_default().insert(from);
                self.close();
            }
        }
        self.deliver(out);
    }

    fn on_belief(&mut self, belief: Belief, out: &mut Effects<Self>) {
        match belief {
            Belief::Crashed(process) => {
                self.crashed.insert(process);
                let time = self.clock.tick();
                out.send_to_others(Message::Flushed { time, crashed: process });
                self.close();
                self.deliver(out);
            }
            Belief::Alive(process) => {
                self.crashed.remove(process);
                self.closed.remove(process);
            }
        }
    }

    fn waits_for(&self) -> ProcessSet {
        self.queue.keys().next().map_or_else(ProcessSet::new, |stamp| self.awaited(*stamp))
    }
}

impl<B: Body> quorate_core::Message for Message<B> {
    const KINDS: &'static [Kind] =
        &[Kind::multicast("SEND"), Kind::multicast("ACK"), Kind::multicast("FLUSHED")];

    fn kind(&self) -> usize {
        match self {
            Self::Send { .. } => 0,
            Self::Ack { .. } => 1,
            Self::Flushed { .. } => 2,
        }
    }

    fn stamp(&self) -> Option<u64> {
        Some(self.time())
    }

    /// A liar changes the time.
    fn forged(&self, choice: u64) -> Self {
        let lie = choice % 8;
        match self.clone() {
            Self::Send { id, body, .. } => Self::Send { time: lie, id, body },
            Self::Ack { stamp, id, body, .. } => Self::Ack { time: lie, stamp, id, body },
            Self::Flushed { crashed, .. } => Self::Flushed { time: lie, crashed },
        }
    }
}

impl Algorithm for TotalLamport {
    const PROFILE: Profile = Profile {
        name: "total-lamport",
        layer: Layer::Multicast,
        summary: "delivered in the order of stamps, once everybody has acknowledged",
        source: "Lamport, CACM 21(7), 1978",
        specimen: None,
        assumes: &[
            Assumption::NoLoss,
            Assumption::Fifo,
            Assumption::CrashStop,
            Assumption::PerfectDetector,
            Assumption::Honesty,
        ],
        guarantees: &[
            Property::DeliveryValidity,
            Property::DeliveryIntegrity,
            Property::DeliveryAgreement,
            Property::FifoOrder,
            Property::CausalOrder,
            Property::TotalOrder,
            Property::ClockCondition,
        ],
        cost: "n(n - 1) messages per multicast",
        never_quiescent: false,
    };

    const GROUPS: bool = false;

    fn build(setup: &Setup, id: ProcessId) -> Self {
        Self { clock: setup.clock(id), ..Self::new(setup.n, id) }
    }

    fn cost(setup: &Setup) -> Cost {
        let n = setup.n as u64;
        Cost::exact("n(n - 1)", n * (n - 1))
            .with_delays(1..=2, 0..=0)
            .without_delays_if_single(setup.n)
    }
}

impl Sound for TotalLamport {}
