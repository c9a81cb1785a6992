//! Total order by collective agreement on timestamps: every process proposes a timestamp for a message, and the
//! sender takes the latest.
//!
//! - **Source**: Birman and Joseph, "Reliable Communication in the Presence of Failures", ACM TOCS 5(1), 1987 (ABCAST,
//!   of ISIS); Coulouris et al., 5th edition, section 15.4.3.
//! - **Assumes**: a perfect detector; any process may crash, and crashed processes do not recover; links that lose
//!   nothing. Any order of messages; duplicates are tolerated.
//! - **Guarantees**: validity, integrity, agreement and total order, also among the survivors of a sender that crashes
//!   during a multicast. Neither FIFO nor causal order: a later message may get an earlier timestamp. If all processes
//!   that have delivered a message crash, the others may deliver it in another order or not at all.
//! - **Costs**: 3(n - 1) messages; three message delays. For each crash up to 3(n - 1) more.
//! - **Departs from the paper**: the live process with the smallest number finishes the multicasts of crashed processes,
//!   for all of their messages together, and messages are kept forever. In the paper any receiver may do so, and messages
//!   that all have are forgotten. A proposal includes its proposer, so that no two messages get the same timestamp.
//!
//! A message waits in the queue at the timestamp that was proposed here until it is AGREED. The first message of the
//! queue is delivered once it is agreed. When a sender crashes, the coordinator asks all processes for their messages
//! of the crashed sender (INQUIRE, REPORT). A process that lacks a message reports a floor instead of a timestamp and
//! delivers nothing beyond the floor. A timestamp that any process has as agreed stays agreed; otherwise the latest of
//! all timestamps and floors is taken (RESOLVE). A message that no live process has is lost for all.

use alloc::vec::Vec;
use core::convert::Infallible;

use quorate_core::multicast::{Body, Command, Content, Group, LastNumber, Misuse, Output};
use quorate_core::{
    Assumption, Belief, Cost, Effects, Kind, LamportClock, Layer, Process, ProcessId, ProcessSet,
    Profile, Property, SortedMap, SortedSet, Stamp,
};

use crate::{Algorithm, Setup, Sound};

/// One process of the ISIS total order.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TotalIsis<B = Content> {
    id: ProcessId,
    n: usize,
    /// The latest timestamp that was proposed here or is known to be agreed.
    latest: LamportClock,
    last: LastNumber,
    crashed: ProcessSet,
    /// All messages received so far.
    known: SortedMap<(ProcessId, u64), KnownMessage<B>>,
    /// The undelivered messages, in the order of their timestamps.
    queue: SortedSet<(Stamp, ProcessId, u64)>,
    /// This process's own messages for which proposals are missing.
    collecting: SortedMap<u64, Collection>,
    /// Crashed processes whose messages are ignored from now on, and the floor promised for the messages missing here.
    floors: SortedMap<ProcessId, Stamp>,
    /// Crashed processes whose messages are all settled.
    resolved: ProcessSet,
    /// The last process that acted as coordinator here. It believes that all processes with smaller numbers have crashed.
    coordinator: ProcessId,
    /// As coordinator: the inquiries about crashed processes.
    inquiries: SortedMap<ProcessId, Inquiry<B>>,
}

/// The state of a message at this process.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct KnownMessage<B> {
    place: Stamp,
    agreed: bool,
    body: B,
}

/// The proposals for a message: the processes whose proposal is missing, and the latest of the received ones.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Collection {
    missing: ProcessSet,
    latest: Stamp,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Inquiry<B> {
    missing: ProcessSet,
    reports: Vec<Report<B>>,
}

/// The messages that a process has of a crashed one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Report<B> {
    /// `None` means that all messages of the crashed process are settled.
    floor: Option<Stamp>,
    messages: Vec<Item<B>>,
}

/// A message of a crashed process.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Item<B> {
    id: u64,
    place: Stamp,
    agreed: bool,
    body: B,
}

/// The messages of the protocol.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message<B = Content> {
    /// A new message of the sender. Asks for a proposed timestamp.
    Send(u64, B),
    /// Proposes a timestamp for a message of the receiver.
    Proposed(u64, Stamp),
    /// Fixes the timestamp of a message of the sender.
    Agreed(u64, Stamp),
    /// Asks for all messages of this process, which has crashed.
    Inquire(ProcessId),
    /// Reports the messages of this process that the sender has.
    Report(ProcessId, Report<B>),
    /// Fixes the complete set of messages of this process, with their timestamps.
    Resolve(ProcessId, Vec<Item<B>>),
}

