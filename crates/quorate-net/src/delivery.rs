//! The books of one link: what was sent and not acknowledged, what has arrived. No I/O.
//!
//! Messages are counted from 1 for each pair of lives. What is queued and what was sent but not acknowledged is one queue:
//! a new connection begins where the other side says that it is, and what it has twice is dropped.

use std::collections::VecDeque;

use bytes::{Bytes, BytesMut};

use crate::frame::{Body, Frame};
use crate::hello::{Incarnation, Received};
use crate::limits::MESSAGE_OVERHEAD;
use crate::refusal::{Refusal, RefusalReason};

/// So many messages are acknowledged without waiting for one to ride on.
const MAX_UNACKED: u64 = 64;

/// What a message counts in a queue.
pub(crate) const fn cost(payload: &Bytes) -> usize {
    payload.len() + MESSAGE_OVERHEAD
}

#[derive(Debug)]
pub(crate) struct DeliveryState {
    queue: VecDeque<Bytes>,
    /// The number of the first message of the queue.
    first: u64,
    /// The number of the next message that goes over this connection.
    next: u64,
    /// The largest number that ever went over a connection.
    sent: u64,
    peer_incarnation: Option<Incarnation>,
    received: u64,
    /// How many the other side was told that we have received.
    acknowledged: u64,
}

/// What a meeting has changed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Reconciliation {
    /// How much room there is again in the queue.
    pub(crate) freed: usize,
    /// How many messages were dropped because they were meant for an earlier life.
    pub(crate) dropped: usize,
}

/// What to do with a message that has arrived.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Arrival {
    /// It is the next one.
    New,
    /// It was here before.
    Duplicate,
}

/// What no honest peer says.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ProtocolViolation {
    #[error("message {got} where {expected} was next")]
    Gap { got: u64, expected: u64 },
    #[error("an acknowledgement of {0} messages, which were not sent")]
    Acknowledged(u64),
}

impl DeliveryState {
    pub(crate) const fn new() -> Self {
        Self {
            queue: VecDeque::new(),
            first: 1,
            next: 1,
            sent: 0,
            peer_incarnation: None,
            received: 0,
            acknowledged: 0,
        }
    }

    pub(crate) fn push(&mut self, payload: Bytes) {
        self.queue.push_back(payload);
    }

    pub(crate) fn queued(&self) -> usize {
        self.queue.len()
    }

    pub(crate) const fn peer_incarnation(&self) -> Option<Incarnation> {
        self.peer_incarnation
    }

    /// What has arrived of their life, to be said in a first word.
    pub(crate) fn received(&self) -> Option<Received> {
        self.peer_incarnation.map(|from| Received { from, messages: self.received })
    }

    /// Forgets what has never gone over a connection. What has may have arrived, and its number is taken.
    pub(crate) fn drop_unsent(&mut self) {
        self.queue.truncate((self.sent + 1 - self.first) as usize);
    }

    /// How much of the queue's room is taken.
    pub(crate) fn cost(&self) -> usize {
        self.queue.iter().map(cost).sum()
    }

    /// A connection begins: they say which life they are in, and what they have received of this one of ours.
    pub(crate) fn reconcile(
        &mut self,
        own_incarnation: Incarnation,
        peer_incarnation: Incarnation,
        received: Option<Received>,
    ) -> Result<Reconciliation, Refusal> {
        if let Some(known) = self.peer_incarnation.filter(|&known| peer_incarnation < known) {
            let detail = format!(
                "its incarnation {peer_incarnation} is over, incarnation {known} has been here"
            );
            return Err(Refusal::new(RefusalReason::StaleIncarnation, detail));
        }
        let restarted = self.peer_incarnation.is_some_and(|known| known != peer_incarnation);
        let (first, sent) = if restarted { (1, 0) } else { (self.first, self.sent) };
        let arrived = received
            .filter(|received| received.from == own_incarnation)
            .map_or(0, |received| received.messages);
        if arrived > sent || arrived + 1 < first {
            let detail = format!(
                "it says that it has received {arrived} messages, where {sent} were sent and {} acknowledged",
                first - 1
            );
            return Err(Refusal::new(RefusalReason::SequenceMismatch, detail));
        }
        let mut reconciliation = Reconciliation { freed: 0, dropped: 0 };
        if restarted {
            reconciliation.dropped = self.queue.len();
            reconciliation.freed = self.cost();
            *self = Self::new();
        } else {
            reconciliation.freed = self.drop_acknowledged(arrived);
        }
        self.peer_incarnation = Some(peer_incarnation);
        self.next = self.first;
        self.acknowledged = self.received;
        Ok(reconciliation)
    }

    /// Frames of what has not gone over this connection, until there are so many bytes.
    pub(crate) fn write(&mut self, into: &mut BytesMut, enough: usize) {
        while into.len() < enough {
            let Some(payload) = self.queue.get((self.next - self.first) as usize) else { return };
            let body = Body::Data { sequence: self.next, payload };
            Frame { acknowledged: self.received, body }.encode(into);
            self.acknowledged = self.received;
            self.sent = self.sent.max(self.next);
            self.next += 1;
        }
    }

    /// A frame that says no more than what has arrived.
    pub(crate) fn write_control(&mut self, body: Body<'_>, into: &mut BytesMut) {
        Frame { acknowledged: self.received, body }.encode(into);
        self.acknowledged = self.received;
    }

    /// Whether an acknowledgement is owed.
    pub(crate) const fn owes_ack(&self) -> bool {
        self.received > self.acknowledged
    }

