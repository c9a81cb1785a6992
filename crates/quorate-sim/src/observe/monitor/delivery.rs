//! Validity, integrity and agreement of a multicast, judged from one record of messages and deliveries.
//!
//! A message that every member has delivered is dropped from the record. Message numbers ascend, so a number that is
//! not in the record and not above the last one belongs to such a message. A message of a traitor enters the record when
//! it is first delivered, because a traitor may send messages that its user did not multicast. A process counts as live
//! if it has not crashed in the whole run and is not a traitor. Integrity is judged at each delivery, the other two at the end of the run. Cost: O(log m)
//! for each of m messages sent and each delivery, O(n / 64) at the end for each message still in the record.

use quorate_core::definition::multicast::{
    IntegrityBreach, broken_by_omission, conflict, integrity_breach, may_have_sent,
};
use quorate_core::multicast::{Body as _, Content, Group};
use quorate_core::{ProcessId, ProcessSet, Property, SortedMap, Span, Time};

use super::violation::{Evidence, Violation, name_all};
use crate::engine::Ending;
use crate::engine::observer::Moment;

/// Monitor of the deliveries of n processes.
#[derive(Clone, Debug)]
pub(crate) struct Deliveries {
    n: usize,
    sent: SortedMap<(ProcessId, u64), MulticastRecord>,
    /// Number of the last message of each sender.
    last: SortedMap<ProcessId, u64>,
    messages: u64,
    /// Number of messages that every member has delivered.
    done: u64,
    traitors: ProcessSet,
    /// Processes that have crashed at any time, and traitors. Nothing is expected of them.
    discounted: ProcessSet,
    /// Processes that have lost their memory. They may deliver messages again.
    forgetful: ProcessSet,
    count: u64,
    validity: Option<Violation>,
    integrity: Option<Violation>,
    agreement: Option<Violation>,
    /// Whether the run was stopped before validity and agreement could be judged.
    open: bool,
}

/// A message, and the members that have delivered it.
#[derive(Clone, Debug)]
struct MulticastRecord {
    at: Moment,
    to: Group,
    delivered: ProcessSet,
    /// The first delivery by each member, up to `EVIDENCE_MOST` of them for each content.
    first: Vec<(Moment, Content)>,
}

/// Maximum number of deliveries of a message that are kept as evidence.
const EVIDENCE_MOST: usize = 64;

impl Deliveries {
    pub(crate) fn new(n: usize, traitors: ProcessSet) -> Self {
        Self {
            n,
            sent: SortedMap::new(),
            last: SortedMap::new(),
            messages: 0,
            done: 0,
            discounted: traitors.clone(),
            traitors,
            forgetful: ProcessSet::new(),
            count: 0,
            validity: None,
            integrity: None,
            agreement: None,
            open: false,
        }
    }

    pub(crate) fn sent(&mut self, at: Moment, id: u64, to: Group) {
        let sent = MulticastRecord { at, to, delivered: ProcessSet::new(), first: Vec::new() };
        self.sent.insert((at.process, id), sent);
        self.last.insert(at.process, id);
        self.messages += 1;
    }

    /// Records a delivery. Returns the time at which the message was multicast, if that is in the record.
    pub(crate) fn delivered(
        &mut self,
        at: Moment,
        origin: ProcessId,
        id: u64,
        content: Content,
    ) -> Option<Time> {
        self.count += 1;
        let description = format!("message {id} of {origin}{}", described(content));
        let honest = !self.traitors.contains(origin);
        let invented = !honest && !self.sent.contains_key(&(origin, id));
        if invented {
            let (to, delivered, first) = (Group::All, ProcessSet::new(), Vec::new());
            self.sent.insert((origin, id), MulticastRecord { at, to, delivered, first });
        }
        let Some(sent) = self.sent.get_mut(&(origin, id)) else {
            // A message that every member has delivered is no longer in the record.
            let done = self.last.get(&origin).is_some_and(|last| id <= *last);
            let may = may_have_sent(honest, done, content);
            let duplicate = done && !self.forgetful.contains(at.process);
            self.judge(at, &description, integrity_breach(may, true, duplicate));
            return None;
        };
        let time = sent.at.time;
        let addressed = sent.to.contains(at.process);
        let duplicate = addressed && !sent.delivered.insert(at.process);
        let may = may_have_sent(honest, true, content);
        let breach = integrity_breach(may, addressed, duplicate);
        let same = || sent.first.iter().filter(|(_, other)| *other == content).count();
        if breach.is_none() && same() < EVIDENCE_MOST {
            sent.first.push((at, content));
        }
        self.judge(at, &description, breach);
        let kept = self.sent.get(&(origin, id));
        if kept.is_some_and(|sent| sent.delivered.len() == sent.to.size(self.n)) {
            self.sent.remove(&(origin, id));
            self.done += 1;
        }
        (!invented).then_some(time)
    }

    pub(crate) fn crashed(&mut self, process: ProcessId) {
        self.discounted.insert(process);
    }

