//! Delivery state of one link: messages that are not acknowledged, and the count of received ones. No I/O.
//!
//! Messages are numbered from 1 for each pair of incarnations. Queued messages and sent but unacknowledged ones form one
//! queue. A new connection starts after the last message that the peer reports as received, and duplicates are dropped.

use std::collections::VecDeque;

use bytes::{Bytes, BytesMut};

use crate::frame::{Body, Frame};
use crate::hello::{Incarnation, Received};
use crate::limits::MESSAGE_OVERHEAD;
use crate::refusal::{Refusal, RefusalReason};

/// Number of received messages after which an acknowledgement is sent without waiting to be piggybacked.
const MAX_UNACKED: u64 = 64;

/// Cost of a message in a queue, in bytes.
pub(crate) const fn cost(payload: &Bytes) -> usize {
    payload.len() + MESSAGE_OVERHEAD
}

#[derive(Debug)]
pub(crate) struct DeliveryState {
    queue: VecDeque<Bytes>,
    /// Sequence number of the first message in the queue.
    first: u64,
    /// Sequence number of the next message to be sent over this connection.
    next: u64,
    /// Greatest sequence number ever sent over any connection.
    sent: u64,
    peer_incarnation: Option<Incarnation>,
    received: u64,
    /// Number of received messages that the peer has been informed of.
    acknowledged: u64,
}

/// Result of a reconciliation with the peer at the start of a connection.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Reconciliation {
    /// Capacity of the queue that was freed, in bytes.
    pub(crate) freed: usize,
    /// Number of messages dropped because they were queued for an earlier incarnation.
    pub(crate) dropped: usize,
}

/// Classification of a message that has arrived.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Arrival {
    /// The message is the next one.
    New,
    /// The message has been received before.
    Duplicate,
}

/// A violation of the protocol by the peer.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ProtocolViolation {
    #[error("message {got} instead of {expected}")]
    Gap { got: u64, expected: u64 },
    #[error("an acknowledgement of {0} messages that were not sent")]
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

    /// Incarnation of the peer and number of messages received from it, for the handshake.
    pub(crate) fn received(&self) -> Option<Received> {
        self.peer_incarnation.map(|from| Received { from, messages: self.received })
    }

    /// Drops the messages that were never sent. A sent message may have been received, and its sequence number is taken.
    pub(crate) fn drop_unsent(&mut self) {
        self.queue.truncate((self.sent + 1 - self.first) as usize);
    }

    /// Capacity of the queue in use, in bytes.
    pub(crate) fn cost(&self) -> usize {
        self.queue.iter().map(cost).sum()
    }

    /// Starts a connection. Compares the peer's incarnation with the known one, and the number of messages that the peer
    /// has received from our incarnation with the number sent.
    pub(crate) fn reconcile(
        &mut self,
        own_incarnation: Incarnation,
        peer_incarnation: Incarnation,
        received: Option<Received>,
    ) -> Result<Reconciliation, Refusal> {
        if let Some(known) = self.peer_incarnation.filter(|&known| peer_incarnation < known) {
            let detail = format!(
                "incarnation {peer_incarnation} is stale: incarnation {known} has already connected"
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
                "{arrived} messages reported as received, but {sent} were sent and {} acknowledged",
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

    /// Writes frames of messages not yet sent over this connection, until `into` contains at least `enough` bytes.
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

    /// Writes a frame without a message, which carries only the acknowledgement.
    pub(crate) fn write_control(&mut self, body: Body<'_>, into: &mut BytesMut) {
        Frame { acknowledged: self.received, body }.encode(into);
        self.acknowledged = self.received;
    }

    /// Whether received messages have not been acknowledged yet.
    pub(crate) const fn owes_ack(&self) -> bool {
        self.received > self.acknowledged
    }

    /// Whether the acknowledgement should not wait to be piggybacked.
    pub(crate) const fn ack_is_urgent(&self) -> bool {
        self.received - self.acknowledged >= MAX_UNACKED
    }

    /// Handles an acknowledgement of this number of messages; returns the freed capacity in bytes.
    pub(crate) fn on_ack(&mut self, messages: u64) -> Result<usize, ProtocolViolation> {
        if messages > self.sent {
            return Err(ProtocolViolation::Acknowledged(messages));
        }
        Ok(self.drop_acknowledged(messages))
    }

    /// Classifies a message that has arrived, and counts it if it is new.
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

    #[test]
    fn a_buffer_that_has_enough_takes_no_more() {
        let mut delivery = reconciled();
        [b"a", b"b"].iter().for_each(|payload| delivery.push(Bytes::from_static(*payload)));
        let size = crate::frame::DATA_OVERHEAD + 1;
        let mut bytes = BytesMut::new();
        delivery.write(&mut bytes, size);
        assert_eq!(bytes.len(), size);
        delivery.write(&mut bytes, size + 1);
        assert_eq!(bytes.len(), 2 * size);
    }

    #[test]
    fn messages_of_a_removed_peer_are_kept_if_they_were_sent() {
        let mut delivery = reconciled();
        send(&mut delivery, &[b"a", b"b"]);
        assert_eq!(delivery.on_ack(1), Ok(1 + MESSAGE_OVERHEAD));
        [b"cc", b"dd"].iter().for_each(|payload| delivery.push(Bytes::from_static(*payload)));
        assert_eq!((delivery.queued(), delivery.cost()), (3, 5 + 3 * MESSAGE_OVERHEAD));
        delivery.drop_unsent();
        assert_eq!((delivery.queued(), delivery.cost()), (1, 1 + MESSAGE_OVERHEAD));
    }

    #[test]
    fn an_acknowledgement_is_owed_until_it_is_written_and_urgent_after_many_messages() {
        let mut delivery = reconciled();
        let receive = |delivery: &mut DeliveryState, sequence| {
            assert_eq!(delivery.on_data(sequence), Ok(Arrival::New));
            (delivery.owes_ack(), delivery.ack_is_urgent())
        };
        assert_eq!(receive(&mut delivery, 1), (true, false));
        delivery.write_control(Body::Alive, &mut BytesMut::new());
        assert!(!delivery.owes_ack());
        for sequence in 2..=MAX_UNACKED {
            assert_eq!(receive(&mut delivery, sequence), (true, false));
        }
        assert_eq!(receive(&mut delivery, MAX_UNACKED + 1), (true, true));
    }
}
