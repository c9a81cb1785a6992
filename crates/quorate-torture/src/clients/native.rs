//! The Rust client, direct or relayed.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use quorate_client::{Client, Error, Failure, Guard, Moment, Session, SessionOptions};

use super::{Acquired, ClientKind, ClientOptions, Deadline, LockGuard, LockSession};

pub(crate) struct NativeSession {
    client: Client,
    session: Session,
    /// The node that the client is connected to, according to its last answer.
    node: Arc<AtomicUsize>,
}

/// Timeout of the status call that identifies the node.
const STATUS_TIMEOUT: Duration = Duration::from_millis(500);

impl NativeSession {
    /// Queries the node behind the session's connection for its number. The client switches nodes without notice. Nothing
    /// waits for the answer, so that the session is not delayed.
    fn refresh_node(&self) {
        let (client, node) = (self.client.clone(), Arc::clone(&self.node));
        tokio::spawn(async move {
            if let Ok(Ok(status)) = tokio::time::timeout(STATUS_TIMEOUT, client.status()).await {
                node.store(status.node as usize, Ordering::Relaxed);
            }
        });
    }
}

impl LockSession for NativeSession {
    type Guard = Guard;

    async fn open(options: &ClientOptions) -> Option<Self> {
        let ClientOptions { kind, endpoints, first, client_name, ttl, .. } = options;
        let (before, after) = endpoints.split_at(first % endpoints.len());
        let client = Client::new(after.iter().chain(before).cloned());
        let options = SessionOptions {
            ttl: *ttl,
            client_name: client_name.clone(),
            connect_timeout: Duration::from_millis(500),
            relayed: *kind == ClientKind::Relayed,
            ..SessionOptions::default()
        };
        // A node that does not answer at all counts as unreachable.
        let opened = tokio::time::timeout(Duration::from_secs(1), client.session(options)).await;
        let (session, node) = (opened.ok()?.ok()?, Arc::new(AtomicUsize::new(*first)));
        Some(Self { client, session, node })
    }

    fn route(&self) -> &'static str {
        if self.session.is_direct() { "direct" } else { "relayed" }
    }

    fn node(&self) -> usize {
        self.node.load(Ordering::Relaxed)
    }

    async fn acquire(&mut self, name: &str, wait: Duration) -> Acquired<Guard> {
        let Ok(request) = self.session.lock(name) else { return Acquired::Failed };
        if !self.session.is_direct() {
            self.refresh_node();
        }
        match within(wait + GIVE_UP_GRACE, request.wait(wait).acquire()).await {
            Some(Ok(guard)) => Acquired::Granted(guard),
            Some(Err(Error::Failed(Failure::TimedOut))) => Acquired::TimedOut,
            Some(Err(_)) => Acquired::Failed,
            None => Acquired::Overdue,
        }
    }
}

/// Time for the client to give up after its timeout. A token that is just being recorded is waited for, for at most two
/// seconds. The third second is for the answer.
const GIVE_UP_GRACE: Duration = Duration::from_secs(3);

/// Interval at which it is checked whether this process runs.
const TICK: Duration = Duration::from_millis(20);

/// Runs `work` until this process has run for `limit`; `None` if the work is not done by then.
async fn within<T>(limit: Duration, work: impl Future<Output = T>) -> Option<T> {
    tokio::select! {
        biased;
        done = work => Some(done),
        () = run_for(limit) => None,
    }
}

/// Waits until this process has run for `limit`. A stopped process finds all its timers expired when it continues: the time
/// in which it was stopped does not count.
async fn run_for(limit: Duration) {
    let (mut ran, mut last) = (Duration::ZERO, Moment::now());
    while ran < limit {
        tokio::time::sleep(TICK).await;
        let now = Moment::now();
        ran += Duration::from_micros(now.0 - last.0).min(5 * TICK);
        last = now;
    }
}

impl LockGuard for Guard {
    fn token(&self) -> u64 {
        Self::token(self)
    }

    fn deadline(&self) -> Deadline {
        let until = Self::deadline(self).0;
        Deadline { promised: until, assumed: until }
    }

    fn is_held(&self) -> bool {
        Self::is_held(self)
    }

    fn loss(&self) -> String {
        Self::loss(self).map_or("deadline".to_owned(), |loss| format!("{loss:?}"))
    }

    async fn release(self) -> bool {
        Self::release(self).await.is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_client_that_does_not_give_up_is_overdue() {
        assert_eq!(within(3 * TICK, std::future::pending::<u8>()).await, None);
        let slow = async {
            tokio::time::sleep(TICK).await;
            7
        };
        assert_eq!(within(100 * TICK, slow).await, Some(7));
    }

    #[tokio::test]
    async fn a_stopped_process_is_not_overdue_when_it_goes_on() {
        let work = async {
            // Simulates a stopped process: all its timers expire at the same time.
            std::thread::sleep(20 * TICK);
            tokio::time::sleep(TICK).await;
            7
        };
        assert_eq!(within(15 * TICK, work).await, Some(7));
    }
}
