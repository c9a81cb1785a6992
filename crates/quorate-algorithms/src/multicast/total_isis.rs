//! Total order by collective agreement on timestamps: everybody proposes a place for a message, and the sender takes the
//! latest.
//!
//! - **Source**: Birman and Joseph, "Reliable Communication in the Presence of Failures", ACM TOCS 5(1), 1987 (ABCAST, of
//!   ISIS); Coulouris et al., 5th edition, section 15.4.3.
//! - **Assumes**: a perfect detector; crashes without return, of anybody; links that lose nothing. Any order of
//!   messages, duplicates do no harm.
//! - **Guarantees**: validity, integrity, agreement and total order, also among the survivors of a sender that crashes in
//!   the middle. Neither FIFO nor causal order: a later message may be given an earlier place. What only processes have
//!   delivered that then crash, the others may deliver in another order or not at all.
//! - **Costs**: 3(n - 1) messages; three message delays. For each crash up to 3(n - 1) more.
//! - **Departs from the paper**: the live process with the smallest number finishes what the crashed have begun, for all
//!   of their messages at once, and messages are kept for ever, where the paper lets any receiver do it and forgets
//!   messages that all have. A proposal names its proposer, so that no two messages get the same place.
//!
//! A message waits in the queue at the place that was proposed here until it is AGREED, and what is first and agreed is
//! delivered. When the sender crashes, the coordinator asks everybody what it has of the crashed (INQUIRE, REPORT). One
//! who lacks a message reports a floor instead of a place and delivers nothing beyond it. What somebody has as agreed
//! stays so; else the latest of all places and floors is taken (RESOLVE). What nobody live has is lost for all.

use alloc::collections::{BTreeMap, BTreeSet};
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
pub struct TotalIsis<B = ()> {
    id: ProcessId,
    n: usize,
    /// The latest place that was proposed here or agreed on anywhere.
    latest: LamportClock,
    last: LastNumber,
    crashed: ProcessSet,
    /// All messages that have been here.
    known: BTreeMap<(ProcessId, u64), KnownMessage<B>>,
    /// Those that have not been delivered, in the order of their places.
    queue: BTreeSet<(Stamp, ProcessId, u64)>,
    /// Its own messages, until all places are proposed.
    collecting: BTreeMap<u64, Collection>,
    /// The crashed to whom it listens no more, and the floor that it has promised for what it lacks of them.
    floors: BTreeMap<ProcessId, Stamp>,
    /// The crashed whose messages are all settled.
    resolved: ProcessSet,
    /// The latest process to have acted as coordinator here. It believes all smaller ones to have crashed.
    coordinator: ProcessId,
    /// As coordinator: what it is finding out, about whom.
    inquiries: BTreeMap<ProcessId, Inquiry<B>>,
}

/// What is known of a message here.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct KnownMessage<B> {
    place: Stamp,
    agreed: bool,
    body: B,
}

/// The places proposed for a message: whose are missing, and the latest of the others.
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

/// What a process has of a crashed one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Report<B> {
    /// No floor means that all is settled there.
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

/// What processes say.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message<B = ()> {
    /// A message of mine; propose a place for it.
    Send(u64, B),
    /// For your message, this place.
    Proposed(u64, Stamp),
    /// My message has this place.
    Agreed(u64, Stamp),
    /// This process has crashed: what have you of it?
    Inquire(ProcessId),
    /// Of this process I have that.
    Report(ProcessId, Report<B>),
    /// These messages of this process are all there will be, and these are their places.
    Resolve(ProcessId, Vec<Item<B>>),
}

impl<B: Body> TotalIsis<B> {
    /// Process `id` of n.
    pub fn new(n: usize, id: ProcessId) -> Self {
        Self {
            id,
            n,
            latest: LamportClock::default(),
            last: LastNumber::default(),
            crashed: ProcessSet::new(),
            known: BTreeMap::new(),
            queue: BTreeSet::new(),
            collecting: BTreeMap::new(),
            floors: BTreeMap::new(),
            resolved: ProcessSet::new(),
            coordinator: ProcessId::new(0),
            inquiries: BTreeMap::new(),
        }
    }

    /// A place after all that it knows of.
    fn propose(&mut self) -> Stamp {
        Stamp { time: self.latest.tick(), process: self.id }
    }

    /// Puts a new message into the queue, at a place of its own.
    fn receive(&mut self, origin: ProcessId, id: u64, body: B) -> Stamp {
        let place = self.propose();
        self.known.insert((origin, id), KnownMessage { place, agreed: false, body });
        self.queue.insert((place, origin, id));
        place
    }

    /// Gives a message its place.
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

    /// Delivers what is first and agreed, but nothing that a message of the crashed may yet come before.
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

    /// Agrees on a place for those of its messages for which everybody has proposed one.
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

    /// What it has of a crashed process, to which it listens no more.
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

    /// As coordinator: finds out about the crashed, or passes on what it knows for good.
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

    /// Settles the messages of those about whom everybody has reported.
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
        let ids: BTreeSet<u64> = items.iter().map(|item| item.id).collect();
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

/// The places of a crashed process's messages, from what everybody live has of it.
fn places<B: Body>(reports: &[Report<B>]) -> Vec<Item<B>> {
    if let Some(settled) = reports.iter().find(|report| report.floor.is_none()) {
        return settled.messages.clone();
    }
    let mut items: BTreeMap<u64, Item<B>> = BTreeMap::new();
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
            // Who has reported to a coordinator must not act on what an earlier one had found.
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

    /// A liar changes the place, or the number where there is none.
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
        summary: "everybody proposes a timestamp, the sender takes the latest",
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
