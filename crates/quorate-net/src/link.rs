//! The link to one peer: its delivery state, its queue capacity, and the slot of its current connection.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use quorate_core::ProcessId;
use tokio::sync::{Notify, OwnedMutexGuard, Semaphore, TryAcquireError, watch};
use tokio::time::Instant;

use crate::delivery::{DeliveryState, cost};
use crate::hello::Incarnation;
use crate::refusal::RefusalReason;

/// A link to one peer.
pub(crate) struct Link {
    pub(crate) peer: ProcessId,
    state: Mutex<State>,
    /// Notified when there may be something to write.
    pub(crate) wake_writer: Notify,
    /// Free capacity of the queue, in bytes. Closed when nothing can be sent any more.
    room: Semaphore,
    /// Held by the connection in use.
    slot: Arc<tokio::sync::Mutex<()>>,
    /// Number of the latest claim to the slot.
    latest_claim: watch::Sender<u64>,
}

/// State of a link, behind a lock that is held only briefly.
pub(crate) struct State {
    pub(crate) delivery: DeliveryState,
    pub(crate) address: String,
    /// The incarnation that was last announced to the owner.
    pub(crate) announced: Option<Incarnation>,
    pub(crate) up: bool,
    pub(crate) version: u16,
    pub(crate) connections: u64,
    pub(crate) last_error: Option<String>,
    /// Reason why one of the two nodes refused the other, if that prevents the connection.
    pub(crate) refusal: Option<RefusalReason>,
    /// When bytes were last received.
    pub(crate) last_heard: Instant,
    /// The reader waits for the owner to read events, so that the peer is not to blame for silence.
    pub(crate) owner_is_slow: bool,
    pub(crate) removed: bool,
}

/// Reason why a message was not queued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum QueueError {
    Full,
    Closed,
}

impl Link {
    /// Creates a link that continues from this delivery state.
    pub(crate) fn new(
        peer: ProcessId,
        address: String,
        room: usize,
        delivery: DeliveryState,
    ) -> Self {
        let room = room.saturating_sub(delivery.cost());
        let state = State {
            delivery,
            address,
            announced: None,
            up: false,
            version: 0,
            connections: 0,
            last_error: None,
            refusal: None,
            last_heard: Instant::now(),
            owner_is_slow: false,
            removed: false,
        };
        Self {
            peer,
            state: Mutex::new(state),
            wake_writer: Notify::new(),
            room: Semaphore::new(room),
            slot: Arc::default(),
            latest_claim: watch::Sender::new(0),
        }
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Queues a message if there is capacity.
    pub(crate) fn try_push(&self, payload: Bytes) -> Result<(), QueueError> {
        let room =
            self.room.try_acquire_many(cost(&payload) as u32).map_err(|error| match error {
                TryAcquireError::NoPermits => QueueError::Full,
                TryAcquireError::Closed => QueueError::Closed,
            })?;
        room.forget();
        self.push(payload);
        Ok(())
    }

    /// Queues a message once there is capacity.
    pub(crate) async fn push_when_room(&self, payload: Bytes) -> Result<(), QueueError> {
        let room = self.room.acquire_many(cost(&payload) as u32).await;
        room.map_err(|_| QueueError::Closed)?.forget();
        self.push(payload);
        Ok(())
    }

    fn push(&self, payload: Bytes) {
        self.state().delivery.push(payload);
        self.wake_writer.notify_one();
    }

    pub(crate) fn free(&self, bytes: usize) {
        if bytes > 0 {
            self.room.add_permits(bytes);
        }
    }

    /// Refuses further messages. Senders that wait for capacity fail.
    pub(crate) fn close(&self) {
        self.room.close();
    }

    /// Removes the peer: its connection ends. Returns the delivery state, in case the peer is added again.
    pub(crate) fn remove(&self) -> DeliveryState {
        self.close();
        let mut state = self.state();
        state.removed = true;
        let mut delivery = std::mem::replace(&mut state.delivery, DeliveryState::new());
        drop(state);
        self.latest_claim.send_modify(|number| *number += 1);
        delivery.drop_unsent();
        delivery
    }

    /// Claims the slot. The connection that holds it gives it up.
    pub(crate) fn claim(&self) -> SlotClaim {
        let mut number = 0;
        self.latest_claim.send_modify(|latest| {
            *latest += 1;
            number = *latest;
        });
        SlotClaim { number, latest: self.latest_claim.subscribe(), slot: Arc::clone(&self.slot) }
    }
}

/// A connection's claim to the slot, valid until a later claim.
pub(crate) struct SlotClaim {
    number: u64,
    latest: watch::Receiver<u64>,
    slot: Arc<tokio::sync::Mutex<()>>,
}

impl SlotClaim {
    /// Waits until the previous connection has given up the slot; `None` if a later claim was made meanwhile.
    pub(crate) async fn acquire_slot(&self) -> Option<OwnedMutexGuard<()>> {
        let slot = Arc::clone(&self.slot).lock_owned().await;
        (*self.latest.borrow() == self.number).then_some(slot)
    }

    /// Waits until a later claim is made.
    pub(crate) async fn revoked(&mut self) {
        let number = self.number;
        // The sender lives as long as the link. Without a link there are no further claims.
        if self.latest.wait_for(|&latest| latest != number).await.is_err() {
            std::future::pending().await
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link() -> Link {
        Link::new(ProcessId::new(1), String::new(), 100, DeliveryState::new())
    }

    #[tokio::test]
    async fn only_the_latest_claim_gets_the_slot() {
        let link = link();
        let (mut first, second) = (link.claim(), link.claim());
        first.revoked().await;
        assert!(first.acquire_slot().await.is_none());
        assert!(second.acquire_slot().await.is_some());
    }

    #[tokio::test]
    async fn a_connection_to_a_removed_peer_gives_up_its_slot() {
        let (unused, used) = (link(), link());
        unused.remove();
        assert!(unused.state().removed);
        let mut claim = used.claim();
        used.remove();
        claim.revoked().await;
        assert!(claim.acquire_slot().await.is_none());
        assert_eq!(used.try_push(Bytes::new()), Err(QueueError::Closed));
    }
}
