//! Total order by Lamport's acknowledgements: messages are delivered in the order of their stamps, each as soon as all
//! processes are known to have it.
//!
//! - **Source**: Lamport, "Time, Clocks, and the Ordering of Events in a Distributed System", CACM 21(7), 1978: its
//!   queue of requests, with messages in place of requests.
//! - **Assumes**: links that keep the order of messages and lose none; a perfect detector; any process may crash, and
//!   crashed processes do not recover.
//! - **Guarantees**: validity, integrity, agreement and total order, and also FIFO and causal order,
//!   because stamps respect both.
//! - **Costs**: n(n - 1) messages: n - 1 SENDs, and n - 1 ACKs from each of the others; two message delays. For each
//!   crash, another FLUSHED from every process to every other.
//! - **Departs from the paper**: acknowledgements go to all processes and contain the message, so that they forward it
//!   as a reliable multicast does. Crashes are tolerated. Messages take the place of requests and are never released.
//!
//! Lamport's rule: the first message of the queue is delivered once something later has arrived from every process,
//! because then nothing earlier can arrive. Nothing later will arrive from a crashed process. Therefore a process that
//! learns of a crash stops accepting messages from the crashed process and sends FLUSHED to all, after everything that
//! it has forwarded. A process that has received FLUSHED from all live processes, for every crash that it knows of, has
//! every message of the crashed processes that will ever be known, and stops waiting for them.

use alloc::vec;
use alloc::vec::Vec;
use core::convert::Infallible;

use quorate_core::multicast::{Body, Command, Content, Group, LastNumber, Misuse, Output};
use quorate_core::{
    Assumption, Belief, Cost, Effects, Kind, LamportClock, Layer, Process, ProcessId, ProcessSet,
    Profile, Property, SortedMap, SortedSet, Stamp,
};

use crate::{Algorithm, Setup, Sound};

/// One process of the Lamport total order.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TotalLamport<B = Content> {
    id: ProcessId,
    n: usize,
    clock: LamportClock,
    last: LastNumber,
    /// The undelivered messages, by stamp.
    queue: SortedMap<Stamp, (u64, B)>,
    /// The stamp of the last delivered message.
    delivered: Option<Stamp>,
    /// The latest time received from each process.
    heard: Vec<u64>,
    crashed: ProcessSet,
    /// For each crashed process, the processes that have forwarded all of its messages.
    flushed: SortedMap<ProcessId, SortedSet<ProcessId>>,
    /// Crashed processes of which all messages have arrived.
    closed: ProcessSet,
}

/// The messages of the protocol. Each carries the logical time of its sender.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message<B = Content> {
    /// A message, multicast at this time.
    Send {
        /// Logical time of the multicast.
        time: u64,
        /// The number of the message.
        id: u64,
        /// The contents of the message.
        body: B,
    },
    /// The sender has received this message.
    Ack {
        /// Logical time of the acknowledgement.
        time: u64,
        /// The stamp of the message, which includes its sender.
        stamp: Stamp,
        /// The number of the message.
        id: u64,
        /// The contents of the message.
        body: B,
    },
    /// The sender has forwarded all messages that it has of a crashed process.
    Flushed {
        /// Logical time when the sender learned of the crash.
        time: u64,
        /// The process that has crashed.
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
    /// Creates process `id` of `n`.
    pub fn new(n: usize, id: ProcessId) -> Self {
        Self {
            id,
            n,
            clock: LamportClock::default(),
            last: LastNumber::default(),
            queue: SortedMap::new(),
            delivered: None,
            heard: vec![0; n],
            crashed: ProcessSet::new(),
            flushed: SortedMap::new(),
            closed: ProcessSet::new(),
        }
    }

    /// Adds a new message to the queue and acknowledges it to all others.
    fn learn(&mut self, stamp: Stamp, id: u64, body: B, out: &mut Effects<Self>) {
        if self.delivered >= Some(stamp) || self.queue.contains_key(&stamp) {
            return;
        }
        self.clock.merge(stamp.time);
        let time = self.clock.tick();
        self.queue.insert(stamp, (id, body.clone()));
        out.send_to_others(Message::Ack { time, stamp, id, body });
    }

    /// Records the time of a received message. Links are FIFO, so nothing earlier will arrive from this process.
    fn observe(&mut self, from: ProcessId, time: u64) {
        self.clock.merge(time);
        if let Some(latest) = self.heard.get_mut(from.index()) {
            *latest = time.max(*latest);
        }
    }

    /// Processes from which a message with an earlier stamp may still arrive.
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

    /// Stops waiting for the crashed processes, once all live processes have flushed all of them.
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
            // The logical clock advances even if the message is ignored.
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

    /// A lying process changes the time.
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
        summary: "messages are delivered in the order of stamps, once all processes have acknowledged",
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
