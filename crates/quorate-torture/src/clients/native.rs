//! The Rust client, direct or relayed.

use std::time::Duration;

use quorate_client::{Client, Error, Failure, Guard, Session, SessionOptions};

use super::{Acquired, Deadline, Kind, LockGuard, LockSession, Options};

pub(crate) struct NativeSession {
    session: Session,
    node: usize,
}

impl LockSession for NativeSession {
    type Guard = Guard;

    async fn open(options: &Options) -> Option<Self> {
        let Options { kind, endpoints, first, who, ttl, .. } = options;
        let (before, after) = endpoints.split_at(first % endpoints.len());
        let client = Client::new(after.iter().chain(before).cloned());
        let options = SessionOptions {
            ttl: *ttl,
            who: who.clone(),
            reach: Duration::from_millis(500),
            relayed: *kind == Kind::Relayed,
            ..SessionOptions::default()
        };
        // A node that says nothing at all is as good as none.
        let opened = tokio::time::timeout(Duration::from_secs(1), client.session(options)).await;
        Some(Self { session: opened.ok()?.ok()?, node: *first })
    }

    fn route(&self) -> &'static str {
        if self.session.is_direct() { "direct" } else { "relayed" }
    }

    fn node(&self) -> usize {
        self.node
    }

    async fn acquire(&mut self, name: &str, wait: Duration) -> Acquired<Guard> {
        let Ok(request) = self.session.lock(name) else { return Acquired::Failed };
        // The client itself has to give up in time; a second more shows that it does not.
        let late = wait + Duration::from_secs(1);
        match tokio::time::timeout(late, request.wait(wait).acquire()).await {
            Ok(Ok(guard)) => Acquired::Granted(guard),
            Ok(Err(Error::Failed(Failure::TimedOut))) => Acquired::TimedOut,
            _ => Acquired::Failed,
        }
    }
}

impl LockGuard for Guard {
    fn token(&self) -> u64 {
        Self::token(self)
    }

    fn deadline(&self) -> Deadline {
        let until = Self::deadline(self).0;
        Deadline { promised: until, acted: until }
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
