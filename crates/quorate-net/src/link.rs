//! One peer as the rest of the mesh sees it: its books, its queue's room, and which connection has its turn.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use quorate_core::ProcessId;
use tokio::sync::{Notify, OwnedMutexGuard, Semaphore, TryAcquireError, watch};
use tokio::time::Instant;

use crate::delivery::{DeliveryState, cost};
use crate::hello::Incarnation;
use crate::refusal::RefusalReason;

/// A peer.
pub(crate) struct Link {
    pub(crate) peer: ProcessId,
    state: Mutex<State>,
    /// There may be something to write.
    pub(crate) wake_writer: Notify,
    /// Room in the queue, in bytes; closed when nothing can be sent any more.
    room: Semaphore,
    /// Held by the connection whose turn it is.
    slot: Arc<tokio::sync::Mutex<()>>,
    /// The number of the last connection that claimed the turn.
    latest_claim: watch::Sender<u64>,
}

/// What is known about a peer, behind a lock that nobody holds for long.
pub(crate) struct State {
    pub(crate) delivery: DeliveryState,
    pub(crate) address: String,
    /// The life that the owner was last told about.
    pub(crate) announced: Option<Incarnation>,
    pub(crate) up: bool,
    pub(crate) version: u16,
    pub(crate) connections: u64,
    pub(crate) last_error: Option<String>,
    /// Why one of the two nodes refused the other, if that is the trouble.
    pub(crate) refusal: Option<RefusalReason>,
    /// When something was last heard.
    pub(crate) last_heard: Instant,
    /// The reader waits for the owner, so that silence is our own fault.
    pub(crate) owner_is_slow: bool,
    pub(crate) removed: bool,
}

/// Why there is no room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum QueueError {
    Full,
    Closed,
}

impl Link {
    /// A link that goes on from these books.
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

    /// Queues a message if there is room.
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

    /// Queues a message once there is room.
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

    /// Nothing can be sent from now on; who waits for room is told.
    pub(crate) fn close(&self) {
        self.room.close();
    }

    /// It is not a peer any longer: its connection, if there is one, leaves. The books, for the case that it comes back.
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

    /// Asks for the turn; whoever has it leaves.
    pub(crate) fn claim(&self) -> SlotClaim {
        let mut number = 0;
        self.latest_claim.send_modify(|latest| {
            *latest += 1;
            number = *latest;
        });
        SlotClaim { number, latest: self.latest_claim.subscribe(), slot: Arc::clone(&self.slot) }
    }
}

/// A connection's claim to the turn: good until a later one is made.
pub(crate) struct SlotClaim {
    number: u64,
    latest: watch::Receiver<u64>,
    slot: Arc<tokio::sync::Mutex<()>>,
}

impl SlotClaim {
    /// Waits for the connection before to leave; none if a later claim was made meanwhile.
    pub(crate) async fn acquire_slot(&self) -> Option<OwnedMutexGuard<()>> {
        let slot = Arc::clone(&self.slot).lock_owned().await;
        (*self.latest.borrow() == self.number).then_some(slot)
    }

    /// Waits for a later claim.
    pub(crate) async fn revoked(&mut self) {
        let number = self.number;
        // The sender lives as long as the link; without it nobody can claim anything.
        if self.latest.wait_for(|&latest| latest != number).await.is_err() {
            std::future::pending().await
        }
    }
}