    /// Whether so many are owed that it should not wait.
    pub(crate) const fn ack_is_urgent(&self) -> bool {
        self.received - self.acknowledged >= MAX_UNACKED
    }

    /// They have received so many; how much room there is again.
    pub(crate) fn on_ack(&mut self, messages: u64) -> Result<usize, ProtocolViolation> {
        if messages > self.sent {
            return Err(ProtocolViolation::Acknowledged(messages));
        }
        Ok(self.drop_acknowledged(messages))
    }

    /// A message has arrived.
    pub(crate) fn on_data(&mut self, sequence: u64) -> Result<Arrival, ProtocolViolation> {
        let expected = self.received + 1;
        if sequence > expected {
            return Err(ProtocolViolation::Gap { got: sequence, expected });
        }
        if sequence < expected {
            return Ok(Arrival::Duplicate);
        }
        self.received = sequence;
        Ok(Arrival::New)
    }

    fn drop_acknowledged(&mut self, messages: u64) -> usize {
        let mut freed = 0;
        while self.first <= messages {
            let Some(payload) = self.queue.pop_front() else { break };
            freed += cost(&payload);
            self.first += 1;
        }
        self.next = self.next.max(self.first);
        freed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ME: Incarnation = Incarnation(5);
    const THEM: Incarnation = Incarnation(9);

    fn reconciled() -> DeliveryState {
        let mut delivery = DeliveryState::new();
        delivery.reconcile(ME, THEM, None).expect("a first meeting");
        delivery
    }

    fn send(delivery: &mut DeliveryState, payloads: &[&'static [u8]]) -> usize {
        payloads.iter().for_each(|payload| delivery.push(Bytes::from_static(payload)));
        let mut bytes = BytesMut::new();
        delivery.write(&mut bytes, usize::MAX);
        bytes.len()
    }

    #[test]
    fn what_was_not_received_is_sent_again_after_a_reconnection() {
        let mut delivery = reconciled();
        let all = send(&mut delivery, &[b"a", b"b", b"c"]);
        assert!(all > 0 && send(&mut delivery, &[]) == 0);
        let received = Received { from: ME, messages: 1 };
        let reconciliation = delivery.reconcile(ME, THEM, Some(received)).expect("the same life");
        assert_eq!(reconciliation, Reconciliation { freed: 1 + MESSAGE_OVERHEAD, dropped: 0 });
        assert_eq!(send(&mut delivery, &[]), all / 3 * 2);
    }

    #[test]
    fn what_was_queued_before_the_first_meeting_is_for_the_first_life() {
        let mut delivery = DeliveryState::new();
        delivery.push(Bytes::from_static(b"early"));
        assert_eq!(delivery.reconcile(ME, THEM, None), Ok(Reconciliation { freed: 0, dropped: 0 }));
        assert!(send(&mut delivery, &[]) > 0);
    }

    #[test]
    fn a_new_life_starts_from_nothing() {
        let mut delivery = reconciled();
        send(&mut delivery, &[b"a", b"b"]);
        assert_eq!(delivery.on_data(1), Ok(Arrival::New));
        let reconciliation = delivery.reconcile(ME, Incarnation(10), None).expect("a new life");
        assert_eq!(reconciliation.dropped, 2);
        assert_eq!(send(&mut delivery, &[]), 0);
        assert_eq!(delivery.received(), Some(Received { from: Incarnation(10), messages: 0 }));
        assert_eq!(delivery.on_data(1), Ok(Arrival::New));
    }

    #[test]
    fn a_life_that_is_over_is_refused_and_changes_nothing() {
        let mut delivery = reconciled();
        let refusal = delivery.reconcile(ME, Incarnation(8), None).expect_err("over");
        assert_eq!(refusal.reason, RefusalReason::StaleIncarnation);
        assert_eq!(delivery.peer_incarnation(), Some(THEM));
    }

    #[test]
    fn replays_are_dropped_and_gaps_refused() {
        let mut delivery = reconciled();
        assert_eq!(delivery.on_data(1), Ok(Arrival::New));
        assert_eq!(delivery.on_data(1), Ok(Arrival::Duplicate));
        assert_eq!(delivery.on_data(0), Ok(Arrival::Duplicate));
        assert_eq!(delivery.on_data(3), Err(ProtocolViolation::Gap { got: 3, expected: 2 }));
        assert_eq!(delivery.on_data(2), Ok(Arrival::New));
    }

    #[test]
    fn nobody_has_received_what_was_not_sent() {
        let mut delivery = reconciled();
        send(&mut delivery, &[b"a"]);
        assert_eq!(delivery.on_ack(2), Err(ProtocolViolation::Acknowledged(2)));
        assert_eq!(delivery.on_ack(1), Ok(1 + MESSAGE_OVERHEAD));
        let forgetful = delivery.reconcile(ME, THEM, None).expect_err("it has forgotten one");
        assert_eq!(forgetful.reason, RefusalReason::SequenceMismatch);
        let boastful = Received { from: ME, messages: 7 };
        assert_eq!(
            delivery.reconcile(ME, THEM, Some(boastful)).expect_err("no").reason,
            RefusalReason::SequenceMismatch
        );
    }

    #[test]
    fn what_was_received_of_another_life_of_ours_does_not_count() {
        let mut delivery = DeliveryState::new();
        let old = Received { from: Incarnation(4), messages: 100 };
        assert_eq!(
            delivery.reconcile(ME, THEM, Some(old)),
            Ok(Reconciliation { freed: 0, dropped: 0 })
        );
    }
}