impl<B: Body> TotalIsis<B> {
    /// Creates process `id` of `n`.
    pub fn new(n: usize, id: ProcessId) -> Self {
        Self {
            id,
            n,
            latest: LamportClock::default(),
            last: LastNumber::default(),
            crashed: ProcessSet::new(),
            known: SortedMap::new(),
            queue: SortedSet::new(),
            collecting: SortedMap::new(),
            floors: SortedMap::new(),
            resolved: ProcessSet::new(),
            coordinator: ProcessId::new(0),
            inquiries: SortedMap::new(),
        }
    }

    /// A timestamp later than all that this process knows.
    fn propose(&mut self) -> Stamp {
        Stamp { time: self.latest.tick(), process: self.id }
    }

    /// Adds a new message to the queue, with a proposed timestamp, and returns the timestamp.
    fn receive(&mut self, origin: ProcessId, id: u64, body: B) -> Stamp {
        let place = self.propose();
        self.known.insert((origin, id), KnownMessage { place, agreed: false, body });
        self.queue.insert((place, origin, id));
        place
    }

    /// Fixes the timestamp of a message.
    fn settle(&mut self, origin: ProcessId, id: u64, place: Stamp) {
        let Some(message) = self.known.get_mut(&(origin, id)) else { return };
        if message.agreed {
            return;
        }
        self.queue.remove(&(message.place, origin, id));
        self.queue.insert((place, origin, id));
        (message.place, message.agreed) = (place, true);
        self.latest.merge(place.time);
    }

    /// Delivers agreed messages from the front of the queue, up to the lowest floor: a message of a crashed process may
    /// still get a timestamp beyond that floor.
    fn deliver(&mut self, out: &mut Effects<Self>) {
        let floor = self.floors.values().min().copied();
        while let Some(&(place, origin, id)) = self.queue.first() {
            let first = self.known.get(&(origin, id)).filter(|message| message.agreed);
            let Some(body) = first.map(|message| message.body.clone()) else { return };
            if floor.is_some_and(|floor| floor < place) {
                return;
            }
            self.queue.pop_first();
            out.output(Output::Delivered { origin, id, body });
        }
    }

    fn on_proposed(&mut self, from: ProcessId, id: u64, place: Stamp, out: &mut Effects<Self>) {
        let Some(collection) = self.collecting.get_mut(&id) else { return };
        if collection.missing.remove(from) {
            collection.latest = collection.latest.max(place);
            self.agree(out);
        }
    }

    /// Fixes the timestamps of this process's messages for which all proposals have arrived.
    fn agree(&mut self, out: &mut Effects<Self>) {
        let complete = |(_, collection): &(&u64, &Collection)| collection.missing.is_empty();
        while let Some((&id, collection)) = self.collecting.iter().find(complete) {
            let place = collection.latest;
            self.collecting.remove(&id);
            out.send_to_others(Message::Agreed(id, place));
            self.settle(self.id, id, place);
        }
        self.deliver(out);
    }

    fn is_coordinator(&self) -> bool {
        ProcessId::all(self.n).find(|process| !self.crashed.contains(*process)) == Some(self.id)
    }

    /// Reports the messages of a crashed process, and stops accepting more of them.
    fn report(&mut self, crashed: ProcessId) -> Report<B> {
        let floor = (!self.resolved.contains(crashed)).then(|| match self.floors.get(&crashed) {
            Some(floor) => *floor,
            None => {
                let floor = self.propose();
                self.floors.insert(crashed, floor);
                floor
            }
        });
        Report { floor, messages: self.messages_of(crashed) }
    }

    fn messages_of(&self, origin: ProcessId) -> Vec<Item<B>> {
        let all = self.known.range((origin, 0)..=(origin, u64::MAX));
        let item = |(&(_, id), message): (&(ProcessId, u64), &KnownMessage<B>)| {
            let KnownMessage { place, agreed, body } = message.clone();
            Item { id, place, agreed, body }
        };
        all.map(item).collect()
    }

