//! Accepts connections: few handshakes at a time, each with a short timeout, and unauthenticated peers get no further.
//!
//! When too many connections are in a handshake, the oldest is dropped. An honest peer needs milliseconds. To keep it out,
//! an attacker would have to connect thousands of times per second. Holding a few connections open is not enough.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{sleep, timeout};

use crate::event::Event;
use crate::handshake::{HandshakeError, respond};
use crate::network::{Connection, Listener};
use crate::serve::serve;
use crate::shared::Shared;

/// Pause after a failed accept, for example when no file descriptors are left.
const ACCEPT_RETRY_PAUSE: Duration = Duration::from_millis(50);

/// The unfinished handshakes, the oldest first.
type PendingHandshakes = Arc<Mutex<BTreeMap<u64, AbortHandle>>>;

/// Accepts connections until the mesh stops; then waits for the connections to end.
pub(crate) async fn accept_all(
    shared: Arc<Shared>,
    mut listener: Box<dyn Listener>,
    events: mpsc::Sender<Event>,
) {
    let pending = PendingHandshakes::default();
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
                evict_oldest(&shared, &pending);
                let entry = PendingEntry { number, handshakes: Arc::clone(&pending) };
                let task =
                    handle_connection(Arc::clone(&shared), connection, events.clone(), entry);
                // The lock is held until the task is listed, so that the task cannot remove its entry before.
                let mut list = pending.lock().unwrap_or_else(PoisonError::into_inner);
                list.insert(number, tasks.spawn(task));
            }
            Err(error) => {
                tracing::warn!(%error, "cannot accept connections");
                sleep(ACCEPT_RETRY_PAUSE).await;
            }
        }
    }
    drop(listener);
    while tasks.join_next().await.is_some() {}
}

fn evict_oldest(shared: &Shared, pending: &PendingHandshakes) {
    let mut list = pending.lock().unwrap_or_else(PoisonError::into_inner);
    while list.len() >= shared.config.limits.handshakes {
        let Some((_, oldest)) = list.pop_first() else { return };
        oldest.abort();
        shared.refused.fetch_add(1, Ordering::Relaxed);
        tracing::warn!("too many connections in the handshake: the oldest was dropped");
    }
}

async fn handle_connection(
    shared: Arc<Shared>,
    connection: Connection,
    events: mpsc::Sender<Event>,
    entry: PendingEntry,
) {
    let address = connection.1;
    let answered = timeout(shared.config.limits.handshake, respond(&shared, connection)).await;
    drop(entry);
    match answered.unwrap_or(Err(HandshakeError::TimedOut)) {
        Ok(established) => serve(&shared, established, &events).await,
        Err(why) => {
            shared.refused.fetch_add(1, Ordering::Relaxed);
            tracing::warn!(%address, %why, "connection refused");
        }
    }
}

/// Removes a handshake from the list when dropped.
struct PendingEntry {
    number: u64,
    handshakes: PendingHandshakes,
}

impl Drop for PendingEntry {
    fn drop(&mut self) {
        self.handshakes.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use quorate_core::ProcessId;
    use tokio::sync::watch;

    use super::*;
    use crate::config::{Config, Security};
    use crate::hello::ClusterId;
    use crate::network::Tcp;
    use crate::shared::Phase;

    #[tokio::test]
    async fn the_oldest_handshakes_make_room_for_a_new_one() {
        let mut config = Config::new(ClusterId(1), ProcessId::new(1), [], Security::Plain);
        config.limits.handshakes = 2;
        let shared = Shared::new(config, Arc::new(Tcp), watch::channel(Phase::Running).1);
        let (pending, mut tasks) = (PendingHandshakes::default(), JoinSet::new());
        let numbers = || -> Vec<u64> {
            pending.lock().expect("no task has panicked").keys().copied().collect()
        };
        for number in 0..4 {
            evict_oldest(&shared, &pending);
            let task = tasks.spawn(std::future::pending::<()>());
            pending.lock().expect("no task has panicked").insert(number, task);
        }
        assert_eq!((numbers(), shared.refused.load(Ordering::Relaxed)), (vec![2, 3], 2));
        for _ in 0..2 {
            let ended = tasks.join_next().await.expect("a task");
            assert!(ended.expect_err("it never ends by itself").is_cancelled());
        }
        drop(PendingEntry { number: 3, handshakes: Arc::clone(&pending) });
        assert_eq!(numbers(), [2]);
    }
}
