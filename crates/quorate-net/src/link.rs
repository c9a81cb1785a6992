//! One peer as the rest of the mesh sees it: its books, its queue's room, and which connection has its turn.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use quorate_core::ProcessId;
use tokio::sync::{Notify, OwnedMutexGuard, Semaphore, TryAcquireError, watch};
use tokio::time::Instant;

use crate::hello::Incarnation;
use crate::ledger::{Ledger, cost};
use crate::refusal::Reason;

/// A peer.
pub(crate) struct Link {
    pub(crate) peer: ProcessId,
    state: Mutex<State>,
    /// There may be something to write.
    pub(crate) work: Notify,
    /// Room in the queue, in bytes; closed when nothing can be sent any more.
    room: Semaphore,
    /// Held by the connection whose turn it is.
    turn: Arc<tokio::sync::Mutex<()>>,
    /// The number of the last connection that claimed the turn.
    claims: watch::Sender<u64>,
}

/// What is known about a peer, behind a lock that nobody holds for long.
pub(crate) struct State {
    pub(crate) ledger: Ledger,
    pub(crate) address: String,
    /// The life that the owner was last told about.
    pub(crate) told: Option<Incarnation>,
    pub(crate) up: bool,
    pub(crate) version: u16,
    pub(crate) connections: u64,
    pub(crate) trouble: Option<String>,
    /// Why one of the two nodes refused the other, if that is the trouble.
    pub(crate) refusal: Option<Reason>,
    /// When something was last heard.
    pub(crate) heard: Instant,
    /// The reader waits for the owner, so that silence is our own fault.
    pub(crate) owner_is_slow: bool,
    pub(crate) removed: bool,
}

/// Why there is no room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoRoom {
    Full,
    Closed,
}

impl Link {
    /// A link that goes on from these books.
    pub(crate) fn new(peer: ProcessId, address: String, room: usize, ledger: Ledger) -> Self {
        let room = room.saturating_sub(ledger.cost());
        let state = State {
            ledger,
            address,
            told: None,
            up: false,
            version: 0,
            connections: 0,
            trouble: None,
            refusal: None,
            heard: Instant::now(),
            owner_is_slow: false,
            removed: false,
        };
        Self {
            peer,
            state: Mutex::new(state),
            work: Notify::new(),
            room: Semaphore::new(room),
            turn: Arc::default(),
            claims: watch::Sender::new(0),
        }
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Queues a message if there is room.
    pub(crate) fn try_push(&self, payload: Bytes) -> Result<(), NoRoom> {
        let room =
            self.room.try_acquire_many(cost(&payload) as u32).map_err(|error| match error {
                TryAcquireError::NoPermits => NoRoom::Full,
                TryAcquireError::Closed => NoRoom::Closed,
            })?;
        room.forget();
        self.push(payload);
        Ok(())
    }

    /// Queues a message once there is room.
    pub(crate) async fn push_when_room(&self, payload: Bytes) -> Result<(), NoRoom> {
        let room = self.room.acquire_many(cost(&payload) as u32).await;
        room.map_err(|_| NoRoom::Closed)?.forget();
        self.push(payload);
        Ok(())
    }

    fn push(&self, payload: Bytes) {
        self.state().ledger.push(payload);
        self.work.notify_one();
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
    pub(crate) fn remove(&self) -> Ledger {
        self.close();
        let mut state = self.state();
        state.removed = true;
        let mut ledger = std::mem::replace(&mut state.ledger, Ledger::new());
        drop(state);
        self.claims.send_modify(|number| *number += 1);
        ledger.drop_unsent();
        ledger
    }

    /// Asks for the turn; whoever has it leaves.
    pub(crate) fn claim(&self) -> Claim {
        let mut mine = 0;
        self.claims.send_modify(|number| {
            *number += 1;
            mine = *number;
        });
        Claim { mine, last: self.claims.subscribe(), turn: Arc::clone(&self.turn) }
    }
}

/// A connection's claim to the turn: good until a later one is made.
pub(crate) struct Claim {
    mine: u64,
    last: watch::Receiver<u64>,
    turn: Arc<tokio::sync::Mutex<()>>,
}

impl Claim {
    /// Waits for the connection before to leave; none if a later claim was made meanwhile.
    pub(crate) async fn turn(&self) -> Option<OwnedMutexGuard<()>> {
        let turn = Arc::clone(&self.turn).lock_owned().await;
        (*self.last.borrow() == self.mine).then_some(turn)
    }

    /// Waits for a later claim.
    pub(crate) async fn revoked(&mut self) {
        let mine = self.mine;
        // The sender lives as long as the link; without it nobody can claim anything.
        if self.last.wait_for(|&last| last != mine).await.is_err() {
            std::future::pending().await
        }
    }
}