    /// As coordinator: inquires about crashed processes, or passes on the messages of those already settled here.
    fn take_charge(&mut self, out: &mut Effects<Self>) {
        if !self.is_coordinator() {
            return;
        }
        self.coordinator = self.id;
        let others = &ProcessSet::others(self.n, self.id) - &self.crashed;
        for crashed in &self.crashed.clone() {
            if self.inquiries.contains_key(&crashed) {
                continue;
            }
            let report = self.report(crashed);
            let mut missing = others.clone();
            if report.floor.is_some() {
                out.multicast(others.clone(), Message::Inquire(crashed));
            } else {
                out.multicast(others.clone(), Message::Resolve(crashed, report.messages.clone()));
                missing.clear();
            }
            self.inquiries.insert(crashed, Inquiry { missing, reports: alloc::vec![report] });
        }
        self.conclude(out);
    }

    /// Settles the messages of crashed processes about which all live processes have reported.
    fn conclude(&mut self, out: &mut Effects<Self>) {
        let mut concluded = Vec::new();
        for (crashed, inquiry) in &self.inquiries {
            if inquiry.missing.is_empty() && !self.resolved.contains(*crashed) {
                concluded.push((*crashed, places(&inquiry.reports)));
            }
        }
        for (crashed, items) in concluded {
            let others = &ProcessSet::others(self.n, self.id) - &self.crashed;
            out.multicast(others, Message::Resolve(crashed, items.clone()));
            self.resolve(crashed, items, out);
        }
    }

    fn resolve(&mut self, crashed: ProcessId, items: Vec<Item<B>>, out: &mut Effects<Self>) {
        if !self.resolved.insert(crashed) {
            return;
        }
        self.floors.remove(&crashed);
        let ids: SortedSet<u64> = items.iter().map(|item| item.id).collect();
        self.queue.retain(|(_, origin, id)| *origin != crashed || ids.contains(id));
        self.known.retain(|(origin, id), _| *origin != crashed || ids.contains(id));
        for Item { id, place, body, .. } in items {
            let unknown = KnownMessage { place, agreed: false, body };
            self.known.entry((crashed, id)).or_insert(unknown);
            self.settle(crashed, id, place);
        }
        self.deliver(out);
    }
}

/// Determines the timestamps of a crashed process's messages from the reports of all live processes.
fn places<B: Body>(reports: &[Report<B>]) -> Vec<Item<B>> {
    if let Some(settled) = reports.iter().find(|report| report.floor.is_none()) {
        return settled.messages.clone();
    }
    let mut items: SortedMap<u64, Item<B>> = SortedMap::new();
    for item in reports.iter().flat_map(|report| &report.messages) {
        let known = items.entry(item.id).or_insert_with(|| item.clone());
        if item.agreed {
            known.clone_from(item);
        }
    }
    for item in items.values_mut().filter(|item| !item.agreed) {
        let place = |report: &Report<B>| {
            let own = report.messages.iter().find(|own| own.id == item.id);
            own.map(|own| own.place).or(report.floor)
        };
        item.place = reports.iter().filter_map(place).max().unwrap_or(item.place);
        item.agreed = true;
    }
    items.into_values().collect()
}

