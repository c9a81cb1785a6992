//! Answers whoever connects: few at once, each for a short time, and strangers never get further.
//!
//! When too many are in the middle of a handshake, the oldest has to go. An honest peer needs milliseconds: to keep it out,
//! a stranger would have to come thousands of times a second instead of holding a few connections open.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{sleep, timeout};

use crate::event::Event;
use crate::handshake::{Failure, answer};
use crate::mesh::Shared;
use crate::network::{Connection, Listener};
use crate::serve::serve;

/// How long to wait when no connection can be accepted, for want of files perhaps.
const BREATH: Duration = Duration::from_millis(50);

/// The handshakes that are not finished, the oldest first.
type Unfinished = Arc<Mutex<BTreeMap<u64, AbortHandle>>>;

/// Until the mesh stops; then waits for the connections to end.
pub(crate) async fn accept_all(
    shared: Arc<Shared>,
    mut listener: Box<dyn Listener>,
    events: mpsc::Sender<Event>,
) {
    let unfinished = Unfinished::default();
    let mut tasks = JoinSet::new();
    for number in 0.. {
        let accepted = tokio::select! {
            biased;
            () = shared.stopping() => break,
            Some(_) = tasks.join_next(), if !tasks.is_empty() => continue,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok(connection) => {
                make_room(&shared, &unfinished);
                let done = Done { number, of: Arc::clone(&unfinished) };
                let task = receive(Arc::clone(&shared), connection, events.clone(), done);
                // The lock is held until the task is listed, so that it cannot be done before.
                let mut list = unfinished.lock().unwrap_or_else(PoisonError::into_inner);
                list.insert(number, tasks.spawn(task));
            }
            Err(error) => {
                tracing::warn!(%error, "no connection can be accepted");
                sleep(BREATH).await;
            }
        }
    }
    drop(listener);
    while tasks.join_next().await.is_some() {}
}

fn make_room(shared: &Shared, unfinished: &Unfinished) {
    let mut list = unfinished.lock().unwrap_or_else(PoisonError::into_inner);
    while list.len() >= shared.config.limits.handshakes {
        let Some((_, oldest)) = list.pop_first() else { return };
        oldest.abort();
        shared.refused.fetch_add(1, Ordering::Relaxed);
        tracing::warn!(
            "too many connections at once: the oldest that has not said who it is was dropped"
        );
    }
}

async fn receive(
    shared: Arc<Shared>,
    connection: Connection,
    events: mpsc::Sender<Event>,
    done: Done,
) {
    let address = connection.1;
    let answered = timeout(shared.config.limits.handshake, answer(&shared, connection)).await;
    drop(done);
    match answered.unwrap_or(Err(Failure::TooLong)) {
        Ok(agreed) => serve(&shared, agreed, &events).await,
        Err(why) => {
            shared.refused.fetch_add(1, Ordering::Relaxed);
            tracing::warn!(%address, %why, "a connection was not taken");
        }
    }
}

/// Takes a handshake off the list when it is over.
struct Done {
    number: u64,
    of: Unfinished,
}

impl Drop for Done {
    fn drop(&mut self) {
        self.of.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.number);
    }
}