    /// A process that has lost its memory may deliver messages again.
    pub(crate) fn forgot(&mut self, process: ProcessId) {
        self.forgetful.insert(process);
        for sent in self.sent.values_mut() {
            sent.delivered.remove(process);
        }
    }

    /// Judges the end of a run. A message sent longer than `patience`
    /// ago should be delivered everywhere even if the run was stopped.
    pub(crate) fn end(&mut self, now: Time, ending: Ending, patience: Option<Span>) {
        let complete = matches!(ending, Ending::Quiescent | Ending::Content);
        for ((origin, id), sent) in &self.sent {
            if let Some(violation) = self.conflicting(*origin, *id, sent, now) {
                self.agreement.get_or_insert(violation);
            }
            let mut missing = &sent.to.members(self.n) - &sent.delivered;
            missing.subtract(&self.discounted);
            let by_live = self.by_live(sent).map(|(at, _)| at).next();
            let sender_lives = !self.discounted.contains(*origin);
            let broken: Vec<Property> =
                broken_by_omission(sender_lives, by_live.is_some()).collect();
            if missing.is_empty() || broken.is_empty() {
                continue;
            }
            if !complete && patience.is_none_or(|patience| now - sent.at.time <= patience) {
                self.open = true;
                continue;
            }
            let names = name_all(&missing);
            let mut events = vec![Evidence::new(sent.at, format!("multicast message {id}"))];
            if broken.contains(&Property::DeliveryValidity) {
                self.validity.get_or_insert_with(|| Violation {
                    property: Property::DeliveryValidity,
                    time: now,
                    detail: format!(
                        "{names} did not deliver message {id} of {origin}, multicast at {}",
                        sent.at.time
                    ),
                    events: events.clone(),
                });
            }
            if let Some(by) = by_live.filter(|_| broken.contains(&Property::DeliveryAgreement)) {
                events.push(Evidence::new(by, format!("delivered message {id} of {origin}")));
                self.agreement.get_or_insert_with(|| Violation {
                    property: Property::DeliveryAgreement,
                    time: now,
                    detail: format!(
                        "{names} did not deliver message {id} of {origin}, which {} delivered at {}",
                        by.process, by.time
                    ),
                    events,
                });
            }
        }
    }

    /// Deliveries of a message by live processes.
    fn by_live(&self, sent: &MulticastRecord) -> impl Iterator<Item = (Moment, Content)> {
        let live = |(at, _): &(Moment, Content)| !self.discounted.contains(at.process);
        sent.first.iter().copied().filter(live)
    }

    /// Two live processes that delivered different contents of a message.
    fn conflicting(
        &self,
        origin: ProcessId,
        id: u64,
        sent: &MulticastRecord,
        now: Time,
    ) -> Option<Violation> {
        let deliveries = self.by_live(sent).map(|delivery| (delivery, delivery.1));
        let (one, other) = conflict(deliveries)?;
        let event = |(at, content): (Moment, Content)| {
            Evidence::new(at, format!("delivered message {id} of {origin}{}", described(content)))
        };
        Some(Violation {
            property: Property::DeliveryAgreement,
            time: now,
            detail: format!(
                "{} and {} delivered different contents of message {id} of {origin}",
                one.0.process, other.0.process
            ),
            events: vec![event(one), event(other)],
        })
    }

    pub(crate) fn validity(&self) -> Option<&Violation> {
        self.validity.as_ref()
    }

    pub(crate) fn integrity(&self) -> Option<&Violation> {
        self.integrity.as_ref()
    }

    pub(crate) fn agreement(&self) -> Option<&Violation> {
        self.agreement.as_ref()
    }

    pub(crate) fn is_open(&self) -> bool {
        self.open
    }

    /// Number of deliveries by all processes.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// Number of messages that were multicast.
    pub(crate) fn messages(&self) -> u64 {
        self.messages
    }

    /// Number of messages that all their members have delivered, except members that have crashed and traitors.
    pub(crate) fn everywhere(&self) -> u64 {
        let whole = |sent: &&MulticastRecord| {
            let mut missing = &sent.to.members(self.n) - &sent.delivered;
            missing.subtract(&self.discounted);
            missing.is_empty()
        };
        self.done + self.sent.values().filter(whole).count() as u64
    }

    fn judge(&mut self, at: Moment, message: &str, breach: Option<IntegrityBreach>) {
        let why = match breach {
            None => return,
            Some(IntegrityBreach::NotSent) => ", which was not multicast",
            Some(IntegrityBreach::NotAddressed) => ", which was not for it",
            Some(IntegrityBreach::Duplicate) => " twice",
        };
        self.integrity.get_or_insert_with(|| Violation {
            property: Property::DeliveryIntegrity,
            time: at.time,
            detail: format!("{} delivered {message}{why}, at {}", at.process, at.time),
            events: vec![Evidence::new(at, format!("delivered {message}{why}"))],
        });
    }
}

/// The content of a message in words, if it is not the one that a correct sender gives to it.
fn described(content: Content) -> String {
    if content.is_shown() { format!(" with content {}", content.0) } else { String::new() }
}