impl<B: Body> Process for TotalIsis<B> {
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
        let latest = self.receive(self.id, id, body.clone());
        let missing = &ProcessSet::others(self.n, self.id) - &self.crashed;
        self.collecting.insert(id, Collection { missing, latest });
        out.send_to_others(Message::Send(id, body));
        self.agree(out);
        Ok(())
    }

    fn on_message(&mut self, from: ProcessId, message: Message<B>, out: &mut Effects<Self>) {
        let closed = self.crashed.contains(from)
            || self.floors.contains_key(&from)
            || self.resolved.contains(from);
        if closed {
            return out.ignored("a word of one who has crashed");
        }
        match message {
            Message::Send(id, body) => {
                if !self.known.contains_key(&(from, id)) {
                    let place = self.receive(from, id, body);
                    out.send(from, Message::Proposed(id, place));
                }
            }
            Message::Proposed(id, place) => self.on_proposed(from, id, place, out),
            Message::Agreed(id, place) => {
                self.settle(from, id, place);
                self.deliver(out);
            }
            // A process that has reported to a coordinator must not act on the result of an earlier one.
            Message::Inquire(_) | Message::Resolve(..) if from < self.coordinator => {
                out.ignored("a word of an earlier coordinator");
            }
            Message::Inquire(crashed) if crashed != self.id => {
                self.coordinator = from;
                let report = self.report(crashed);
                out.send(from, Message::Report(crashed, report));
            }
            Message::Report(crashed, report) => {
                let Some(inquiry) = self.inquiries.get_mut(&crashed) else { return };
                if inquiry.missing.remove(from) {
                    inquiry.reports.push(report);
                    self.conclude(out);
                }
            }
            Message::Resolve(crashed, items) if crashed != self.id => {
                self.coordinator = from;
                self.resolve(crashed, items, out);
            }
            Message::Inquire(_) | Message::Resolve(..) => {
                out.ignored("news of its own crash");
            }
        }
    }

    fn on_belief(&mut self, belief: Belief, out: &mut Effects<Self>) {
        match belief {
            Belief::Crashed(process) => {
                self.crashed.insert(process);
                for collection in self.collecting.values_mut() {
                    collection.missing.remove(process);
                }
                for inquiry in self.inquiries.values_mut() {
                    inquiry.missing.remove(process);
                }
                self.agree(out);
                self.conclude(out);
                self.take_charge(out);
            }
            Belief::Alive(process) => {
                self.crashed.remove(process);
            }
        }
    }

    fn waits_for(&self) -> ProcessSet {
        let mut awaited = ProcessSet::new();
        let collecting = self.collecting.values().map(|collection| &collection.missing);
        let inquiring = self.inquiries.values().map(|inquiry| &inquiry.missing);
        collecting.chain(inquiring).for_each(|missing| awaited.union_with(missing));
        awaited.extend(self.queue.first().map(|(_, origin, _)| *origin));
        awaited.remove(self.id);
        awaited
    }
}

impl<B: Body> quorate_core::Message for Message<B> {
    const KINDS: &'static [Kind] = &[
        Kind::multicast("SEND"),
        Kind::multicast("PROPOSED"),
        Kind::multicast("AGREED"),
        Kind::multicast("INQUIRE"),
        Kind::multicast("REPORT"),
        Kind::multicast("RESOLVE"),
    ];

    fn kind(&self) -> usize {
        match self {
            Self::Send(..) => 0,
            Self::Proposed(..) => 1,
            Self::Agreed(..) => 2,
            Self::Inquire(_) => 3,
            Self::Report(..) => 4,
            Self::Resolve(..) => 5,
        }
    }

    /// A lying process changes the timestamp, or the number if there is no timestamp.
    fn forged(&self, choice: u64) -> Self {
        let lie = choice % 8;
        match self.clone() {
            Self::Send(_, body) => Self::Send(lie, body),
            Self::Proposed(id, place) => Self::Proposed(id, Stamp { time: lie, ..place }),
            Self::Agreed(id, place) => Self::Agreed(id, Stamp { time: lie, ..place }),
            other => other,
        }
    }
}

impl Algorithm for TotalIsis {
    const PROFILE: Profile = Profile {
        name: "total-isis",
        layer: Layer::Multicast,
        summary: "every process proposes a timestamp, the sender takes the latest",
        source: "Birman, Joseph, ACM TOCS 5(1), 1987",
        specimen: None,
        assumes: &[
            Assumption::NoLoss,
            Assumption::CrashStop,
            Assumption::PerfectDetector,
            Assumption::Honesty,
        ],
        guarantees: &[
            Property::DeliveryValidity,
            Property::DeliveryIntegrity,
            Property::DeliveryAgreement,
            Property::TotalOrder,
        ],
        cost: "3(n - 1) messages per multicast",
        never_quiescent: false,
    };

    const GROUPS: bool = false;

    fn build(setup: &Setup, id: ProcessId) -> Self {
        Self { latest: setup.clock(id), ..Self::new(setup.n, id) }
    }

    fn cost(setup: &Setup) -> Cost {
        Cost::exact("3(n - 1)", 3 * (setup.n as u64 - 1))
            .with_delays(3..=3, 0..=0)
            .without_delays_if_single(setup.n)
    }
}

impl Sound for TotalIsis {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn news_of_its_own_crash_is_ignored() {
        let me = ProcessId::new(1);
        for message in [Message::Inquire(me), Message::Resolve(me, Vec::new())] {
            let (mut process, mut out) = (TotalIsis::<Content>::new(3, me), Effects::default());
            process.on_message(ProcessId::new(0), message, &mut out);
            assert_eq!(process, TotalIsis::new(3, me));
        }
    }
}
